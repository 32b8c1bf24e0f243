#include "scheduler/charge.h"

#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using binpack::PieceKind;
using binpack::Sharing;
using testing::PodFromText;
using testing::SharedInventory;
using testing::SnapshotOf;
using testing::WholeInventory;

std::int64_t DevicesOf(const Snapshot& snapshot, const std::string& pod) {
  for (const Holder& holder : snapshot.nodes()[0]->holders) {
    if (holder.pod->name == pod) return SumOf(holder.charge).devices;
  }
  return -1;
}

DeviceRecord Bind(Snapshot& snapshot, const std::string& text) {
  return Reserve(snapshot, PodFromText(text), "n", {}, Prefilter::kByKubeScheduler).record;
}

// 1400 / 3 = 466.67: two are charged 467, and 466 are left for the last.
TEST(ChargeTest, SlotsOfOneGpuAreChargedAsMuchAsTheGpu) {
  Snapshot snapshot = SnapshotOf({SharedInventory("n", Sharing::kMps, 1, 3)});
  EXPECT_EQ(Bind(snapshot, "a nvidia.com/gpu=1 created=1").charge.devices, 467);
  EXPECT_EQ(Bind(snapshot, "b nvidia.com/gpu=1 created=2").charge.devices, 467);
  EXPECT_EQ(Bind(snapshot, "c nvidia.com/gpu=1 created=3").charge.devices, 466);
}

// The third got 466. When the first has left, the others keep what they were charged, and a
// newcomer has 467 of the 467 that are free.
TEST(ChargeTest, IsFixedWhenThePodIsBound) {
  Snapshot snapshot = SnapshotOf({SharedInventory("n", Sharing::kMps, 1, 3)});
  for (const char* pod : {"c", "b", "a"}) Bind(snapshot, std::string(pod) + " nvidia.com/gpu=1");
  EXPECT_EQ(DevicesOf(snapshot, "a"), 466);
  snapshot.RemovePod("uid-c");
  EXPECT_EQ(DevicesOf(snapshot, "a"), 466);
  EXPECT_EQ(DevicesOf(snapshot, "b"), 467);
  EXPECT_EQ(Bind(snapshot, "d nvidia.com/gpu=1").charge.devices, 467);
}

// Annotations may be written by the pod's owner: no record makes a GPU cheap.
TEST(ChargeTest, OfARecordThatCannotBeIsWorkedOutAnew) {
  for (const std::int64_t recorded : {0, 465, 468, 1400}) {
    Pod pod = PodFromText("p nvidia.com/gpu=1 node=n");
    pod.record = DeviceRecord{.pod_uid = pod.uid,
                              .node = "n",
                              .charge = {.devices = recorded},
                              .devices = {{.gpu = 0, .kind = PieceKind::kSlot}}};
    const Snapshot snapshot = SnapshotOf({SharedInventory("n", Sharing::kMps, 1, 3)}, {pod});
    ASSERT_TRUE(snapshot.nodes()[0]->holders[0].follows_record);
    EXPECT_EQ(DevicesOf(snapshot, "p"), 467) << recorded;
  }
}

TEST(ChargeTest, IsOfWhatIsAskedForWhereTheNodeHasNoRoom) {
  const Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 2)}, {PodFromText("p nvidia.com/gpu=4 node=n")});
  EXPECT_EQ(DevicesOf(snapshot, "p"), 4 * 1400);
}

TEST(ChargeTest, ExpectedOnAUniformNodeIsThatOfAnyPlacement) {
  const Inventory node = WholeInventory("n", 4);
  const ExpectedCharge expected = ExpectCharge(node.devices, {.whole_gpus = 2});
  EXPECT_TRUE(expected.is_exact);
  EXPECT_EQ(SumOf(expected.charge).devices, 2800);
  EXPECT_EQ(SumOf(expected.charge).memory_mib, 2 * node.devices.gpus[0].memory_mib);
}

TEST(ChargeTest, ExpectedOfUnevenSlotsIsTheMostThatOneMayCost) {
  const ExpectedCharge expected =
      ExpectCharge(SharedInventory("n", Sharing::kMps, 1, 3).devices, {.slots = 1});
  EXPECT_FALSE(expected.is_exact);
  EXPECT_TRUE(expected.is_at_most);
  EXPECT_EQ(SumOf(expected.charge).devices, 467);
}

TEST(ChargeTest, ExpectedOnANodeOfSeveralKindsIsNoLimit) {
  Inventory node = WholeInventory("n", 1);
  node.devices.gpus.push_back(WholeInventory("m", 1, "A100-40GB").devices.gpus[0]);
  EXPECT_FALSE(ExpectCharge(node.devices, {.whole_gpus = 1}).is_at_most);
}

}  // namespace
}  // namespace offcut::scheduler
