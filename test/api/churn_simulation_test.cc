#include "api/churn_simulation.h"

#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "test/testing/temporary_folder.h"

namespace offcut::api {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kTwoGpus = "sn,cpu_milli,memory_mib,gpu,model\nn-0,10000,1024,2,T4\n";
constexpr const char* kColumns =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time,"
    "scheduled_time\n";
// One whole GPU for 100 seconds: from when it was scheduled, not from when it was created.
constexpr const char* kWholeGpu = "a,1000,1,1,1000,,0,150,50\n";

class ChurnTest : public ::testing::Test {
 protected:
  SimulateSettings Settings(const std::string& pods, double load) {
    SimulateSettings settings;
    settings.files.nodes = folder_.Write("nodes.csv", kTwoGpus);
    settings.files.pods = folder_.Write("pods.csv", kColumns + pods);
    settings.output = "json";
    settings.churn = {.load = load};
    return settings;
  }

  ChurnReport Run(const SimulateSettings& settings) {
    const auto input = ReadSimulationInput(settings.files, [](std::string_view) {});
    EXPECT_TRUE(input.has_value());
    auto report = RunChurn(*input, settings, [](std::size_t, std::size_t) {});
    EXPECT_TRUE(report.has_value());
    return *std::move(report);
  }

  std::string ErrorOf(const SimulateSettings& settings) {
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(Simulate(settings, out, err), 1);
    return err.str();
  }

  std::string OutputOf(const SimulateSettings& settings) {
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(Simulate(settings, out, err), 0) << err.str();
    return out.str();
  }

  TemporaryFolder folder_;
};

double AcceptedPercent(const scheduler::Period& period) {
  return 100.0 * static_cast<double>(period.arrived - period.failed) /
         static_cast<double>(period.arrived);
}

// Two GPUs at load 0.5 are asked for by one pod a mean life. Erlang's formula for two servers that
// are offered 1: B = (1/2) / (1 + 1 + 1/2) = 0.2, whatever the lives are like, so 80 % are
// accepted; and of the two GPUs 1 x 0.8 is in use on average, 40 %. 1,000 lives have about 1,000
// arrivals; refusals come in bunches, so the deviation allowed is wide: 4 points.
TEST_F(ChurnTest, LosesWhatErlangSaysWhetherLivesAreEqualOrExponential) {
  for (const char* lives : {"trace", "exponential"}) {
    SimulateSettings settings = Settings(kWholeGpu, 0.5);
    settings.churn->duration = 1'000;
    settings.churn->lives = lives;
    const ChurnReport report = Run(settings);
    EXPECT_EQ(report.lives, lives);
    EXPECT_NEAR(static_cast<double>(report.counted.arrived), 1'000, 95);
    EXPECT_NEAR(AcceptedPercent(report.counted), 80, 4) << lives;
    EXPECT_NEAR(report.counted.Mean().allocated_percent, 40, 3) << lives;
  }
}

// The mean of what ran is 100 s, and says nothing about a pod that was never scheduled.
TEST_F(ChurnTest, TakesLivesFromTheTraceWhereItHasThem) {
  const ChurnReport some = Run(Settings(std::string(kWholeGpu) + "b,0,1,1,500,,0,150,\n", 1));
  EXPECT_EQ(some.lives, "mixed");
  EXPECT_EQ(some.mean_life_s, 100);
  const ChurnReport none = Run(Settings("b,0,1,1,500,,0,150,\n", 1));
  EXPECT_EQ(none.lives, "exponential");
  EXPECT_EQ(none.mean_life_s, std::nullopt);
}

// Pods of no GPU and of half of one, in turn: their classes differ by one at most. The order is
// the file's.
TEST_F(ChurnTest, LetsPodsComeInTheOrderOfTheFile) {
  SimulateSettings settings = Settings("a,1,1,0,0,,0,,\nb,1,1,1,500,,0,,\n", 1);
  settings.files.order = folder_.Write("order.txt", "1\n0\n0\n");
  settings.churn->duration = 100;
  const ChurnReport report = Run(settings);
  const std::int64_t of_none = report.classes.at("no GPU").arrived;
  const std::int64_t shares = report.classes.at("share").arrived;
  EXPECT_NEAR(static_cast<double>(of_none), static_cast<double>(2 * shares), 2);
}

// What is counted: load 0.5 of 2 GPUs by halves is 2 pods a mean life; at the start 2 are there.
TEST_F(ChurnTest, CountsAfterTheWarmUpAlone) {
  SimulateSettings settings = Settings("b,1,1,1,500,,0,,\n", 0.5);
  settings.churn->warm_up = 3;
  settings.churn->duration = 1;
  const ChurnReport report = Run(settings);
  EXPECT_EQ(report.there_at_start, 2);
  EXPECT_EQ(report.refused_at_start, 0);
  ASSERT_EQ(report.curve.periods().size(), 40U);
  EXPECT_EQ(report.counted.arrived, report.curve.SumFrom(30).arrived);
  EXPECT_DOUBLE_EQ(report.counted.length, 100);
  EXPECT_EQ(report.classes.at("share").arrived, report.counted.arrived);
  EXPECT_GT(report.curve.SumFrom(0).arrived, report.counted.arrived);
}

// Pods that ask for nothing that these nodes have are no load, but are refused, every one.
TEST_F(ChurnTest, RefusesAtOnceWhoFitsNowhere) {
  SimulateSettings settings = Settings("a,1,1,8,1000,,0,,\nb,1,1,1,10,,0,,\n", 0.01);
  settings.churn->duration = 100;
  const ChurnReport report = Run(settings);
  const ClassCounts& lost = report.classes.at("unplaceable");
  EXPECT_GT(lost.arrived, 0);
  EXPECT_EQ(lost.failed, lost.arrived);
  EXPECT_EQ(report.classes.at("share").failed, 0);
}

TEST_F(ChurnTest, EqualSeedsGiveEqualRunsAndEveryStrategyMeetsTheSamePods) {
  SimulateSettings settings = Settings(std::string(kWholeGpu) + "b,1,1,1,500,,0,40,10\n", 1.2);
  settings.churn->duration = 20;
  const ChurnReport report = Run(settings);
  EXPECT_EQ(Run(settings).classes, report.classes);
  settings.strategy = "random";
  const ChurnReport other = Run(settings);
  EXPECT_EQ(other.counted.arrived, report.counted.arrived);
  EXPECT_EQ(other.counted.arrived_units, report.counted.arrived_units);
  settings.seed = 43;
  EXPECT_NE(Run(settings).counted.arrived_units, report.counted.arrived_units);
}

// Load 100 fills any cluster: of 2 GPUs all are in use, up to the time from one pod to the next.
TEST_F(ChurnTest, PrintsEverythingAsJson) {
  SimulateSettings settings = Settings(kWholeGpu, 100);
  const auto report = nlohmann::json::parse(OutputOf(settings));
  EXPECT_EQ(report["strategy"], "best-fit");
  EXPECT_EQ(report["load"], 100.0);
  EXPECT_EQ(report["lives"], "trace");
  EXPECT_EQ(report["mean_life_s"], 100.0);
  EXPECT_EQ(report["there_at_start"], 200);
  EXPECT_EQ(report["refused_at_start"], 198);
  EXPECT_EQ(report["gpus"], 2.0);
  EXPECT_GT(report["allocated_percent"], 95.0);
  EXPECT_EQ(report["arrived_by_class"]["1 GPU"], report["arrived"]);
  EXPECT_EQ(report["failed_by_class"]["1 GPU"], report["failed_pods"]);
  EXPECT_EQ(report["at"].size(), 30U);
  EXPECT_GT(report["at"]["300"]["allocated_percent"], 90.0);
  EXPECT_EQ(report["accepted_percent"], report["accepted_gpus_percent"]);
}

TEST_F(ChurnTest, PrintsTheCurveAsCsvAndEverythingAsATable) {
  SimulateSettings settings = Settings(kWholeGpu, 0.5);
  settings.output = "csv";
  EXPECT_THAT(OutputOf(settings), HasSubstr("fragmentation_rate_percent\nbest-fit,42,0.5,10,"));
  settings.output = "table";
  EXPECT_THAT(OutputOf(settings),
              StartsWith("strategy      best-fit, ties strict, seed 42\n"
                         "load          0.5 of 2 GPUs, 2 mean lives after a warm-up of 1\n"
                         "lives         trace, 100 s on average\n"));
}

TEST_F(ChurnTest, TellsWhatMakesNoLoad) {
  EXPECT_EQ(ErrorOf(Settings("a,1,1,0,0,,0,,\n", 1)),
            "offcut: --load: no pod would hold a GPU of these nodes for any time\n");
  SimulateSettings settings = Settings("a,1,1,1,1,,0,,\n", 100);
  settings.churn->duration = 1'000;
  EXPECT_THAT(ErrorOf(settings), HasSubstr("10000000 is the most"));
}

}  // namespace
}  // namespace offcut::api
