#include "quota/ledger.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace offcut::quota {
namespace {

std::size_t Index(int i) { return static_cast<std::size_t>(i); }

// A tenant and those above it; the last is a root.
class Path {
 public:
  Path(const TenantTree& tree, int tenant) {
    for (int t = tenant; t >= 0; t = tree.Parent(t)) nodes_[size_++] = t;
  }
  std::span<const int> nodes() const { return std::span(nodes_).first(size_); }

 private:
  std::array<int, kTenantDepthMax> nodes_{};
  std::size_t size_ = 0;
};

// What a node takes from its parent's pool when it uses that much.
std::int64_t Beyond(std::int64_t local, std::int64_t used) {
  return used > local ? SaturatingSub(used, local) : 0;
}

std::int64_t AvailableOn(const Path& path, std::span<const CellPlan> plans,
                         std::span<const std::int64_t> used) {
  const std::span<const int> nodes = path.nodes();
  const std::size_t root = Index(nodes.back());
  std::int64_t available = SaturatingSub(plans[root].subtree, used[root]);
  for (std::size_t i = nodes.size() - 1; i-- > 0;) {
    const CellPlan& plan = plans[Index(nodes[i])];
    const std::int64_t uses = used[Index(nodes[i])];
    if (plan.borrowing_limit != kUnlimited) {
      const std::int64_t own = plan.subtree - plan.local - Beyond(plan.local, uses);
      available = std::min(available, SaturatingAdd(own, plan.borrowing_limit));
    }
    if (uses < plan.local) available = SaturatingAdd(available, plan.local - uses);
  }
  return available;
}

std::span<const CellPlan> PlansOf(const TenantTree& tree, int cell) {
  return std::span(tree.plans).subspan(Index(cell) * tree.tenants.size(), tree.tenants.size());
}

}  // namespace

Ledger::Ledger(std::shared_ptr<const TenantTree> tree) : tree_(std::move(tree)) {
  const std::size_t count = tree_->tenants.size();
  const auto empty = std::make_shared<Column>(
      Column{std::vector<std::int64_t>(count), std::vector<std::int64_t>(count)});
  columns_.assign(tree_->cells.size(), empty);
}

Ledger::Ledger(std::shared_ptr<const TenantTree> tree, std::span<const Holding> holdings)
    : Ledger(std::move(tree)) {
  std::vector<Column> columns;
  columns.reserve(columns_.size());
  for (const auto& column : columns_) columns.push_back(*column);
  for (const Holding& holding : holdings) {
    for (const auto [cell, amount] : holding.charge) {
      Move(columns[Index(cell)], holding.tenant, cell, amount);
    }
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    columns_[c] = std::make_shared<Column>(std::move(columns[c]));
  }
}

std::int64_t Ledger::Own(int tenant, int cell) const {
  return columns_[Index(cell)]->own[Index(tenant)];
}

std::int64_t Ledger::Used(int tenant, int cell) const {
  return columns_[Index(cell)]->used[Index(tenant)];
}

std::int64_t Ledger::Available(int tenant, int cell) const {
  const std::span<const CellPlan> plans = PlansOf(*tree_, cell);
  if (!plans[Index(tenant)].takes_part) return kUnlimited;
  return AvailableOn(Path(*tree_, tenant), plans, columns_[Index(cell)]->used);
}

std::int64_t Ledger::Potential(int tenant, int cell) const {
  const CellPlan& plan = tree_->Plan(cell, tenant);
  return plan.takes_part ? plan.potential : kUnlimited;
}

Admission Ledger::Check(int tenant, std::span<const CellAmount> charge) const {
  Admission admission;
  const Path path(*tree_, tenant);
  for (const auto [cell, amount] : charge) {
    assert(amount > 0);
    const std::span<const CellPlan> plans = PlansOf(*tree_, cell);
    const CellPlan& plan = plans[Index(tenant)];
    if (!plan.takes_part) continue;
    if (amount > plan.potential) return {Answer::kNever, cell};
    if (admission.answer == Answer::kFits &&
        amount > AvailableOn(path, plans, columns_[Index(cell)]->used)) {
      admission = {Answer::kWait, cell};
    }
  }
  return admission;
}

bool Ledger::Borrows(int tenant, std::span<const CellAmount> charge) const {
  return std::ranges::any_of(charge, [&](CellAmount more) {
    const CellPlan& plan = tree_->Plan(more.cell, tenant);
    return plan.takes_part && SaturatingAdd(Used(tenant, more.cell), more.amount) > plan.subtree;
  });
}

void Ledger::Add(int tenant, std::span<const CellAmount> charge) {
  for (const auto [cell, amount] : charge) Move(MutableColumn(cell), tenant, cell, amount);
}

void Ledger::Remove(int tenant, std::span<const CellAmount> charge) {
  for (const auto [cell, amount] : charge) {
    assert(Own(tenant, cell) >= amount);
    Move(MutableColumn(cell), tenant, cell, -amount);
  }
}

// What a node takes from its parent is a function of what it uses, so that a charge and its release
// undo each other at every level.
void Ledger::Move(Column& column, int tenant, int cell, std::int64_t delta) const {
  std::int64_t& own = column.own[Index(tenant)];
  own = SaturatingAdd(own, delta);
  const std::span<const CellPlan> plans = PlansOf(*tree_, cell);
  if (!plans[Index(tenant)].takes_part) return;
  for (int t = tenant; t >= 0 && delta != 0; t = tree_->Parent(t)) {
    std::int64_t& used = column.used[Index(t)];
    const std::int64_t local = plans[Index(t)].local;
    const std::int64_t before = Beyond(local, used);
    used = SaturatingAdd(used, delta);
    delta = SaturatingSub(Beyond(local, used), before);
  }
}

Ledger::Column& Ledger::MutableColumn(int cell) {
  std::shared_ptr<Column>& column = columns_[Index(cell)];
  // Where nobody else has it, nobody can come to have it: copies are made of this object alone.
  if (column.use_count() > 1) column = std::make_shared<Column>(*column);
  return *column;
}

Standing Ledger::StandingOf(int tenant, int cell) const {
  const Column& column = *columns_[Index(cell)];
  // Children come after their parents: one pass gathers all below.
  std::vector<bool> is_below(column.own.size());
  std::int64_t used = 0;
  for (std::size_t t = Index(tenant); t < is_below.size(); ++t) {
    const int parent = tree_->parents[t];
    is_below[t] = t == Index(tenant) || (parent >= tenant && is_below[Index(parent)]);
    if (is_below[t]) used = SaturatingAdd(used, column.own[t]);
  }
  return StandingOf(tenant, cell, used);
}

std::vector<Standing> Ledger::StandingsIn(int cell) const {
  std::vector<std::int64_t> used = columns_[Index(cell)]->own;
  for (std::size_t t = used.size(); t-- > 0;) {
    const int parent = tree_->parents[t];
    if (parent >= 0) used[Index(parent)] = SaturatingAdd(used[Index(parent)], used[t]);
  }
  std::vector<Standing> standings(used.size());
  for (std::size_t t = 0; t < used.size(); ++t) {
    standings[t] = StandingOf(static_cast<int>(t), cell, used[t]);
  }
  return standings;
}

Standing Ledger::StandingOf(int tenant, int cell, std::int64_t used_below) const {
  const std::span<const CellPlan> plans = PlansOf(*tree_, cell);
  const CellPlan& plan = plans[Index(tenant)];
  const Column& column = *columns_[Index(cell)];
  Standing standing{.guarantee = plan.guarantee, .used = used_below};
  const std::int64_t uses = column.used[Index(tenant)];
  standing.borrowed = Beyond(plan.subtree, uses);
  if (const int parent = tree_->Parent(tenant); parent >= 0) {
    const std::int64_t stored = plan.subtree - plan.local;
    const std::int64_t taken = Beyond(plan.local, uses);
    const std::int64_t by_others = SaturatingSub(column.used[Index(parent)], taken);
    const std::int64_t of_others = plans[Index(parent)].subtree - stored;
    const std::int64_t idle = std::max<std::int64_t>(0, stored - taken);
    standing.lent = std::clamp<std::int64_t>(SaturatingSub(by_others, of_others), 0, idle);
  }
  standing.available = std::max<std::int64_t>(0, Available(tenant, cell));
  standing.potential = Potential(tenant, cell);
  return standing;
}

bool operator==(const Ledger& a, const Ledger& b) {
  return std::ranges::equal(a.columns_, b.columns_,
                            [](const auto& x, const auto& y) { return x == y || *x == *y; });
}

}  // namespace offcut::quota
