#include "scheduler/simulation.h"

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
  const Policy policy;
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
  EXPECT_EQ(DemandOf(snapshot, PodFromText("p nvidia.com/gpu=99")).units, 0);
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
