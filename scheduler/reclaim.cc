#include "scheduler/reclaim.h"

#include <algorithm>
#include <iterator>

#include "scheduler/decision.h"
#include "scheduler/expected_node.h"
#include "scheduler/node_match.h"
#include "scheduler/node_pick.h"
#include "scheduler/packing.h"
#include "scheduler/quota_check.h"

namespace offcut::scheduler {
namespace {

Policy WithReclaimRules(Policy policy, const std::unordered_set<std::string>& spared) {
  policy.preemption.from_borrowers = quota::Taking::kAny;
  policy.preemption.spared_uids.assign(spared.begin(), spared.end());
  std::ranges::sort(policy.preemption.spared_uids);
  return policy;
}

// By name: where the pod could stand if enough left.
std::vector<const Node*> NodesFor(const Snapshot& snapshot, const Pod& pod) {
  std::vector<const Node*> nodes;
  for (const auto& node : snapshot.nodes()) {
    if (!node->closed && Admits(node->name(), *node->inventory.marks, pod.node_rules)) {
      nodes.push_back(node.get());
    }
  }
  return nodes;
}

bool FitsSomewhere(const Snapshot& snapshot, const Pod& pod, std::span<const Node* const> nodes,
                   const Policy& policy) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const Node* node : nodes) names.push_back(node->name());
  return std::ranges::any_of(Filter(snapshot, pod, names, policy, Prefilter::kNone),
                             &Verdict::fits);
}

// What the pod gets on the node once those have left, its CPU and memory included.
std::optional<binpack::Placement> PlacementWithout(const Snapshot& snapshot, const Node& node,
                                                   const Pod& pod, const Policy& policy,
                                                   std::span<const std::string> victim_uids) {
  const std::optional<Node> expected = WithExpected(snapshot, node, pod);
  std::vector<Holder> rest;
  std::ranges::copy_if(expected ? expected->holders : node.holders, std::back_inserter(rest),
                       [&](const Holder& holder) {
                         return std::ranges::find(victim_uids, holder.pod->uid) ==
                                victim_uids.end();
                       });
  const Node without = BuildNode(expected ? expected->inventory : node.inventory, std::move(rest));
  NodeCost cost = CostOf(without, pod, policy, *PackingOf(snapshot, policy), Prefilter::kNone);
  if (!cost.fits) return std::nullopt;
  return std::move(cost.placement);
}

std::optional<ReclaimPlan> PlanOn(const Snapshot& snapshot, const Node& node, const Pod& pod,
                                  const Policy& policy, VictimFinder& finder) {
  const auto found = finder.Find({.node_name = node.name(), .victim_uids = {}});
  if (!found || found->victim_uids.empty() || found->pdb_violations > 0) return std::nullopt;
  const auto placement = PlacementWithout(snapshot, node, pod, policy, found->victim_uids);
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
  const bool is_waiting = entry.phase == PodPhase::kPending && !pod.is_terminating &&
                          !pod.has_quota_gate && !pod.has_other_gates;
  const bool is_refused = !pod.request.empty() && !pod.unscheduled_message.empty();
  const bool is_expected =
      !pod.nominated_node_name.empty() || snapshot.IsClaimed(pod.uid) || snapshot.IsHeld(pod.uid);
  const bool is_simple = !pod.never_preempts && !pod.minds_neighbours && pod.gang.empty();
  return is_waiting && is_refused && !is_expected && is_simple &&
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

}  // namespace offcut::scheduler
