#include "scheduler/accounts.h"

#include <optional>
#include <utility>
#include <vector>

namespace offcut::scheduler {
namespace {

bool IsChargedAlike(const Holder& a, const Holder& b) {
  return a.pod == b.pod && a.charge == b.charge;
}

std::span<const Holder> HoldersOf(const Node* node) {
  return node == nullptr ? std::span<const Holder>() : std::span<const Holder>(node->holders);
}

// nullopt: nobody is charged for it.
std::optional<quota::Holding> HoldingOf(const Tenancy& tenancy, const Holder& holder) {
  const int tenant = TenantOf(tenancy, *holder.pod);
  if (tenant == kNoTenant || holder.charge.empty()) return std::nullopt;
  return quota::Holding{.tenant = tenant, .charge = ToCells(tenancy, holder.charge)};
}

std::vector<quota::Holding> HoldingsOf(const Tenancy& tenancy,
                                       std::span<const std::shared_ptr<const Node>> nodes) {
  std::vector<quota::Holding> holdings;
  for (const auto& node : nodes) {
    for (const Holder& holder : node->holders) {
      if (auto holding = HoldingOf(tenancy, holder)) holdings.push_back(*std::move(holding));
    }
  }
  return holdings;
}

}  // namespace

quota::Charge ToCells(const Tenancy& tenancy, const PodCharge& charge) {
  quota::Charge cells;
  for (const KindCharge& each : charge) {
    const std::string_view pool = PoolOf(tenancy, each.model.get(), each.product);
    quota::AddToCharge(*tenancy.tree, pool, each.amount, cells);
  }
  return cells;
}

Accounts::Accounts(std::shared_ptr<const Tenancy> tenancy,
                   std::span<const std::shared_ptr<const Node>> nodes)
    : tenancy_(std::move(tenancy)),
      charged_(tenancy_->tree, HoldingsOf(*tenancy_, nodes)),
      expected_(charged_) {}

quota::Ledger Accounts::ExpectedBut(std::string_view uid) const {
  const auto own = claims_->find(uid);
  if (own == claims_->end()) return expected_;
  quota::Ledger others = expected_;
  others.Remove(own->second.tenant, own->second.charge);
  return others;
}

void Accounts::Add(const Holder& holder) {
  const auto holding = HoldingOf(*tenancy_, holder);
  if (!holding) return;
  charged_.Add(holding->tenant, holding->charge);
  expected_.Add(holding->tenant, holding->charge);
}

void Accounts::Remove(const Holder& holder) {
  const auto holding = HoldingOf(*tenancy_, holder);
  if (!holding) return;
  charged_.Remove(holding->tenant, holding->charge);
  expected_.Remove(holding->tenant, holding->charge);
}

// Both lists are in one order, so that a walk along both finds what differs.
void Accounts::Replace(const Node* before, const Node* after) {
  const std::span<const Holder> old_holders = HoldersOf(before);
  const std::span<const Holder> new_holders = HoldersOf(after);
  std::size_t i = 0;
  std::size_t k = 0;
  while (i < old_holders.size() || k < new_holders.size()) {
    const bool has_old = i < old_holders.size();
    const bool has_new = k < new_holders.size();
    if (has_old && has_new && IsChargedAlike(old_holders[i], new_holders[k])) {
      ++i;
      ++k;
    } else if (has_old && (!has_new || !ComesBefore(new_holders[k], old_holders[i]))) {
      Remove(old_holders[i++]);
    } else {
      Add(new_holders[k++]);
    }
  }
}

void Accounts::Claim(const std::string& uid, int tenant, const PodCharge& charge) {
  DropClaim(uid);
  if (tenant == kNoTenant || charge.empty()) return;
  quota::Holding holding{.tenant = tenant, .charge = ToCells(*tenancy_, charge)};
  expected_.Add(tenant, holding.charge);
  auto claims = std::make_shared<Claims>(*claims_);
  claims->insert_or_assign(uid, std::move(holding));
  claims_ = std::move(claims);
}

int Accounts::TenantOfClaim(std::string_view uid) const {
  const auto found = claims_->find(uid);
  return found == claims_->end() ? kNoTenant : found->second.tenant;
}

void Accounts::DropClaim(std::string_view uid) {
  const auto found = claims_->find(uid);
  if (found == claims_->end()) return;
  expected_.Remove(found->second.tenant, found->second.charge);
  auto claims = std::make_shared<Claims>(*claims_);
  claims->erase(claims->find(uid));
  claims_ = std::move(claims);
}

}  // namespace offcut::scheduler
