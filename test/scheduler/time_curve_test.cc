#include "scheduler/time_curve.h"

#include <gtest/gtest.h>

namespace offcut::scheduler {
namespace {

// Periods of 10. Until 4 nothing, until 25 half of the cluster, until 30 all of it:
// (0 x 4 + 50 x 6) / 10 = 30; 50; (50 x 5 + 100 x 5) / 10 = 75.
TEST(TimeCurveTest, TakesTheMeanOverTheTimeOfAPeriod) {
  TimeCurve curve(10);
  curve.Pass(4, {});
  curve.Pass(25, {.allocated_percent = 50, .fragmentation_percent = 10});
  curve.Pass(30, {.allocated_percent = 100, .fragmentation_rate_percent = 20});
  ASSERT_EQ(curve.periods().size(), 3U);
  EXPECT_DOUBLE_EQ(curve.periods()[0].Mean().allocated_percent, 30);
  EXPECT_DOUBLE_EQ(curve.periods()[0].Mean().fragmentation_percent, 6);
  EXPECT_DOUBLE_EQ(curve.periods()[1].Mean().allocated_percent, 50);
  EXPECT_DOUBLE_EQ(curve.periods()[2].Mean().allocated_percent, 75);
  EXPECT_DOUBLE_EQ(curve.periods()[2].Mean().fragmentation_rate_percent, 10);
}

// From the second period on: 15 of time, (50 x 10 + 80 x 5) / 15 = 60.
TEST(TimeCurveTest, SumsPeriodsByTheirLength) {
  TimeCurve curve(10);
  curve.Pass(10, {.allocated_percent = 5});
  curve.Arrive(700, false);
  curve.Pass(20, {.allocated_percent = 50});
  curve.Pass(25, {.allocated_percent = 80});
  curve.Arrive(1400, true);
  curve.Arrive(2800, false);
  const Period sum = curve.SumFrom(1);
  EXPECT_DOUBLE_EQ(sum.length, 15);
  EXPECT_DOUBLE_EQ(sum.Mean().allocated_percent, 60);
  EXPECT_EQ(sum.arrived, 3);
  EXPECT_EQ(sum.failed, 2);
  EXPECT_EQ(sum.arrived_units, 4'900);
  EXPECT_EQ(sum.failed_units, 3'500);
}

TEST(TimeCurveTest, CountsWhoComesInThePeriodThatBegins) {
  TimeCurve curve(10);
  curve.Arrive(1, true);
  curve.Pass(10, {});
  curve.Arrive(2, false);
  EXPECT_EQ(curve.periods()[0].arrived_units, 1);
  EXPECT_EQ(curve.periods()[1].arrived_units, 2);
  EXPECT_EQ(curve.periods()[1].failed, 1);
  EXPECT_DOUBLE_EQ(curve.periods()[1].Mean().allocated_percent, 0);
}

TEST(TimeCurveTest, HasNothingFromBeyondItsEnd) { EXPECT_EQ(TimeCurve(10).SumFrom(3).arrived, 0); }

}  // namespace
}  // namespace offcut::scheduler
