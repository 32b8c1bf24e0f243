#include "scheduler/simulation.h"

#include <array>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/arrival_curve.h"
#include "scheduler/demand.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::PodFromText;
using ::offcut::testing::SharedInventory;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;
using ::testing::ElementsAre;

TEST(SimulationTest, PlacesPodsOneByOneAndGivesUpOnesThatFitNowhere) {
  Policy policy;
  policy.packing = binpack::PreparePacking("best-fit");
  Simulation simulation(SnapshotOf({WholeInventory("a", 2), WholeInventory("b", 1)}), policy);
  EXPECT_EQ(simulation.Arrive(PodFromText("p nvidia.com/gpu=1")), "b");  // least is left there
  EXPECT_EQ(simulation.Arrive(PodFromText("q nvidia.com/gpu=2")), "a");
  EXPECT_EQ(simulation.Arrive(PodFromText("r nvidia.com/gpu=1")), "");
  EXPECT_EQ(simulation.totals().used_units, 3 * 1400);
  EXPECT_EQ(simulation.totals().capacity_units, 3 * 1400);
  simulation.Depart("uid-q");
  EXPECT_EQ(simulation.totals().used_units, 1400);
  EXPECT_EQ(simulation.totals().free_units, 2 * 1400);
  EXPECT_EQ(simulation.Arrive(PodFromText("s nvidia.com/gpu=1")), "a");
}

std::vector<Inventory> NodesOfEveryKind() {
  Inventory fractions{.name = "f", .agent = "hami", .serves_fractions = true};
  fractions.devices = testing::FractionNode(1'000, {{}, {}, {}});
  return {WholeInventory("a", 4), fractions,
          SharedInventory("s", binpack::Sharing::kTimeSlicing, 2, 4),
          testing::PoolInventory("m", "A100-40GB", {{"1g.5gb", 7, 0}, {"3g.20gb", 2, 0}})};
}

Pod RandomPod(std::mt19937& random, int number) {
  constexpr std::array requests = {"nvidia.com/gpu=1", "nvidia.com/gpu=3", "cpu=900",
                                   "nvidia.com/mig-1g.5gb=2", "nvidia.com/mig-3g.20gb=1"};
  const std::string name = "p" + std::to_string(number);
  if (random() % 3 != 0) {
    return PodFromText(name + " " + requests[random() % requests.size()]);  // NOLINT
  }
  Pod pod = PodFromText(name);
  const int percent = 10 + static_cast<int>(random() % 90);
  pod.containers.front().fraction =
      binpack::Fraction{.gpus = 1, .memory_percent = percent, .cores_percent = percent};
  pod.request = EffectiveRequest(pod.containers, {});
  return pod;
}

// Nothing leaks: whoever came and left in whatever order, the nodes are at last as at first.
TEST(SimulationTest, IsEmptyAgainOnceEverybodyHasLeft) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const Policy policy;
    const Snapshot start = SnapshotOf(NodesOfEveryKind());
    Simulation simulation(start, policy);
    const ClusterTotals before = simulation.totals();
    std::vector<std::string> there;
    int placed = 0;
    const auto leave = [&] {
      const std::size_t i = random() % there.size();
      simulation.Depart(there[i]);
      there.erase(there.begin() + static_cast<std::ptrdiff_t>(i));
    };
    for (int i = 0; i < 100; ++i) {
      const Pod pod = RandomPod(random, i);
      if (!simulation.Arrive(pod).empty()) {
        ++placed;
        there.push_back(pod.uid);
      }
      if (!there.empty() && random() % 2 == 0) leave();
    }
    EXPECT_GT(placed, 30);
    while (!there.empty()) leave();
    EXPECT_EQ(simulation.totals(), before);
    EXPECT_EQ(simulation.snapshot().pod_count(), 0U);
    for (std::size_t i = 0; i < start.nodes().size(); ++i) {
      const Node& node = *simulation.snapshot().nodes()[i];
      EXPECT_EQ(node.state, start.nodes()[i]->state);
      EXPECT_EQ(node.compact, start.nodes()[i]->compact);
      EXPECT_TRUE(node.holders.empty());
    }
  }
}

// 4200 of 5600 units in use, and half of the 1400 that are free is fragmented: two requests make
// the workload, of which one cannot use it.
TEST(SimulationTest, TellsTotalsInPercent) {
  const ClusterTotals totals{.capacity_units = 5'600,
                             .used_units = 4'200,
                             .free_units = 1'400,
                             .weighted_fragments = 1'400};
  const CurvePoint point = PointOf(totals, 2);
  EXPECT_DOUBLE_EQ(point.allocated_percent, 75);
  EXPECT_DOUBLE_EQ(point.fragmentation_percent, 12.5);
  EXPECT_DOUBLE_EQ(point.fragmentation_rate_percent, 50);
  EXPECT_DOUBLE_EQ(PointOf({}, 0).fragmentation_rate_percent, 0);
}

TEST(DemandTest, NamesTheClassOfARequest) {
  using binpack::DemandKind;
  const auto name_of = [](binpack::ExpectedRequest request) {
    return ClassNameOf({.request = std::move(request)});
  };
  EXPECT_EQ(name_of({}), "no GPU");
  EXPECT_EQ(name_of({.kind = DemandKind::kShare, .gpus = 1, .share_units = 700}), "share");
  EXPECT_EQ(name_of({.kind = DemandKind::kShare, .gpus = 1, .share_units = 1400}), "1 GPU");
  EXPECT_EQ(name_of({.kind = DemandKind::kShare, .gpus = 8, .share_units = 1400}), "8 GPUs");
  EXPECT_EQ(name_of({.kind = DemandKind::kSlot, .gpus = 2}), "2 slots");
  EXPECT_EQ(name_of({.kind = DemandKind::kInstance, .gpus = 1, .profile = "1g.5gb"}), "1 x 1g.5gb");
}

TEST(DemandTest, SaysWhatARequestMeansOnTheFirstNodeThatCouldHoldIt) {
  const Snapshot snapshot =
      SnapshotOf({WholeInventory("b-two", 2), WholeInventory("c-eight", 8),
                  SharedInventory("d-slots", binpack::Sharing::kTimeSlicing, 9, 4)});
  const Demand four = DemandOf(snapshot, PodFromText("p nvidia.com/gpu=4 cpu=500"));
  EXPECT_EQ(four.units, 4 * 1400);
  EXPECT_EQ(
      four.request,
      (binpack::ExpectedRequest{
          .cpu_milli = 500, .kind = binpack::DemandKind::kShare, .gpus = 4, .share_units = 1400}));
  const Demand ten = DemandOf(snapshot, PodFromText("p nvidia.com/gpu=10"));
  EXPECT_EQ(ten.request.kind, binpack::DemandKind::kSlot);
  EXPECT_EQ(ten.units, 10 * 350);
  const Demand none = DemandOf(snapshot, PodFromText("p nvidia.com/gpu=99"));
  EXPECT_EQ(none.units, 0);
  EXPECT_EQ(ClassNameOf(none), "unplaceable");
  EXPECT_EQ(DemandOf(snapshot, PodFromText("p cpu=7")).request,
            (binpack::ExpectedRequest{.cpu_milli = 7}));
}

// Capacity 1000. Arrived 495 and 505 are 49.5 % and 50.5 %: half to even gives 50 for both; 515
// is 52. Allocated 40.00 and 41.00 % have the mean 40.5.
TEST(ArrivalCurveTest, TakesTheMeanOfTheRecordsOfAPercentage) {
  ArrivalCurve curve;
  curve.Add({.arrived_units = 495, .used_units = 400, .capacity_units = 1000});
  curve.Add({.arrived_units = 505,
             .used_units = 410,
             .capacity_units = 1000,
             .fragmented_units = 59,
             .free_units = 590});
  curve.Add({.arrived_units = 515, .used_units = 500, .capacity_units = 1000});
  EXPECT_THAT(curve.Percentages(), ElementsAre(50, 52));
  EXPECT_DOUBLE_EQ(curve.At(50)->allocated_percent, 40.5);
  EXPECT_DOUBLE_EQ(curve.At(50)->fragmentation_percent, 2.95);
  EXPECT_DOUBLE_EQ(curve.At(50)->fragmentation_rate_percent, 5);
}

// (40.5 x 2 + 50) / 3
TEST(ArrivalCurveTest, TakesAnEmptyPercentageFromItsNeighbours) {
  ArrivalCurve curve;
  curve.Add({.arrived_units = 495, .used_units = 400, .capacity_units = 1000});
  curve.Add({.arrived_units = 505, .used_units = 410, .capacity_units = 1000});
  curve.Add({.arrived_units = 515, .used_units = 500, .capacity_units = 1000});
  EXPECT_NEAR(curve.At(51)->allocated_percent, 131.0 / 3, 1e-9);
  EXPECT_EQ(curve.At(54), std::nullopt);
}

}  // namespace
}  // namespace offcut::scheduler
