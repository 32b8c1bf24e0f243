#include "scheduler/observation.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "scheduler/explain.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::PodFromText;
using ::offcut::testing::SharedInventory;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;

// A pod on n with a record of those GPUs, of which the kubelet reports these UUIDs.
Pod Placed(const std::string& text, const std::vector<int>& recorded, binpack::PieceKind kind,
           const std::vector<std::string>& uuids) {
  Pod pod = PodFromText(text + " node=n");
  DeviceRecord record{.pod_uid = pod.uid, .node = "n", .certainty = Certainty::kAssumed};
  for (const int gpu : recorded) record.devices.push_back({.gpu = gpu, .kind = kind});
  pod.record = record;
  for (const std::string& uuid : uuids) pod.observed.push_back({.gpu_uuid = uuid});
  return pod;
}

const Holder& HolderOf(const Snapshot& snapshot, const std::string& name) {
  const auto& holders = snapshot.FindNode("n")->holders;
  return *std::ranges::find_if(holders, [&](const Holder& h) { return h.pod->name == name; });
}

constexpr auto kWhole = binpack::PieceKind::kWhole;
constexpr auto kSlot = binpack::PieceKind::kSlot;

// Nobody else says which index the GPU of a UUID has: the assumed one is as good as any.
TEST(ObservationTest, AnUnknownUuidGetsTheIndexThatWasAssumed) {
  const Snapshot snapshot = SnapshotOf(
      {WholeInventory("n", 4)}, {Placed("p nvidia.com/gpu=2", {1, 3}, kWhole, {"GPU-x", "GPU-y"})});
  const Holder& holder = HolderOf(snapshot, "p");
  EXPECT_EQ(holder.placement.pieces[0].gpu, 1);
  EXPECT_EQ(holder.placement.pieces[1].gpu, 3);
  EXPECT_EQ(holder.observed_uuids, (std::vector<std::string>{"GPU-x", "GPU-y"}));
  EXPECT_FALSE(holder.is_drifted);
  EXPECT_EQ(Explain(snapshot, "uid-p", {}).record->certainty, Certainty::kObserved);
}

// Assumed on different cards of two slots each; the kubelet put both on one:
//   assumed  0 [p .]  1 [q .]      reported  0 [p q]  1 [. .]
TEST(ObservationTest, TheReportWinsOverTheRecordAndIsDrift) {
  const Snapshot snapshot =
      SnapshotOf({SharedInventory("n", binpack::Sharing::kTimeSlicing, 2, 2)},
                 {Placed("p nvidia.com/gpu=1 created=1", {0}, kSlot, {"GPU-x"}),
                  Placed("q nvidia.com/gpu=1 created=2", {1}, kSlot, {"GPU-x"})});
  EXPECT_FALSE(HasDrifted(snapshot, "uid-p"));
  EXPECT_TRUE(HasDrifted(snapshot, "uid-q"));
  EXPECT_EQ(HolderOf(snapshot, "q").placement.pieces[0].gpu, 0);
}

// The reverse: assumed on one card, reported on two.
TEST(ObservationTest, TwoUuidsAreTwoCards) {
  const Snapshot snapshot =
      SnapshotOf({SharedInventory("n", binpack::Sharing::kTimeSlicing, 2, 2)},
                 {Placed("p nvidia.com/gpu=1 created=1", {0}, kSlot, {"GPU-x"}),
                  Placed("q nvidia.com/gpu=1 created=2", {0}, kSlot, {"GPU-y"})});
  EXPECT_TRUE(HasDrifted(snapshot, "uid-q"));
  EXPECT_EQ(HolderOf(snapshot, "q").placement.pieces[0].gpu, 1);
}

// The pod without report was assumed where another now is known to be: it gives way.
TEST(ObservationTest, WhatIsOnlyAssumedGivesWay) {
  const Snapshot snapshot = SnapshotOf(
      {WholeInventory("n", 2)}, {Placed("p nvidia.com/gpu=1 created=1", {0}, kWhole, {}),
                                 Placed("q nvidia.com/gpu=1 created=2", {0}, kWhole, {"GPU-x"})});
  EXPECT_EQ(HolderOf(snapshot, "q").placement.pieces[0].gpu, 0);
  EXPECT_EQ(HolderOf(snapshot, "p").placement.pieces[0].gpu, 1);
  EXPECT_FALSE(HolderOf(snapshot, "p").is_unplaced);
}

TEST(ObservationTest, AReportOfFewerDevicesThanAskedForIsNotWaitedFor) {
  const Snapshot snapshot = SnapshotOf({WholeInventory("n", 4)},
                                       {Placed("p nvidia.com/gpu=2", {2, 3}, kWhole, {"GPU-x"})});
  EXPECT_TRUE(HolderOf(snapshot, "p").observed_uuids.empty());
  EXPECT_EQ(HolderOf(snapshot, "p").placement.pieces[0].gpu, 2);
}

// One of two cards of two slots is ill; its holder keeps its slot, and the other slot is given to
// nobody.
TEST(ObservationTest, AnUnhealthyGpuTakesNoNewPod) {
  Pod pod = Placed("p nvidia.com/gpu=1", {0}, kSlot, {"GPU-x"});
  pod.observed[0].is_unhealthy = true;
  const Snapshot snapshot =
      SnapshotOf({SharedInventory("n", binpack::Sharing::kTimeSlicing, 2, 2)}, {pod});
  const std::vector<std::string> names = {"n"};
  const auto fits = [&](std::string_view text) {
    return Filter(snapshot, PodFromText(text), names, {}, Prefilter::kNone)[0].fits();
  };
  EXPECT_TRUE(fits("q nvidia.com/gpu=2"));
  EXPECT_FALSE(fits("q nvidia.com/gpu=3"));
}

}  // namespace
}  // namespace offcut::scheduler
