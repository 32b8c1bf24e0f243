#include "scheduler/expected_node.h"

#include <algorithm>
#include <memory>
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

// As the state knows it once it is there: charged by the queue that has admitted it.
std::shared_ptr<const Pod> Arrived(const Snapshot& snapshot,
                                   const std::shared_ptr<const Pod>& pod) {
  const std::string_view queue = snapshot.QueueOf(*pod);
  if (queue == pod->admitted_queue) return pod;
  auto arrived = std::make_shared<Pod>(*pod);
  arrived->admitted_queue = queue;
  return arrived;
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
    if (is_there) continue;
    holders->push_back({.pod = Arrived(snapshot, expected.pod), .record = {}, .placement = {}});
  }
  if (!holders) return std::nullopt;
  return BuildNode(node.inventory, *std::move(holders));
}

}  // namespace offcut::scheduler
