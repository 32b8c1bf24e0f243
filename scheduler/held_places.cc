#include "scheduler/held_places.h"

#include <string>

#include "scheduler/expected_node.h"

namespace offcut::scheduler {
namespace {

HeldPlace PlaceOf(const Snapshot& snapshot, const std::shared_ptr<const Pod>& owner) {
  HeldPlace place{.owner = owner, .waits_for = {}};
  for (const std::string& uid : owner->hold->victim_uids) {
    const PodEntry* entry = snapshot.FindPod(uid);
    if (entry != nullptr && entry->node_name == owner->hold->node) {
      place.waits_for.push_back(entry->pod);
    }
  }
  return place;
}

// What the pod would be charged on the node if it were alone there.
std::int64_t DevicesOn(const Node& node, const std::shared_ptr<const Pod>& pod) {
  const Node alone = BuildNode(node.inventory, {{.pod = pod, .record = {}, .placement = {}}});
  return SumOf(alone.holders.front().charge).devices;
}

}  // namespace

std::optional<HeldPlace> HeldPlaceOf(const Snapshot& snapshot, std::string_view uid) {
  const PodEntry* entry = snapshot.FindPod(uid);
  if (entry == nullptr || !entry->pod->hold || !snapshot.IsHeld(uid)) return std::nullopt;
  return PlaceOf(snapshot, entry->pod);
}

std::vector<HeldPlace> HeldPlacesAgainst(const Snapshot& snapshot, const Node& node,
                                         const Pod& pod) {
  std::vector<HeldPlace> places;
  for (const Expectation& expected : snapshot.ExpectedOn(node.name())) {
    const bool is_held = expected.kind == ExpectationKind::kHeld;
    if (is_held && IsHeldAgainst(snapshot, *expected.pod, pod)) {
      places.push_back(PlaceOf(snapshot, expected.pod));
    }
  }
  return places;
}

std::array<HeldSum, 2> SumOfHeld(const Snapshot& snapshot) {
  std::array<HeldSum, 2> sums{};
  for (const auto& node : snapshot.nodes()) {
    for (const Expectation& expected : snapshot.ExpectedOn(node->name())) {
      if (expected.kind != ExpectationKind::kHeld) continue;
      HeldSum& sum = sums.at(static_cast<std::size_t>(expected.pod->hold->cause));
      ++sum.holds;
      sum.devices += DevicesOn(*node, expected.pod);
    }
  }
  return sums;
}

}  // namespace offcut::scheduler
