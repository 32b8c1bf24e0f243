#include "scheduler/quota_check.h"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "scheduler/decision.h"
#include "scheduler/expected_node.h"
#include "scheduler/packing.h"

namespace offcut::scheduler {

namespace {

bool IsBeyondLimit(const quota::Ledger& ledger, int tenant) {
  const quota::TenantTree& tree = ledger.tree();
  for (int cell = 0; cell < static_cast<int>(tree.cells.size()); ++cell) {
    if (tree.Plan(cell, tenant).takes_part && ledger.Available(tenant, cell) < 0) return true;
  }
  return false;
}

// As the pod will be charged once it is there.
void Add(const Snapshot& snapshot, const Nominee& nominee, quota::Ledger& ledger) {
  const Tenancy& tenancy = snapshot.accounts()->tenancy();
  const int tenant = PayerOf(tenancy, *nominee.pod, snapshot.QueueOf(*nominee.pod)).tenant;
  if (tenant == kNoTenant) return;
  const Inventory& inventory = nominee.node->inventory;
  const ExpectedCharge expected =
      ExpectCharge(inventory.devices, ShapeOn(inventory, *nominee.pod).shape);
  ledger.Add(tenant, ToCells(tenancy, expected.charge));
}

// Those whom nobody waits for.
void AddArriving(const Snapshot& snapshot, std::span<const Nominee> nominees,
                 quota::Ledger& ledger) {
  for (const Nominee& nominee : nominees) {
    if (nominee.leaving.empty()) Add(snapshot, nominee, ledger);
  }
}

// The others, in place of those who leave for them. nullopt: there are none.
std::optional<quota::Ledger> WithWaiting(const Snapshot& snapshot,
                                         std::span<const Nominee> nominees,
                                         const quota::Ledger& ledger) {
  std::optional<quota::Ledger> then;
  std::vector<const Holder*> left;
  for (const Nominee& nominee : nominees) {
    if (nominee.leaving.empty()) continue;
    if (!then) then = ledger;
    Add(snapshot, nominee, *then);
    left.insert(left.end(), nominee.leaving.begin(), nominee.leaving.end());
  }
  // Several may be nominated to one node.
  std::ranges::sort(left);
  const auto repeated = std::ranges::unique(left);
  left.erase(repeated.begin(), repeated.end());
  const Tenancy& tenancy = snapshot.accounts()->tenancy();
  for (const Holder* holder : left) {
    const int tenant = TenantOf(tenancy, *holder->pod);
    if (tenant != kNoTenant) then->Remove(tenant, ToCells(tenancy, holder->charge));
  }
  return then;
}

}  // namespace

ExpectedUse ExpectedUseFor(const Snapshot& snapshot, const Pod& pod) {
  const std::vector<Nominee> nominees = NomineesBefore(snapshot, pod, {});
  quota::Ledger now = snapshot.accounts()->ExpectedBut(pod.uid);
  AddArriving(snapshot, nominees, now);
  auto then = WithWaiting(snapshot, nominees, now);
  return {std::move(now), std::move(then)};
}

// An older pod that joins a Workload later (its owner and its annotation may be edited) takes the
// place of one that holds devices already, and whom quota has let pass for its place. So while the
// tenant who pays for that one now has no quota for it, the older one has to pay as well.
Payer PayerIn(const Snapshot& snapshot, const Pod& pod) {
  if (snapshot.accounts() == nullptr) return {};
  const Accounts& accounts = *snapshot.accounts();
  const Payer payer = PayerOf(accounts.tenancy(), pod, snapshot.QueueOf(pod));
  if (!payer.is_charged_elsewhere || !snapshot.HasHolderBeyondWorkload(pod)) return payer;
  const Payer own = PayerOf(accounts.tenancy(), pod, {});
  const bool is_owing = own.tenant != kNoTenant && IsBeyondLimit(accounts.charged(), own.tenant);
  return is_owing ? own : payer;
}

Verdict CheckQuota(const quota::Ledger& ledger, const Tenancy& tenancy, int tenant,
                   const PodCharge& charge) {
  switch (ledger.Check(tenant, ToCells(tenancy, charge)).answer) {
    case quota::Answer::kFits:
      return {};
    case quota::Answer::kWait:
      return {Reason::kQuotaWait};
    case quota::Answer::kNever:
      return {Reason::kQuotaNever};
  }
  assert(false);
  return {};
}

Verdict CheckQuotaOn(const Node& current, const Node& changed, const Snapshot& snapshot,
                     const Pod& pod, const Policy& policy, Prefilter prefilter) {
  const Payer payer = PayerIn(snapshot, pod);
  if (payer.tenant == kNoTenant || payer.is_charged_elsewhere) return {};
  Accounts accounts = *snapshot.accounts();
  // Who is expected here stands among the changed node's holders, or goes.
  for (const Expectation& expected : snapshot.ExpectedOn(current.name())) {
    accounts.DropClaim(expected.pod->uid);
  }
  accounts.Replace(&current, &changed);
  const NodeCost cost = CostOf(changed, pod, policy, *PackingOf(snapshot, policy), prefilter);
  quota::Ledger ledger = accounts.ExpectedBut(pod.uid);
  AddArriving(snapshot, NomineesBefore(snapshot, pod, current.name()), ledger);
  return CheckQuota(ledger, accounts.tenancy(), payer.tenant, ChargeOn(changed, cost.placement));
}

QuotaCheck::QuotaCheck(const Snapshot& snapshot, const Pod& pod, const Policy& policy,
                       Prefilter prefilter)
    : snapshot_(snapshot), pod_(pod), policy_(policy), prefilter_(prefilter) {
  const Payer payer = PayerIn(snapshot, pod);
  if (payer.tenant == kNoTenant || payer.is_charged_elsewhere || pod.request.empty()) return;
  tenant_ = payer.tenant;
  use_ = ExpectedUseFor(snapshot, pod);
}

Verdict QuotaCheck::Check(const PodCharge& charge) const {
  const Tenancy& tenancy = snapshot_.accounts()->tenancy();
  const Verdict now = CheckQuota(use_->now, tenancy, tenant_, charge);
  if (!now.fits() || !use_->then) return now;
  return CheckQuota(*use_->then, tenancy, tenant_, charge);
}

Verdict QuotaCheck::Of(const Node& node) {
  const auto [known, is_new] = known_.try_emplace(node.charge_key);
  if (is_new) {
    const ExpectedCharge expected =
        ExpectCharge(node.inventory.devices, ShapeOn(node.inventory, pod_).shape);
    const Verdict verdict = Check(expected.charge);
    if (expected.is_exact || (expected.is_at_most && verdict.fits())) known->second = verdict;
  }
  if (known->second) return *known->second;
  const std::optional<Node> with_expected = WithExpected(snapshot_, node, pod_);
  const Node& judged = with_expected ? *with_expected : node;
  const NodeCost cost = CostOf(judged, pod_, policy_, *PackingOf(snapshot_, policy_), prefilter_);
  return cost.fits ? Check(ChargeOn(judged, cost.placement)) : Verdict{};
}

}  // namespace offcut::scheduler
