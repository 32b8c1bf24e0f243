#include "scheduler/quota_check.h"

#include <cassert>

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

}  // namespace

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
  return CheckQuota(accounts.ExpectedBut(pod.uid), accounts.tenancy(), payer.tenant,
                    ChargeOn(changed, cost.placement));
}

QuotaCheck::QuotaCheck(const Snapshot& snapshot, const Pod& pod, const Policy& policy,
                       Prefilter prefilter)
    : snapshot_(snapshot), pod_(pod), policy_(policy), prefilter_(prefilter) {
  const Payer payer = PayerIn(snapshot, pod);
  if (payer.tenant == kNoTenant || payer.is_charged_elsewhere || pod.request.empty()) return;
  tenant_ = payer.tenant;
  ledger_ = snapshot.accounts()->ExpectedBut(pod.uid);
}

Verdict QuotaCheck::Check(const PodCharge& charge) const {
  return CheckQuota(*ledger_, snapshot_.accounts()->tenancy(), tenant_, charge);
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
