#include "scheduler/preemptor.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "scheduler/quota_check.h"

namespace offcut::scheduler {
namespace {

std::shared_ptr<const quota::TenantTree> TreeOfOne() {
  static const auto tree = [] {
    const std::vector<quota::TenantSpec> specs = {{.name = "all", .parent = "", .quotas = {}}};
    return std::make_shared<const quota::TenantTree>(*quota::BuildTenantTree(specs));
  }();
  return tree;
}

quota::Ledger LedgerFor(const Snapshot& snapshot, const Pod& pod) {
  if (snapshot.accounts() == nullptr) return quota::Ledger(TreeOfOne());
  return ExpectedUseFor(snapshot, pod).now;
}

}  // namespace

Preemptor::Preemptor(const Snapshot& snapshot, const Pod& pod, const Policy& policy,
                     std::int64_t now_s)
    : snapshot_(snapshot),
      evictor_{
          .pod = pod,
          .rules = policy.preemption,
          .quota_rules = QuotaRulesOf(policy),
          .tenancy = snapshot.accounts() == nullptr ? nullptr : &snapshot.accounts()->tenancy(),
          .payer = PayerIn(snapshot, pod),
          .now_s = now_s},
      ledger_(LedgerFor(snapshot, pod)),
      isolation_(snapshot, pod) {}

const GangSizes& Preemptor::GangsOn(const Node& node) {
  static const GangSizes none;
  const bool has_gangs =
      std::ranges::any_of(node.holders, [](const Holder& each) { return !each.pod->gang.empty(); });
  if (!has_gangs) return none;
  if (gangs_) return *gangs_;
  gangs_.emplace();
  snapshot_.ForEachPod([&](const PodEntry& entry) {
    const bool stays = entry.phase == PodPhase::kReserved || entry.phase == PodPhase::kBound;
    if (entry.pod->gang.empty() || !stays) return;
    ++(*gangs_)[{entry.pod->name_space, entry.pod->gang}];
  });
  return *gangs_;
}

}  // namespace offcut::scheduler
