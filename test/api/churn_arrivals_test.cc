#include "api/churn_arrivals.h"

#include <cstddef>
#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace offcut::api {
namespace {

// Lives of 10, 30 and 20: the mean is 20, so 0.5, 1.5 and 1 mean lives.
std::vector<ChurnRow> ThreeRows() {
  return {{.units = 1400, .life = 10}, {.units = 700, .life = 30}, {.units = 0, .life = 20}};
}

// A row holds (1400 x 0.5 + 700 x 1.5 + 0 x 1) / 3 = 1750 / 3 units for a mean life. 10 GPUs of
// 1400 at load 0.5 are 7000 units: 7000 x 3 / 1750 = 12 pods in a mean life.
TEST(ChurnArrivalsTest, ArrivesAsOftenAsTheLoadAsks) {
  EXPECT_DOUBLE_EQ(*MeanLife(ThreeRows()), 20);
  EXPECT_DOUBLE_EQ(ArrivalRate(ThreeRows(), 0.5, 14'000), 12);
  EXPECT_DOUBLE_EQ(ArrivalRate(ThreeRows(), 1.0, 14'000), 24);
}

// The row without a life counts as one of the mean, 20: (1400 x 0.5 + 700 x 1.5 + 1400) / 3.
TEST(ChurnArrivalsTest, TakesTheMeanForALifeThatIsNotKnown) {
  std::vector<ChurnRow> rows = ThreeRows();
  rows[2] = {.units = 1400, .life = {}};
  EXPECT_DOUBLE_EQ(*MeanLife(rows), 20);
  EXPECT_DOUBLE_EQ(ArrivalRate(rows, 1.0, 3150), 3);
  for (ChurnRow& row : rows) row.life.reset();
  EXPECT_EQ(MeanLife(rows), std::nullopt);
  EXPECT_DOUBLE_EQ(ArrivalRate(rows, 1.0, 3500), 3);  // each for one mean life: 3500 / 3 units
}

TEST(ChurnArrivalsTest, HasNoRateWhereNobodyHoldsAGpuForAnyTime) {
  EXPECT_EQ(ArrivalRate({}, 1, 1400), 0);
  EXPECT_EQ(ArrivalRate(std::vector<ChurnRow>{{.units = 0, .life = 5}}, 1, 1400), 0);
  EXPECT_EQ(ArrivalRate(std::vector<ChurnRow>{{.units = 1400, .life = 0}}, 1, 1400), 0);
}

TEST(ChurnArrivalsTest, EqualSeedsGiveEqualArrivals) {
  const Churn churn{.duration = 50, .seed = 7};
  const auto arrivals = DrawChurn(ThreeRows(), 14'000, churn);
  EXPECT_EQ(DrawChurn(ThreeRows(), 14'000, churn), arrivals);
  EXPECT_NE(DrawChurn(ThreeRows(), 14'000, {.duration = 50, .seed = 8}), arrivals);
}

// 24 are there at the start. In 1,000 mean lives come 24,000 more, give or take 3 x 155.
TEST(ChurnArrivalsTest, ComesInTheOrderOfTime) {
  const auto arrivals = DrawChurn(ThreeRows(), 14'000, {.duration = 1'000, .seed = 1});
  EXPECT_NEAR(static_cast<double>(arrivals.size()), 24'024, 465);
  double before = 0;
  std::size_t at_start = 0;
  for (const ChurnArrival& arrival : arrivals) {
    EXPECT_GE(arrival.at, before);
    EXPECT_LT(arrival.at, 1'000);
    before = arrival.at;
    if (arrival.at == 0) ++at_start;
  }
  EXPECT_EQ(at_start, 24U);
}

// Who is there at the start is met in proportion to the lives: 0.5 : 1.5 : 1 of 24,000, that is
// 4,000, 12,000 and 8,000, give or take 3 x 77; and half of each life is left on average. Those
// that come later have all of it, and are as many of each.
TEST(ChurnArrivalsTest, StartsAsItWouldBeAfterALongTime) {
  const auto arrivals = DrawChurn(ThreeRows(), 14'000'000, {.duration = 1, .seed = 3});
  const std::vector<double> lives = {0.5, 1.5, 1};
  std::map<std::size_t, int> there;
  std::map<std::size_t, int> later;
  double left = 0;
  for (const ChurnArrival& arrival : arrivals) {
    if (arrival.at == 0) {
      ++there[arrival.row];
      left += arrival.leaves_at / lives[arrival.row];
    } else {
      ++later[arrival.row];
      EXPECT_DOUBLE_EQ(arrival.leaves_at, arrival.at + lives[arrival.row]);
    }
  }
  EXPECT_NEAR(there[0], 4'000, 231);
  EXPECT_NEAR(there[1], 12'000, 231);
  EXPECT_NEAR(there[2], 8'000, 231);
  EXPECT_NEAR(left / 24'000, 0.5, 0.006);
  for (const std::size_t row : {0U, 1U, 2U}) EXPECT_NEAR(later[row], 8'000, 231);
}

TEST(ChurnArrivalsTest, TakesRowsAsListedAndAgainFromTheFirst) {
  const auto arrivals =
      DrawChurn(ThreeRows(), 14'000, {.duration = 10, .is_in_order = true, .seed = 1});
  std::size_t next = 0;
  for (const ChurnArrival& arrival : arrivals) {
    if (arrival.at == 0) continue;
    EXPECT_EQ(arrival.row, next++ % 3);
  }
  EXPECT_GT(next, 3U);
}

// Exponential lives have mean 1, at the start too: of 24,000, give or take 3 / sqrt(24,000).
TEST(ChurnArrivalsTest, DrawsLivesThatAreNotKnown) {
  std::vector<ChurnRow> rows = {{.units = 1400, .life = {}}};
  double left = 0;
  double later = 0;
  int count = 0;
  for (const ChurnArrival& arrival : DrawChurn(rows, 24'000 * 1400, {.duration = 1, .seed = 5})) {
    if (arrival.at == 0) {
      left += arrival.leaves_at;
    } else {
      later += arrival.leaves_at - arrival.at;
      ++count;
    }
  }
  EXPECT_NEAR(left / 24'000, 1, 0.02);
  EXPECT_NEAR(later / count, 1, 0.02);
}

}  // namespace
}  // namespace offcut::api
