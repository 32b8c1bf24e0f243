#include "scheduler/expected_node.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/quota_check.h"

namespace offcut::scheduler {
namespace {

bool IsEarlier(const Pod& a, const Pod& b) {
  return std::tuple(a.created_s, std::string_view(a.uid)) <
         std::tuple(b.created_s, std::string_view(b.uid));
}

// Of two equals that are both nominated to the node the later makes way, or neither could go there.
// `waiting`: the pod, as it is nominated to this node or has devices held here; nullptr: neither.
bool MustMakeWay(const Snapshot& snapshot, const Pod& pod, const Pod* waiting,
                 const Expectation& expected) {
  if (expected.pod->uid == pod.uid) return false;
  switch (expected.kind) {
    case ExpectationKind::kClaimed:
      return true;
    case ExpectationKind::kHeld:
      return IsHeldAgainst(snapshot, *expected.pod, pod);
    case ExpectationKind::kNominated:
      break;
  }
  if (expected.pod->priority != pod.priority) return expected.pod->priority > pod.priority;
  return waiting == nullptr || IsEarlier(*expected.pod, *waiting);
}

const Pod* FindWaiting(std::span<const Expectation> expectations, std::string_view uid) {
  const auto found = std::ranges::find_if(expectations, [&](const Expectation& expected) {
    return expected.kind != ExpectationKind::kClaimed && expected.pod->uid == uid;
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

bool IsHolder(std::span<const Holder> holders, std::string_view uid) {
  return std::ranges::any_of(holders, [&](const Holder& holder) { return holder.pod->uid == uid; });
}

std::optional<DeviceRecord> HeldRecord(const Node& node, const Pod& pod) {
  if (!pod.hold || pod.hold->node != node.name() || pod.hold->devices.empty()) return std::nullopt;
  return DeviceRecord{.pod_uid = pod.uid,
                      .node = node.name(),
                      .agent = node.inventory.agent,
                      .certainty = Certainty::kExact,
                      .charge = {},
                      .devices = pod.hold->devices};
}

// A node on which pods are put that are not there.
class Expecting {
 public:
  explicit Expecting(const Node& node) : node_(node) {}

  void Put(const Snapshot& snapshot, const std::shared_ptr<const Pod>& pod) {
    Begin();
    if (IsHolder(holders_, pod->uid)) return;
    std::optional<DeviceRecord> record = HeldRecord(node_, *pod);
    if (record && IsBeingLeft(*pod->hold)) {
      Close(*record);
      return;
    }
    holders_.push_back(
        {.pod = Arrived(snapshot, pod), .record = std::move(record), .placement = {}});
  }

  std::optional<Node> Built() && {
    if (!is_changed_) return std::nullopt;
    return BuildNode(std::move(inventory_), std::move(holders_));
  }

 private:
  void Begin() {
    if (std::exchange(is_changed_, true)) return;
    inventory_ = node_.inventory;
    holders_ = node_.holders;
  }

  bool IsBeingLeft(const Hold& hold) const {
    return std::ranges::any_of(hold.victim_uids,
                               [&](const std::string& uid) { return IsHolder(holders_, uid); });
  }

  // Who is there stays, and nobody else gets anything.
  void Close(const DeviceRecord& record) {
    const auto placement = PlacementOf(inventory_, record);
    if (!placement) return;
    for (const binpack::Piece& piece : placement->pieces) {
      if (piece.gpu < 0) continue;
      inventory_.devices.gpus[static_cast<std::size_t>(piece.gpu)].health =
          binpack::GpuHealth::kUnhealthy;
    }
  }

  const Node& node_;
  Inventory inventory_;
  std::vector<Holder> holders_;
  bool is_changed_ = false;
};

}  // namespace

bool IsHeldAgainst(const Snapshot& snapshot, const Pod& owner, const Pod& pod) {
  if (owner.uid == pod.uid || !owner.hold) return false;
  const bool is_higher = pod.priority > owner.priority;
  if (owner.hold->cause == HoldCause::kDate) {
    const bool ends_before = pod.would_end_s != 0 && pod.would_end_s <= owner.hold->expected_s;
    return !is_higher && !ends_before;
  }
  return !is_higher || PayerIn(snapshot, pod).tenant != PayerIn(snapshot, owner).tenant;
}

bool HasHeldAgainst(const Snapshot& snapshot, const Node& node, const Pod& pod) {
  return std::ranges::any_of(snapshot.ExpectedOn(node.name()), [&](const Expectation& expected) {
    return expected.kind == ExpectationKind::kHeld && IsHeldAgainst(snapshot, *expected.pod, pod);
  });
}

std::optional<Node> WithExpected(const Snapshot& snapshot, const Node& node, const Pod& pod) {
  const std::span<const Expectation> expectations = snapshot.ExpectedOn(node.name());
  const Pod* waiting = FindWaiting(expectations, pod.uid);
  Expecting expecting(node);
  for (const Expectation& expected : expectations) {
    if (MustMakeWay(snapshot, pod, waiting, expected)) expecting.Put(snapshot, expected.pod);
  }
  return std::move(expecting).Built();
}

std::optional<Node> WithHeld(const Snapshot& snapshot, const Node& node, const Pod& pod) {
  Expecting expecting(node);
  for (const Expectation& expected : snapshot.ExpectedOn(node.name())) {
    const bool is_held = expected.kind == ExpectationKind::kHeld;
    if (is_held && IsHeldAgainst(snapshot, *expected.pod, pod)) {
      expecting.Put(snapshot, expected.pod);
    }
  }
  return std::move(expecting).Built();
}

std::vector<Nominee> NomineesBefore(const Snapshot& snapshot, const Pod& pod,
                                    std::string_view but_on) {
  std::vector<Nominee> nominees;
  if (!snapshot.HasExpectations()) return nominees;
  const Pod* waiting = FindWaiting(snapshot.ExpectedOn(pod.nominated_node_name), pod.uid);
  for (const auto& node : snapshot.nodes()) {
    if (node->name() == but_on) continue;
    for (const Expectation& expected : snapshot.ExpectedOn(node->name())) {
      const bool is_before = expected.kind == ExpectationKind::kNominated &&
                             MustMakeWay(snapshot, pod, waiting, expected) &&
                             !snapshot.IsClaimed(expected.pod->uid);
      if (!is_before) continue;
      Nominee nominee{.node = node.get(), .pod = expected.pod.get(), .leaving = {}};
      for (const Holder& holder : node->holders) {
        const bool leaves =
            holder.pod->is_terminating && holder.pod->priority < expected.pod->priority;
        if (leaves) nominee.leaving.push_back(&holder);
      }
      nominees.push_back(std::move(nominee));
    }
  }
  return nominees;
}

}  // namespace offcut::scheduler
