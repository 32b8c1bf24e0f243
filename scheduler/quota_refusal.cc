#include "scheduler/quota_refusal.h"

#include <algorithm>
#include <cassert>

#include "scheduler/decision.h"
#include "scheduler/expected_node.h"
#include "scheduler/packing.h"
#include "scheduler/quota_check.h"

namespace offcut::scheduler {
namespace {

// What the best placement would be charged; where there is none now, what is to be expected.
PodCharge ChargeThere(const Snapshot& snapshot, const Pod& pod, const Node& node,
                      const Policy& policy, Prefilter prefilter) {
  ExpectedCharge expected =
      ExpectCharge(node.inventory.devices, ShapeOn(node.inventory, pod).shape);
  if (expected.is_exact) return std::move(expected.charge);
  const std::optional<Node> with_expected = WithExpected(snapshot, node, pod);
  const Node& judged = with_expected ? *with_expected : node;
  const NodeCost cost = CostOf(judged, pod, policy, *PackingOf(snapshot, policy), prefilter);
  return cost.fits ? ChargeOn(judged, cost.placement) : std::move(expected.charge);
}

// The lowest one, from the tenant upwards, whose own limit leaves no more than those above it do.
int LimitedBy(const quota::Ledger& ledger, int tenant, int cell) {
  const quota::TenantTree& tree = ledger.tree();
  int limiting = tenant;
  for (int parent = tree.Parent(tenant); parent >= 0; parent = tree.Parent(parent)) {
    const quota::CellPlan& plan = tree.Plan(cell, limiting);
    if (plan.borrowing_limit != quota::kUnlimited) {
      const std::int64_t own = plan.subtree - std::max(plan.local, ledger.Used(limiting, cell));
      if (quota::SaturatingAdd(own, plan.borrowing_limit) <= ledger.Available(parent, cell)) break;
    }
    limiting = parent;
  }
  return limiting;
}

}  // namespace

std::optional<QuotaRefusal> RefusalByQuota(const Snapshot& snapshot, const Pod& pod,
                                           const Node& node, const Policy& policy,
                                           Prefilter prefilter) {
  if (snapshot.accounts() == nullptr || pod.request.empty()) return std::nullopt;
  const Tenancy& tenancy = snapshot.accounts()->tenancy();
  const int tenant = TenantOf(tenancy, pod);
  if (tenant == kNoTenant) return std::nullopt;
  const ExpectedUse use = ExpectedUseFor(snapshot, pod);
  const quota::Charge charge =
      ToCells(tenancy, ChargeThere(snapshot, pod, node, policy, prefilter));
  const bool fits_now = use.now.Check(tenant, charge).answer == quota::Answer::kFits;
  const quota::Ledger& ledger = fits_now && use.then ? *use.then : use.now;
  const auto [answer, cell] = ledger.Check(tenant, charge);
  if (answer == quota::Answer::kFits) return std::nullopt;
  const quota::TenantTree& tree = ledger.tree();
  const bool is_never = answer == quota::Answer::kNever;
  const quota::Ledger judge = is_never ? quota::Ledger(tenancy.tree) : ledger;
  const int limiting = LimitedBy(judge, tenant, cell);
  const auto asked = std::ranges::find(charge, cell, &quota::CellAmount::cell);
  assert(asked != charge.end());
  const auto& named = tree.cells[static_cast<std::size_t>(cell)];
  return QuotaRefusal{.reason = is_never ? Reason::kQuotaNever : Reason::kQuotaWait,
                      .pool = named.pool,
                      .resource = named.resource,
                      .asked = asked->amount,
                      .standing = ledger.StandingOf(tenant, cell),
                      .borrowing_limit = tree.Plan(cell, tenant).borrowing_limit,
                      .may_borrow = tree.Parent(tenant) >= 0,
                      .limited_by = std::string(NameOf(tenancy, limiting)),
                      .left_there = std::max<std::int64_t>(0, judge.Available(limiting, cell))};
}

}  // namespace offcut::scheduler
