#include "scheduler/reclaim.h"

#include <algorithm>

#include "scheduler/decision.h"
#include "scheduler/node_pick.h"
#include "scheduler/quota_check.h"
#include "scheduler/waiting_pod.h"

namespace offcut::scheduler {
namespace {

Policy WithReclaimRules(Policy policy, const std::unordered_set<std::string>& spared) {
  policy.preemption.from_borrowers = quota::Taking::kAny;
  policy.preemption.spared_uids.assign(spared.begin(), spared.end());
  std::ranges::sort(policy.preemption.spared_uids);
  return policy;
}

std::optional<ReclaimPlan> PlanOn(const Snapshot& snapshot, const Node& node, const Pod& pod,
                                  const Policy& policy, VictimFinder& finder) {
  const auto found = finder.Find({.node_name = node.name(), .victim_uids = {}});
  if (!found || found->victim_uids.empty() || found->pdb_violations > 0) return std::nullopt;
  const Node without = NodeWithout(snapshot, node, pod, found->victim_uids);
  const auto placement = PlacementOn(snapshot, without, pod, policy);
  if (!placement) return std::nullopt;
  ReclaimPlan plan{.node = node.name(), .victims = {}, .devices = {}};
  plan.victims.reserve(found->victim_uids.size());
  for (const std::string& uid : found->victim_uids) {
    plan.victims.push_back(snapshot.FindPod(uid)->pod);
  }
  if (node.inventory.devices.picker == binpack::DevicePicker::kScheduler) {
    plan.devices = RecordOf(node.inventory, pod, *placement, {}).devices;
  }
  return plan;
}

std::vector<VictimFact> FactsOf(const ReclaimPlan& plan) {
  std::vector<VictimFact> facts;
  facts.reserve(plan.victims.size());
  for (const auto& victim : plan.victims) {
    facts.push_back({.priority = victim->priority, .start_s = victim->created_s});
  }
  return facts;
}

}  // namespace

bool MayReclaim(const Snapshot& snapshot, const PodEntry& entry) {
  const Pod& pod = *entry.pod;
  return WaitsForDevices(snapshot, entry) && !snapshot.IsHeld(pod.uid) && !pod.never_preempts &&
         !PayerIn(snapshot, pod).is_charged_elsewhere;
}

std::optional<ReclaimPlan> PlanReclaim(const Snapshot& snapshot, const Pod& pod,
                                       const Policy& policy,
                                       const std::unordered_set<std::string>& spared,
                                       std::int64_t now_s) {
  const std::vector<const Node*> nodes = NodesFor(snapshot, pod);
  if (FitsSomewhere(snapshot, pod, nodes, policy)) return std::nullopt;
  const Policy rules = WithReclaimRules(policy, spared);
  VictimFinder finder(snapshot, pod, rules, Prefilter::kByKubeScheduler, now_s);
  std::vector<ReclaimPlan> plans;
  std::vector<std::vector<VictimFact>> facts;
  for (const Node* node : nodes) {
    auto plan = PlanOn(snapshot, *node, pod, rules, finder);
    if (!plan) continue;
    facts.push_back(FactsOf(*plan));
    plans.push_back(*std::move(plan));
  }
  std::vector<NodeVictims> choices;
  choices.reserve(plans.size());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    choices.push_back({.node = plans[i].node, .victims = facts[i]});
  }
  const std::optional<std::size_t> best = PickNode(choices);
  if (!best) return std::nullopt;
  return std::move(plans[*best]);
}

bool MustStillGo(const Snapshot& snapshot, const Pod& pod, const std::string& node,
                 const std::vector<std::string>& victim_uids, const Policy& policy,
                 std::int64_t now_s) {
  if (victim_uids.empty()) return true;
  // What the hold has done to the accounts, the search would do again.
  Snapshot unheld = snapshot;
  Pod newcomer = pod;
  newcomer.hold.reset();
  unheld.PutPod(newcomer);
  const Policy rules = WithReclaimRules(policy, {});
  VictimFinder finder(unheld, newcomer, rules, Prefilter::kByKubeScheduler, now_s);
  const auto found = finder.Find({.node_name = node, .victim_uids = {}});
  if (!found || found->pdb_violations > 0) return false;
  return std::ranges::all_of(victim_uids, [&](const std::string& uid) {
    return std::ranges::find(found->victim_uids, uid) != found->victim_uids.end();
  });
}

}  // namespace offcut::scheduler
