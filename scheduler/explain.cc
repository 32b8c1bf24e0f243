#include "scheduler/explain.h"

#include <algorithm>
#include <cassert>

#include "scheduler/expected_node.h"

namespace offcut::scheduler {
namespace {

void CountRefusal(Reason reason, std::vector<ReasonCount>& refusals) {
  const auto found = std::ranges::find(refusals, reason, &ReasonCount::reason);
  if (found == refusals.end()) {
    refusals.push_back({reason, 1});
  } else {
    ++found->nodes;
  }
}

std::optional<DeviceRecord> RecordOnNode(const Snapshot& snapshot, const PodEntry& entry) {
  const Node* node = snapshot.FindNode(entry.node_name);
  if (node == nullptr) return std::nullopt;
  const auto holder = std::ranges::find_if(
      node->holders, [&](const Holder& each) { return each.pod->uid == entry.pod->uid; });
  if (holder == node->holders.end()) return std::nullopt;
  if (holder->follows_record) return holder->record;
  return RecordOf(node->inventory, *entry.pod, holder->placement);
}

}  // namespace

Explanation Explain(const Snapshot& snapshot, std::string_view uid, const Policy& policy) {
  const PodEntry* entry = snapshot.FindPod(uid);
  assert(entry != nullptr);
  Explanation explanation{.pod = *entry->pod, .phase = entry->phase, .node_name = entry->node_name};
  if (entry->phase != PodPhase::kPending) {
    explanation.record = RecordOnNode(snapshot, *entry);
    return explanation;
  }

  std::vector<std::string> names;
  for (const auto& node : snapshot.nodes()) names.push_back(node->name());
  const auto verdicts = Filter(snapshot, *entry->pod, names, policy, Prefilter::kNone);
  const auto scores = Score(snapshot, *entry->pod, names, policy, Prefilter::kNone);
  std::int64_t best_score = -1;
  for (std::size_t i = 0; i < names.size(); ++i) {
    NodeExplanation node{.node = snapshot.nodes()[i], .verdict = verdicts[i], .score = scores[i]};
    if (node.verdict.fits()) {
      const auto expected = WithExpected(snapshot, *node.node, *entry->pod);
      node.cost = CostOf(expected ? *expected : *node.node, *entry->pod, policy, Prefilter::kNone);
      if (node.score > best_score) {
        best_score = node.score;
        explanation.node_name = names[i];
      }
    } else {
      CountRefusal(node.verdict.reason, explanation.refusals);
    }
    explanation.nodes.push_back(std::move(node));
  }
  std::ranges::stable_sort(explanation.refusals, [](const ReasonCount& a, const ReasonCount& b) {
    return a.nodes != b.nodes ? a.nodes > b.nodes : a.reason < b.reason;
  });
  return explanation;
}

}  // namespace offcut::scheduler
