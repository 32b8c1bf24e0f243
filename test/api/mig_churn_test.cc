#include "api/mig_churn.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/mig_mix.h"

namespace offcut::api {
namespace {

MigChurn Churn(const std::string& model, const std::string& mix, int load_permille, int gpus,
               int arrivals) {
  const binpack::GpuModel* found = binpack::FindModel(model);
  return {.model = found,
          .weights = *ParseMigMix(mix, *found),
          .gpus = gpus,
          .load_permille = load_permille,
          .arrivals = arrivals};
}

MigChurnCounts CountsOf(const MigChurn& churn, const std::string& strategy) {
  const auto layouts = binpack::BuildMigLayouts(*churn.model, binpack::AllProfiles(*churn.model));
  const auto made = binpack::MakeMigStrategy(strategy, layouts, churn.weights);
  return RunMigChurn(churn, DrawArrivals(churn), layouts, *made);
}

TEST(MigChurnTest, EqualSeedsGiveEqualRuns) {
  MigChurn churn = Churn("A30-24GB", "uniform", 1000, 10, 500);
  EXPECT_EQ(DrawArrivals(churn), DrawArrivals(churn));
  EXPECT_EQ(CountsOf(churn, "offcut"), CountsOf(churn, "offcut"));
  const std::vector<MigArrival> before = DrawArrivals(churn);
  churn.seed = 2;
  EXPECT_NE(DrawArrivals(churn), before);
}

TEST(MigChurnTest, LeavesTheFirstQuarterOut) {
  const MigChurnCounts counts = CountsOf(Churn("A30-24GB", "4g.24gb=1", 1000, 4, 400), "mfi");
  EXPECT_EQ(counts.arrived.back(), 300);
}

// Load is slices by mean life: 2 GPUs of 4 slices at 0.5 are asked for 4 slices a life, which is
// one 4g. 100,000 of them take 100,000 lives, give or take 3 * sqrt(100,000) = 949.
TEST(DrawArrivalsTest, SpreadsTheLoadOverSlices) {
  const auto arrivals = DrawArrivals(Churn("A30-24GB", "4g.24gb=1", 500, 2, 100'000));
  EXPECT_NEAR(arrivals.back().at, 100'000, 949);
  double lives = 0;
  for (const MigArrival& pod : arrivals) lives += pod.life;
  EXPECT_NEAR(lives, 100'000, 949);
}

// Erlang's formula for 2 servers that are offered 1: B = (1/2) / (1 + 1 + 1/2) = 0.2. A 4g takes a
// whole A30, so every strategy loses 20 % of the pods. Of 75,000 that is 15,000; batches of losses
// are correlated over a few lives, so the deviation allowed is wide: one point.
TEST(MigChurnTest, LosesWhatErlangSaysWhereAPodTakesAGpu) {
  const MigChurn churn = Churn("A30-24GB", "4g.24gb=1", 500, 2, 100'000);
  EXPECT_NEAR(AcceptedPercent(CountsOf(churn, "mig-first-fit")), 80.0, 1.0);
  EXPECT_EQ(CountsOf(churn, "mig-first-fit"), CountsOf(churn, "offcut"));
}

// Lives are too short to meet: whatever the strategy, nothing is lost.
TEST(MigChurnTest, LosesNothingInAnEmptyCluster) {
  EXPECT_EQ(AcceptedPercent(CountsOf(Churn("A100-40GB", "uniform", 1, 100, 1000), "mig-first-fit")),
            100.0);
}

// Seeds and constants are fixed, so this is what the strategy is for and no matter of luck.
TEST(MigChurnTest, OffcutAcceptsMoreThanFirstFit) {
  const MigChurn churn = Churn("A100-40GB", "uniform", 1000, 40, 4000);
  EXPECT_GT(AcceptedPercent(CountsOf(churn, "offcut")),
            AcceptedPercent(CountsOf(churn, "mig-first-fit")));
}

// 1g of 1 slice and 4g of 4 slices, one of two accepted each: 2 of 4 pods, 5 of 10 slices; with
// both 1g and no 4g: 2 of 4 pods, 2 of 10 slices.
TEST(AcceptedPercentTest, CountsPodsOrSlices) {
  const binpack::GpuModel& model = *binpack::FindModel("A30-24GB");
  const auto first = static_cast<std::size_t>(*model.FindProfile("1g.6gb"));
  const auto last = static_cast<std::size_t>(*model.FindProfile("4g.24gb"));
  MigChurnCounts counts{.arrived = std::vector<std::int64_t>(model.profiles.size()),
                        .accepted = std::vector<std::int64_t>(model.profiles.size())};
  EXPECT_EQ(AcceptedPercent(counts), 100.0);
  counts.arrived[first] = counts.arrived[last] = 2;
  counts.accepted[first] = counts.accepted[last] = 1;
  EXPECT_EQ(AcceptedPercent(counts), 50.0);
  EXPECT_EQ(AcceptedSlicesPercent(counts, model), 50.0);
  counts.accepted[first] = 2;
  counts.accepted[last] = 0;
  EXPECT_EQ(AcceptedPercent(counts), 50.0);
  EXPECT_EQ(AcceptedSlicesPercent(counts, model), 20.0);
}

}  // namespace
}  // namespace offcut::api
