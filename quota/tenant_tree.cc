#include "quota/tenant_tree.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <tuple>

namespace offcut::quota {
namespace {

using Names = std::map<std::string_view, int>;

int IndexIn(const std::vector<Cell>& cells, std::string_view pool, std::string_view resource) {
  const auto found =
      std::ranges::lower_bound(cells, std::pair(pool, resource), {}, [](const Cell& cell) {
        return std::pair<std::string_view, std::string_view>(cell.pool, cell.resource);
      });
  const bool is_known = found != cells.end() && found->pool == pool && found->resource == resource;
  return is_known ? static_cast<int>(found - cells.begin()) : -1;
}

constexpr int kNoParent = -1;
constexpr int kUnknownParent = -2;

std::size_t Index(int i) { return static_cast<std::size_t>(i); }

// How far the links from a tenant lead: to a root in so many steps, or nowhere.
struct Reach {
  int depth = 0;  // of a root 1; 0: no root is reached
  bool in_cycle = false;
};

// Follows each chain of parents once.
std::vector<Reach> FollowParents(const std::vector<int>& parents) {
  std::vector<Reach> reach(parents.size());
  enum class Mark { kNew, kOnPath, kDone };
  std::vector<Mark> marks(parents.size(), Mark::kNew);
  for (std::size_t start = 0; start < parents.size(); ++start) {
    std::vector<int> path;
    int at = static_cast<int>(start);
    while (at >= 0 && marks[Index(at)] == Mark::kNew) {
      marks[Index(at)] = Mark::kOnPath;
      path.push_back(at);
      at = parents[Index(at)];
    }
    const bool closes_cycle = at >= 0 && marks[Index(at)] == Mark::kOnPath;
    if (closes_cycle) {
      for (auto it = std::ranges::find(path, at); it != path.end(); ++it) {
        reach[Index(*it)].in_cycle = true;
      }
    }
    int depth = at == kNoParent ? 1 : 0;
    if (at >= 0 && !closes_cycle && reach[Index(at)].depth > 0) depth = reach[Index(at)].depth + 1;
    for (auto it = path.rbegin(); it != path.rend(); ++it) {
      reach[Index(*it)].depth = depth;
      if (depth > 0) ++depth;
      marks[Index(*it)] = Mark::kDone;
    }
  }
  return reach;
}

Names NameIndex(std::span<const TenantSpec> specs) {
  Names names;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    names.try_emplace(specs[i].name, static_cast<int>(i));
  }
  return names;
}

std::vector<int> ParentsOf(std::span<const TenantSpec> specs, const Names& names) {
  std::vector<int> parents;
  parents.reserve(specs.size());
  for (const TenantSpec& spec : specs) {
    const auto found = names.find(spec.parent);
    if (spec.parent.empty()) {
      parents.push_back(kNoParent);
    } else {
      parents.push_back(found == names.end() ? kUnknownParent : found->second);
    }
  }
  return parents;
}

bool InRange(std::int64_t amount) { return amount >= 0 && amount <= kAmountMax; }

void CheckQuotas(std::size_t tenant, const TenantSpec& spec, std::vector<TenantFault>& faults) {
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> seen;
  for (std::size_t q = 0; q < spec.quotas.size(); ++q) {
    const QuotaSpec& quota = spec.quotas[q];
    const auto add = [&](TenantFaultKind kind, std::size_t other = 0) {
      faults.push_back({.kind = kind, .tenant = tenant, .quota = q, .other = other});
    };
    if (quota.pool.empty() || quota.resource.empty()) add(TenantFaultKind::kQuotaUnnamed);
    const auto [first, is_new] = seen.try_emplace({quota.pool, quota.resource}, q);
    if (!is_new) add(TenantFaultKind::kQuotaRepeated, first->second);
    if (!InRange(quota.guarantee.value_or(0))) add(TenantFaultKind::kGuaranteeOutOfRange);
    if (!InRange(quota.borrowing_limit.value_or(0))) {
      add(TenantFaultKind::kBorrowingLimitOutOfRange);
    }
    if (!InRange(quota.lending_limit.value_or(0))) add(TenantFaultKind::kLendingLimitOutOfRange);
  }
}

void CheckLinks(std::span<const TenantSpec> specs, const Names& names,
                const std::vector<int>& parents, const std::vector<Reach>& reach, std::size_t i,
                std::vector<TenantFault>& faults) {
  const auto add = [&](TenantFaultKind kind, std::size_t other = 0) {
    faults.push_back({.kind = kind, .tenant = i, .quota = {}, .other = other});
  };
  const TenantSpec& spec = specs[i];
  if (spec.name.empty()) add(TenantFaultKind::kNameEmpty);
  if (const int first = names.at(spec.name); !spec.name.empty() && Index(first) != i) {
    add(TenantFaultKind::kNameRepeated, Index(first));
  }
  if (parents[i] == kUnknownParent) {
    add(TenantFaultKind::kParentUnknown);
  } else if (reach[i].in_cycle) {
    add(TenantFaultKind::kParentCycle);
  } else if (reach[i].depth == 0) {
    add(TenantFaultKind::kUnreachable);
  } else if (reach[i].depth > kTenantDepthMax) {
    add(TenantFaultKind::kTooDeep);
  }
  if (spec.weight_micro < 0 || spec.weight_micro > kWeightMax) {
    add(TenantFaultKind::kWeightOutOfRange);
  }
}

// The tenants whose parents lead to a root, parents before their children, else as they came.
std::vector<int> ParentsFirst(const std::vector<Reach>& reach) {
  std::vector<int> order;
  for (std::size_t i = 0; i < reach.size(); ++i) {
    if (reach[i].depth > 0) order.push_back(static_cast<int>(i));
  }
  std::ranges::stable_sort(order, {}, [&](int i) { return reach[Index(i)].depth; });
  return order;
}

// Who names which cell: of cell c and specs[i], what is said there, or nullptr.
class QuotaGrid {
 public:
  QuotaGrid(std::span<const TenantSpec> specs, const std::vector<Cell>& cells)
      : count_(specs.size()), quotas_(cells.size() * specs.size()) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
      for (const QuotaSpec& quota : specs[i].quotas) {
        const auto cell = static_cast<std::size_t>(IndexIn(cells, quota.pool, quota.resource));
        const QuotaSpec*& entry = quotas_[cell * count_ + i];
        if (entry == nullptr) entry = &quota;  // of repeated ones the first
      }
    }
  }

  const QuotaSpec* At(std::size_t cell, std::size_t i) const { return quotas_[cell * count_ + i]; }

 private:
  std::size_t count_;
  std::vector<const QuotaSpec*> quotas_;
};

// The guarantees of whole subtrees, of one cell; element i is that of specs[i].
struct Guarantees {
  std::vector<std::int64_t> subtree;
  std::vector<std::int64_t> children;  // the sum of the children's
};

Guarantees SumGuarantees(const QuotaGrid& grid, const std::vector<int>& parents,
                         const std::vector<int>& parents_first, std::size_t cell) {
  Guarantees sums{std::vector<std::int64_t>(parents.size()),
                  std::vector<std::int64_t>(parents.size())};
  for (auto it = parents_first.rbegin(); it != parents_first.rend(); ++it) {
    const std::size_t i = Index(*it);
    const QuotaSpec* quota = grid.At(cell, i);
    const bool is_stated = quota != nullptr && quota->guarantee.has_value();
    sums.subtree[i] = is_stated ? *quota->guarantee : sums.children[i];
    if (parents[i] >= 0) {
      std::int64_t& above = sums.children[Index(parents[i])];
      above = SaturatingAdd(above, sums.subtree[i]);
    }
  }
  return sums;
}

std::vector<Cell> NamedCells(std::span<const TenantSpec> specs,
                             std::span<const std::string> pools) {
  std::set<std::pair<std::string, std::string>> names;
  for (const std::string& pool : pools) {
    for (const std::string_view resource : {kDevices, kMemoryMib, kCores}) {
      names.emplace(pool, resource);
    }
  }
  for (const TenantSpec& spec : specs) {
    for (const QuotaSpec& quota : spec.quotas) names.emplace(quota.pool, quota.resource);
  }
  std::vector<Cell> cells;
  cells.reserve(names.size());
  for (const auto& [pool, resource] : names) cells.push_back({pool, resource});
  return cells;
}

void CheckGuarantees(std::span<const TenantSpec> specs, const QuotaGrid& grid,
                     const std::vector<int>& parents, const std::vector<int>& parents_first,
                     std::size_t cell, std::vector<TenantFault>& faults) {
  const Guarantees sums = SumGuarantees(grid, parents, parents_first, cell);
  for (const int t : parents_first) {
    const std::size_t i = Index(t);
    const QuotaSpec* quota = grid.At(cell, i);
    if (quota == nullptr || !InRange(sums.subtree[i])) continue;
    if (sums.children[i] <= sums.subtree[i]) continue;
    faults.push_back({.kind = TenantFaultKind::kGuaranteesBeyondParent,
                      .tenant = i,
                      .quota = static_cast<std::size_t>(quota - specs[i].quotas.data()),
                      .stated = sums.subtree[i],
                      .children = sums.children[i]});
  }
}

void NameShared(TenantTree& tree) {
  const auto name_of = [](const Cell& cell) {
    return cell.pool == kAllPools ? std::string(kAllPools) + "/" + cell.resource : cell.resource;
  };
  for (const Cell& cell : tree.cells) tree.shared.push_back(name_of(cell));
  std::ranges::sort(tree.shared);
  const auto rest = std::ranges::unique(tree.shared);
  tree.shared.erase(rest.begin(), rest.end());
  for (Cell& cell : tree.cells) {
    const auto found = std::ranges::lower_bound(tree.shared, name_of(cell));
    cell.share = static_cast<int>(found - tree.shared.begin());
  }
}

void NamePools(TenantTree& tree) {
  for (std::size_t c = 0; c < tree.cells.size(); ++c) {
    const Cell& cell = tree.cells[c];
    if (tree.pools.empty() || tree.pools.back().name != cell.pool) {
      tree.pools.push_back({.name = cell.pool, .others = {}});
    }
    Pool& pool = tree.pools.back();
    const int index = static_cast<int>(c);
    if (cell.resource == kDevices) {
      pool.devices = index;
    } else if (cell.resource == kMemoryMib) {
      pool.memory_mib = index;
    } else if (cell.resource == kCores) {
      pool.cores = index;
    } else {
      pool.others.emplace_back(cell.resource, index);
    }
  }
}

// Which tenants' own pods are held to the cell; see CellPlan.
void SayWhoTakesPart(TenantTree& tree, const QuotaGrid& grid, std::size_t c) {
  const std::size_t count = tree.tenants.size();
  const std::span<CellPlan> plans = std::span(tree.plans).subspan(c * count, count);
  // The cells of one pool stand together.
  const std::span<const Cell> cells = tree.cells;
  std::size_t first = 0;
  std::size_t last = cells.size();
  if (cells[c].pool != kAllPools) {
    for (first = c; first > 0 && cells[first - 1].pool == cells[c].pool;) --first;
    for (last = c; last < cells.size() && cells[last].pool == cells[c].pool;) ++last;
  }
  const auto names_pool = [&](std::size_t spec) {
    for (std::size_t other = first; other < last; ++other) {
      if (grid.At(other, spec) != nullptr) return true;
    }
    return false;
  };
  std::vector<bool> names(count);    // the cell, itself or somebody above it
  std::vector<bool> in_tree(count);  // somebody in the same tree names the cell
  for (std::size_t t = 0; t < count; ++t) {
    in_tree[t] = grid.At(c, tree.tenants[t].spec) != nullptr;
    names[t] = in_tree[t] || (tree.parents[t] >= 0 && names[Index(tree.parents[t])]);
  }
  for (std::size_t t = count; t-- > 0;) {
    if (tree.parents[t] >= 0 && in_tree[t]) in_tree[Index(tree.parents[t])] = true;
  }
  for (std::size_t t = 0; t < count; ++t) {
    if (tree.parents[t] >= 0) in_tree[t] = in_tree[Index(tree.parents[t])];
    plans[t].takes_part = names[t] || (in_tree[t] && !names_pool(tree.tenants[t].spec));
  }
}

void PlanCell(TenantTree& tree, const QuotaGrid& grid, const Guarantees& sums, std::size_t c) {
  const std::size_t count = tree.tenants.size();
  const std::span<CellPlan> plans = std::span(tree.plans).subspan(c * count, count);
  for (std::size_t t = 0; t < count; ++t) {
    const std::size_t i = tree.tenants[t].spec;
    CellPlan& plan = plans[t];
    if (const QuotaSpec* quota = grid.At(c, i); quota != nullptr) {
      plan.borrowing_limit = quota->borrowing_limit.value_or(kUnlimited);
      plan.lending_limit = quota->lending_limit.value_or(kUnlimited);
    }
    plan.guarantee = sums.subtree[i];
    plan.nominal = sums.subtree[i] - sums.children[i];
    plan.subtree = plan.nominal;
  }
  for (std::size_t t = count; t-- > 0;) {
    CellPlan& plan = plans[t];
    if (plan.lending_limit != kUnlimited) {
      plan.local = std::max<std::int64_t>(0, plan.subtree - plan.lending_limit);
    }
    if (tree.parents[t] < 0) continue;
    std::int64_t& above = plans[Index(tree.parents[t])].subtree;
    above = SaturatingAdd(above, plan.subtree - plan.local);
  }
  for (std::size_t t = 0; t < count; ++t) {
    CellPlan& plan = plans[t];
    plan.potential = plan.subtree;
    if (tree.parents[t] < 0) continue;
    const std::int64_t above = plans[Index(tree.parents[t])].potential;
    plan.potential = std::min(SaturatingAdd(plan.local, above),
                              SaturatingAdd(plan.subtree, plan.borrowing_limit));
  }
}

void SumLendable(TenantTree& tree) {
  const std::size_t count = tree.tenants.size();
  tree.lendable.assign(tree.shared.size() * count, 0);
  for (std::size_t c = 0; c < tree.cells.size(); ++c) {
    const std::size_t row = Index(tree.cells[c].share) * count;
    for (std::size_t t = 0; t < count; ++t) {
      std::int64_t& sum = tree.lendable[row + t];
      sum = SaturatingAdd(sum, tree.plans[c * count + t].potential);
    }
  }
}

std::int64_t OfPool(const std::map<std::string, Amount>& capacity, const Cell& cell) {
  const auto of = [&](const Amount& amount) {
    if (cell.resource == kDevices) return amount.devices;
    if (cell.resource == kMemoryMib) return amount.memory_mib;
    if (cell.resource == kCores) return amount.cores_permille;
    const auto found = amount.instances.find(cell.resource);
    return found == amount.instances.end() ? std::int64_t{0} : found->second;
  };
  if (cell.pool != kAllPools) {
    const auto found = capacity.find(cell.pool);
    return found == capacity.end() ? 0 : of(found->second);
  }
  std::int64_t sum = 0;
  for (const auto& [pool, amount] : capacity) sum = SaturatingAdd(sum, of(amount));
  return sum;
}

void AddPool(const Pool& pool, const Amount& amount, Charge& charge) {
  if (pool.devices >= 0) AddToCharge(pool.devices, amount.devices, charge);
  if (pool.memory_mib >= 0) AddToCharge(pool.memory_mib, amount.memory_mib, charge);
  if (pool.cores >= 0) AddToCharge(pool.cores, amount.cores_permille, charge);
  for (const auto& [resource, cell] : pool.others) {
    const auto found = amount.instances.find(resource);
    if (found != amount.instances.end()) AddToCharge(cell, found->second, charge);
  }
}

std::string DescribeGuarantees(const TenantFault& fault, const QuotaSpec& quota) {
  return "the guarantees of its children add up to " + std::to_string(fault.children) + " of " +
         quota.resource + " in pool " + quota.pool + ", and its own is " +
         std::to_string(fault.stated);
}

}  // namespace

std::string Describe(const TenantFault& fault, std::span<const TenantSpec> specs) {
  const TenantSpec* tenant = fault.tenant < specs.size() ? &specs[fault.tenant] : nullptr;
  switch (fault.kind) {
    case TenantFaultKind::kNameEmpty:
      return "a tenant needs a name";
    case TenantFaultKind::kNameRepeated:
      return "another tenant has this name";
    case TenantFaultKind::kParentUnknown:
      return "no tenant is called \"" + (tenant == nullptr ? "" : tenant->parent) + "\"";
    case TenantFaultKind::kParentCycle:
      return "its parents lead back to itself";
    case TenantFaultKind::kUnreachable:
      return "its parents lead to no root";
    case TenantFaultKind::kTooDeep:
      return "tenants may be " + std::to_string(kTenantDepthMax) + " levels deep";
    case TenantFaultKind::kWeightOutOfRange:
      return "a weight is at least 0 and at most " + std::to_string(kWeightMax / kWeightOne);
    case TenantFaultKind::kQuotaUnnamed:
      return "a quota needs a pool and a resource";
    case TenantFaultKind::kQuotaRepeated:
      return "this pool and resource have been given before";
    case TenantFaultKind::kGuaranteeOutOfRange:
      return "a guarantee is at least 0 and at most " + std::to_string(kAmountMax);
    case TenantFaultKind::kBorrowingLimitOutOfRange:
      return "a borrowing limit is at least 0 and at most " + std::to_string(kAmountMax);
    case TenantFaultKind::kLendingLimitOutOfRange:
      return "a lending limit is at least 0 and at most " + std::to_string(kAmountMax);
    case TenantFaultKind::kGuaranteesBeyondParent:
      if (tenant == nullptr || !fault.quota || *fault.quota >= tenant->quotas.size()) break;
      return DescribeGuarantees(fault, tenant->quotas[*fault.quota]);
    case TenantFaultKind::kTooManyTenants:
      return "there may be " + std::to_string(kTenantsMax) + " tenants";
    case TenantFaultKind::kTooManyCells:
      return "tenants times pools times resources may be " + std::to_string(kTenantCellsMax);
  }
  return "";
}

std::expected<TenantTree, std::vector<TenantFault>> BuildTenantTree(
    std::span<const TenantSpec> specs, std::span<const std::string> pools) {
  if (specs.size() > kTenantsMax) {
    return std::unexpected(
        std::vector{TenantFault{.kind = TenantFaultKind::kTooManyTenants, .tenant = kTenantsMax}});
  }
  TenantTree tree;
  tree.cells = NamedCells(specs, pools);
  if (specs.size() * tree.cells.size() > kTenantCellsMax) {
    return std::unexpected(
        std::vector{TenantFault{.kind = TenantFaultKind::kTooManyCells, .tenant = 0}});
  }
  const Names names = NameIndex(specs);
  const std::vector<int> parents = ParentsOf(specs, names);
  const std::vector<Reach> reach = FollowParents(parents);
  const std::vector<int> order = ParentsFirst(reach);
  const QuotaGrid grid(specs, tree.cells);
  std::vector<TenantFault> faults;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    CheckLinks(specs, names, parents, reach, i, faults);
    CheckQuotas(i, specs[i], faults);
  }
  for (std::size_t c = 0; c < tree.cells.size(); ++c) {
    CheckGuarantees(specs, grid, parents, order, c, faults);
  }
  if (!faults.empty()) {
    std::ranges::stable_sort(faults, {}, &TenantFault::tenant);
    return std::unexpected(std::move(faults));
  }
  for (const int i : order) {
    const TenantSpec& spec = specs[Index(i)];
    tree.by_name.emplace(spec.name, static_cast<int>(tree.tenants.size()));
    tree.tenants.push_back({spec.name, spec.weight_micro, Index(i)});
    tree.parents.push_back(spec.parent.empty() ? kNoParent : tree.by_name.at(spec.parent));
  }
  NameShared(tree);
  NamePools(tree);
  tree.plans.resize(tree.cells.size() * tree.tenants.size());
  for (std::size_t c = 0; c < tree.cells.size(); ++c) {
    PlanCell(tree, grid, SumGuarantees(grid, parents, order, c), c);
    SayWhoTakesPart(tree, grid, c);
  }
  SumLendable(tree);
  return tree;
}

int FindTenant(const TenantTree& tree, std::string_view name) {
  const auto found = tree.by_name.find(name);
  return found == tree.by_name.end() ? -1 : found->second;
}

int FindPool(const TenantTree& tree, std::string_view name) {
  const auto found = std::ranges::lower_bound(tree.pools, name, {}, &Pool::name);
  const bool is_known = found != tree.pools.end() && found->name == name;
  return is_known ? static_cast<int>(found - tree.pools.begin()) : -1;
}

int FindCell(const TenantTree& tree, std::string_view pool, std::string_view resource) {
  return IndexIn(tree.cells, pool, resource);
}

void AddToCharge(int cell, std::int64_t amount, Charge& charge) {
  if (amount <= 0) return;
  const auto at = std::ranges::lower_bound(charge, cell, {}, &CellAmount::cell);
  if (at != charge.end() && at->cell == cell) {
    at->amount = std::min(SaturatingAdd(at->amount, amount), kAmountMax);
  } else {
    charge.insert(at, {cell, std::min(amount, kAmountMax)});
  }
}

void AddToCharge(const TenantTree& tree, std::string_view pool, const Amount& amount,
                 Charge& charge) {
  for (const std::string_view name : {pool, kAllPools}) {
    if (const int index = FindPool(tree, name); index >= 0) {
      AddPool(tree.pools[Index(index)], amount, charge);
    }
  }
}

std::vector<GuaranteeShortage> FindShortages(const TenantTree& tree,
                                             const std::map<std::string, Amount>& capacity) {
  std::vector<GuaranteeShortage> shortages;
  for (std::size_t c = 0; c < tree.cells.size(); ++c) {
    std::int64_t guaranteed = 0;
    for (std::size_t t = 0; t < tree.tenants.size(); ++t) {
      if (tree.parents[t] >= 0) continue;
      guaranteed = SaturatingAdd(guaranteed, tree.plans[c * tree.tenants.size() + t].guarantee);
    }
    const std::int64_t has = OfPool(capacity, tree.cells[c]);
    if (guaranteed > has) {
      shortages.push_back({static_cast<int>(c), guaranteed, has});
    }
  }
  return shortages;
}

}  // namespace offcut::quota
