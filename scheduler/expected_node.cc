#include "scheduler/expected_node.h"

#include <algorithm>
#include <utility>

namespace offcut::scheduler {
namespace {

bool MustMakeWay(const Pod& pod, const Expectation& expected) {
  if (expected.pod->uid == pod.uid) return false;
  return expected.kind == ExpectationKind::kClaimed || expected.pod->priority >= pod.priority;
}

}  // namespace

std::optional<Node> WithExpected(const Snapshot& snapshot, const Node& node, const Pod& pod) {
  std::optional<std::vector<Holder>> holders;
  for (const Expectation& expected : snapshot.ExpectedOn(node.name())) {
    if (!MustMakeWay(pod, expected)) continue;
    if (!holders) holders = node.holders;
    const bool is_there = std::ranges::any_of(
        *holders, [&](const Holder& holder) { return holder.pod->uid == expected.pod->uid; });
    if (!is_there) holders->push_back({.pod = expected.pod, .record = {}, .placement = {}});
  }
  if (!holders) return std::nullopt;
  return BuildNode(node.inventory, *std::move(holders));
}

}  // namespace offcut::scheduler
