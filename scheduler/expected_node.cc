#include "scheduler/expected_node.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace offcut::scheduler {
namespace {

bool IsEarlier(const Pod& a, const Pod& b) {
  return std::tuple(a.created_s, std::string_view(a.uid)) <
         std::tuple(b.created_s, std::string_view(b.uid));
}

// Of two equals that are both nominated to the node the later makes way, or neither could go there.
// `nominated`: the pod, as it is nominated to this node; nullptr: it is not.
bool MustMakeWay(const Pod& pod, const Pod* nominated, const Expectation& expected) {
  if (expected.pod->uid == pod.uid) return false;
  if (expected.kind == ExpectationKind::kClaimed) return true;
  if (expected.pod->priority != pod.priority) return expected.pod->priority > pod.priority;
  return nominated == nullptr || IsEarlier(*expected.pod, *nominated);
}

const Pod* FindNominated(std::span<const Expectation> expectations, std::string_view uid) {
  const auto found = std::ranges::find_if(expectations, [&](const Expectation& expected) {
    return expected.kind == ExpectationKind::kNominated && expected.pod->uid == uid;
  });
  return found == expectations.end() ? nullptr : found->pod.get();
}

}  // namespace

std::optional<Node> WithExpected(const Snapshot& snapshot, const Node& node, const Pod& pod) {
  std::optional<std::vector<Holder>> holders;
  const std::span<const Expectation> expectations = snapshot.ExpectedOn(node.name());
  const Pod* nominated = FindNominated(expectations, pod.uid);
  for (const Expectation& expected : expectations) {
    if (!MustMakeWay(pod, nominated, expected)) continue;
    if (!holders) holders = node.holders;
    const bool is_there = std::ranges::any_of(
        *holders, [&](const Holder& holder) { return holder.pod->uid == expected.pod->uid; });
    if (!is_there) holders->push_back({.pod = expected.pod, .record = {}, .placement = {}});
  }
  if (!holders) return std::nullopt;
  return BuildNode(node.inventory, *std::move(holders));
}

}  // namespace offcut::scheduler
