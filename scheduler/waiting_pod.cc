#include "scheduler/waiting_pod.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "scheduler/decision.h"
#include "scheduler/expected_node.h"
#include "scheduler/node_match.h"
#include "scheduler/packing.h"

namespace offcut::scheduler {

bool WaitsForDevices(const Snapshot& snapshot, const PodEntry& entry) {
  const Pod& pod = *entry.pod;
  const bool is_waiting = entry.phase == PodPhase::kPending && !pod.is_terminating &&
                          !pod.has_quota_gate && !pod.has_other_gates;
  const bool is_refused = !pod.request.empty() && !pod.unscheduled_message.empty();
  const bool is_expected = !pod.nominated_node_name.empty() || snapshot.IsClaimed(pod.uid);
  const bool is_simple = !pod.minds_neighbours && pod.gang.empty();
  return is_waiting && is_refused && !is_expected && is_simple;
}

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

Node NodeWithout(const Snapshot& snapshot, const Node& node, const Pod& pod,
                 std::span<const std::string> gone_uids) {
  const std::optional<Node> expected = WithExpected(snapshot, node, pod);
  std::vector<Holder> rest;
  std::ranges::copy_if(expected ? expected->holders : node.holders, std::back_inserter(rest),
                       [&](const Holder& holder) {
                         return std::ranges::find(gone_uids, holder.pod->uid) == gone_uids.end();
                       });
  return BuildNode(expected ? expected->inventory : node.inventory, std::move(rest));
}

std::optional<binpack::Placement> PlacementOn(const Snapshot& snapshot, const Node& node,
                                              const Pod& pod, const Policy& policy) {
  NodeCost cost = CostOf(node, pod, policy, *PackingOf(snapshot, policy), Prefilter::kNone);
  if (!cost.fits) return std::nullopt;
  return std::move(cost.placement);
}

}  // namespace offcut::scheduler
