#include "scheduler/packing.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::PodFromText;
using ::offcut::testing::PoolInventory;
using ::offcut::testing::SharedInventory;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

using binpack::DemandKind;
using binpack::ExpectedRequest;
using binpack::WorkloadClass;

ExpectedRequest Whole(int gpus, std::int64_t cpu_milli = 0) {
  return {.cpu_milli = cpu_milli,
          .kind = DemandKind::kShare,
          .gpus = gpus,
          .share_units = binpack::kGpuUnits};
}

// "w nvidia.com/gpu=1": w0, w1 and so on.
std::vector<Pod> Pods(int count, const std::string& text) {
  std::vector<Pod> pods;
  for (int i = 0; i < count; ++i) {
    pods.push_back(PodFromText(text.substr(0, 1) + std::to_string(i) + text.substr(1)));
  }
  return pods;
}

// A cluster of which nothing is known but its nodes: a GPU, all GPUs of a node, a slot, and an
// instance of each profile.
TEST(PackingTest, ExpectsOfAnEmptyClusterOneOfEachKindThatItServes) {
  const Snapshot snapshot = SnapshotOf({WholeInventory("a", 8), WholeInventory("b", 8),
                                        SharedInventory("c", binpack::Sharing::kMps, 2, 4),
                                        PoolInventory("d", "A100-40GB", {{"3g.20gb", 2, 0}})});
  const ExpectedRequest slot{.kind = DemandKind::kSlot, .gpus = 1, .share_units = 350};
  const ExpectedRequest instance{
      .kind = DemandKind::kInstance, .gpus = 1, .share_units = 700, .profile = "3g.20gb"};
  EXPECT_THAT(DeriveOutlook(snapshot).workload.classes,
              UnorderedElementsAre(WorkloadClass{Whole(1), 1}, WorkloadClass{Whole(8), 1},
                                   WorkloadClass{slot, 1}, WorkloadClass{instance, 1}));
}

TEST(PackingTest, ExpectsNothingWhereNoNodeHasDevices) {
  EXPECT_THAT(DeriveOutlook(SnapshotOf({}, {PodFromText("p nvidia.com/gpu=1")})).workload.classes,
              IsEmpty());
}

// 5 wait and 6 run: 11 of one class, 1011 in bits, rounded down to 1010. A pod without devices does
// not count.
TEST(PackingTest, CountsPodsThatRunAndWaitOnACoarseScale) {
  std::vector<Pod> pods = Pods(5, "w nvidia.com/gpu=1 cpu=500");
  for (Pod& pod : Pods(6, "r nvidia.com/gpu=1 cpu=500 node=a")) pods.push_back(std::move(pod));
  pods.push_back(PodFromText("host cpu=500 node=a"));
  EXPECT_THAT(DeriveOutlook(SnapshotOf({WholeInventory("a", 8)}, pods)).workload.classes,
              UnorderedElementsAre(WorkloadClass{Whole(1, 500), 10}, WorkloadClass{Whole(1), 1},
                                   WorkloadClass{Whole(8), 1}));
}

// Where it runs on slots, `nvidia.com/gpu` is a slot; waiting it is what the first node by name
// would give it.
TEST(PackingTest, TakesAPodForWhatItHasBeenGiven) {
  const Snapshot snapshot = SnapshotOf(
      {WholeInventory("a", 1), SharedInventory("b", binpack::Sharing::kTimeSlicing, 1, 4)},
      {PodFromText("r nvidia.com/gpu=1 cpu=1 node=b"),
       PodFromText("w nvidia.com/gpu=1 cpu=1 priority=3")});
  const ExpectedRequest slot{
      .cpu_milli = 1, .kind = DemandKind::kSlot, .gpus = 1, .share_units = 350};
  const auto workload = DeriveOutlook(snapshot).workload;
  EXPECT_THAT(workload.classes, Contains(WorkloadClass{slot, 1}));
  EXPECT_THAT(workload.classes, Contains(WorkloadClass{Whole(1, 1), 1}));
}

TEST(PackingTest, LeavesOutWhatNoNodeCouldHold) {
  const Snapshot snapshot =
      SnapshotOf({WholeInventory("a", 2)}, {PodFromText("w nvidia.com/gpu=3")});
  EXPECT_THAT(DeriveOutlook(snapshot).workload.classes, SizeIs(2));
}

// Nodes and pods in any order, and a state that was reached by other ways.
TEST(PackingTest, DependsOnTheStateAloneAndNotOnHowItCameAbout) {
  std::mt19937 random(5);
  std::vector<Pod> pods = Pods(20, "w nvidia.com/gpu=1 cpu=500");
  for (Pod& pod : Pods(7, "x nvidia.com/gpu=2 node=b")) pods.push_back(std::move(pod));
  const auto expected = DeriveOutlook(
      SnapshotOf({WholeInventory("a", 8), WholeInventory("b", 16, "A30-24GB")}, pods));
  for (int i = 0; i < 20; ++i) {
    std::ranges::shuffle(pods, random);
    Snapshot snapshot;
    for (int p = 0; const Pod& pod : pods) {
      if (p++ == 3) snapshot.PutNode(WholeInventory("b", 16, "A30-24GB"));
      snapshot.PutPod(pod);
      if (random() % 4 == 0) snapshot.PutPod(PodFromText("gone nvidia.com/gpu=8 cpu=9 node=b"));
    }
    snapshot.PutNode(WholeInventory("a", 8));
    snapshot.RemovePod("uid-gone");
    const auto outlook = DeriveOutlook(snapshot);
    EXPECT_EQ(outlook.workload, expected.workload);
    ASSERT_EQ(outlook.capacities.size(), expected.capacities.size());
    for (std::size_t c = 0; c < outlook.capacities.size(); ++c) {
      EXPECT_EQ(outlook.capacities[c].count, expected.capacities[c].count);
      EXPECT_TRUE(binpack::IsOneModel(outlook.capacities[c].gpu, expected.capacities[c].gpu));
    }
  }
}

// 8 pods and 9 are one workload; 16 are another. A node more of a hundred changes nothing either.
TEST(PackingTest, KeepsTheModelUntilTheWorkloadIsAnother) {
  std::vector<Inventory> nodes;
  for (int n = 0; n < 100; ++n) nodes.push_back(WholeInventory("n" + std::to_string(n), 8));
  Snapshot snapshot = SnapshotOf(std::move(nodes), Pods(8, "w nvidia.com/gpu=1"));
  const Policy policy;
  snapshot.SetPacking(RenewedPacking(snapshot, policy));
  ASSERT_NE(snapshot.packing(), nullptr);
  EXPECT_EQ(snapshot.packing()->strategy->name, "offcut");
  snapshot.PutPod(PodFromText("one-more nvidia.com/gpu=1"));
  snapshot.PutNode(WholeInventory("z", 8));
  EXPECT_EQ(RenewedPacking(snapshot, policy), snapshot.packing());
  for (Pod& pod : Pods(8, "v nvidia.com/gpu=1")) snapshot.PutPod(std::move(pod));
  const auto renewed = RenewedPacking(snapshot, policy);
  EXPECT_NE(renewed, snapshot.packing());
  EXPECT_NE(renewed->workload_hash, snapshot.packing()->workload_hash);
}

TEST(PackingTest, GoesByTheWorkloadThatThePolicyDeclares) {
  const Snapshot snapshot = SnapshotOf({WholeInventory("a", 8)}, Pods(8, "w nvidia.com/gpu=1"));
  Policy policy;
  policy.target_workload = binpack::TargetWorkload{{{Whole(4), 3}}};
  EXPECT_EQ(RenewedPacking(snapshot, policy)->workload, *policy.target_workload);
}

// 700 units are four of eight slices, 350 a quarter of a GPU.
TEST(PackingTest, LearnsFromTheNodesHowLargeDeclaredSlotsAndInstancesAre) {
  const Snapshot snapshot = SnapshotOf({PoolInventory("a", "A100-40GB", {{"3g.20gb", 2, 0}}),
                                        SharedInventory("b", binpack::Sharing::kMps, 1, 4)});
  const ExpectedRequest slot{.kind = DemandKind::kSlot, .gpus = 2};
  const ExpectedRequest instance{.kind = DemandKind::kInstance, .gpus = 1, .profile = "3g.20gb"};
  Policy policy;
  policy.target_workload = binpack::TargetWorkload{{{slot, 1}, {instance, 1}}};
  ExpectedRequest sized_slot = slot;
  sized_slot.share_units = 350;
  ExpectedRequest sized_instance = instance;
  sized_instance.share_units = 700;
  EXPECT_THAT(RenewedPacking(snapshot, policy)->workload.classes,
              UnorderedElementsAre(WorkloadClass{sized_slot, 1}, WorkloadClass{sized_instance, 1}));
}

TEST(PackingTest, HasNoModelOfItsOwnWhereTheStrategyReadsNoWorkload) {
  Policy policy;
  policy.packing = binpack::PreparePacking("best-fit");
  const Snapshot snapshot = SnapshotOf({WholeInventory("a", 8)});
  EXPECT_EQ(RenewedPacking(snapshot, policy), nullptr);
  EXPECT_EQ(PackingOf(snapshot, policy), policy.packing);
}

std::string PlaceOf(const Snapshot& snapshot, const std::string& pod) {
  const Policy policy;
  std::vector<std::string> names;
  for (const auto& node : snapshot.nodes()) names.push_back(node->name());
  const auto scores = Score(snapshot, PodFromText(pod), names, policy, Prefilter::kNone);
  const auto best = std::ranges::max_element(scores);
  return *best == 0 ? "" : names[static_cast<std::size_t>(best - scores.begin())];
}

// Pods fill a node before the next one is touched, and whole nodes stay whole.
TEST(PackingTest, PacksOnAFreshCluster) {
  Snapshot snapshot =
      SnapshotOf({WholeInventory("a", 8), WholeInventory("b", 8), WholeInventory("c", 8)},
                 {PodFromText("first nvidia.com/gpu=1 node=b")});
  snapshot.SetPacking(RenewedPacking(snapshot, Policy{}));
  EXPECT_EQ(PlaceOf(snapshot, "p nvidia.com/gpu=1"), "b");
  EXPECT_EQ(PlaceOf(snapshot, "p nvidia.com/gpu=4"), "b");
  EXPECT_EQ(PlaceOf(snapshot, "p nvidia.com/gpu=8"), "a");
}

}  // namespace
}  // namespace offcut::scheduler
