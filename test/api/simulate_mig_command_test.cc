#include "api/simulate_mig_command.h"

#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace offcut::api {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Mean 2, deviation 1 of three values: 4.303 / sqrt(3) = 2.484.
TEST(ConfidenceHalfWidthTest, IsStudentsForFewValues) {
  EXPECT_NEAR(ConfidenceHalfWidth({1, 2, 3}), 2.484, 0.001);
  EXPECT_EQ(ConfidenceHalfWidth({5, 5}), 0);
}

MigSimulationSettings Small() {
  return {.model = "A30-24GB",
          .gpus = 5,
          .strategies = {"offcut", "mig-first-fit"},
          .arrivals = 200,
          .runs = 2};
}

std::string Printed(const MigSimulationSettings& settings) {
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(SimulateMig(settings, out, err), 0) << err.str();
  EXPECT_EQ(err.str(), "");
  return out.str();
}

TEST(SimulateMigTest, ComparesEveryStrategyWithTheFirst) {
  MigSimulationSettings settings = Small();
  settings.output = "json";
  settings.loads = {0.5, 1.0};
  const auto document = nlohmann::json::parse(Printed(settings));
  EXPECT_EQ(document["model"], "A30-24GB");
  ASSERT_EQ(document["results"].size(), 4U);
  const auto& first = document["results"][0];
  EXPECT_EQ(first["strategy"], "offcut");
  EXPECT_EQ(first["difference_points"], 0.0);
  const auto& second = document["results"][1];
  EXPECT_EQ(second["strategy"], "mig-first-fit");
  EXPECT_NEAR(second["difference_points"].get<double>(),
              second["accepted_percent"].get<double>() - first["accepted_percent"].get<double>(),
              1e-9);
  EXPECT_EQ(second["accepted_percent_by_profile"].size(), 3U);
}

TEST(SimulateMigTest, PrintsATableOrCsv) {
  MigSimulationSettings settings = Small();
  EXPECT_THAT(Printed(settings), StartsWith("mix        load  strategy       accepted"));
  settings.output = "csv";
  EXPECT_THAT(Printed(settings), StartsWith("mix,load,strategy,accepted_percent,"));
  settings.runs = 1;  // no interval: an empty cell
  EXPECT_THAT(Printed(settings), HasSubstr("\"uniform\",1,offcut,"));
  EXPECT_THAT(Printed(settings), HasSubstr(",0.0000,,"));
}

// Loads count in thousandths.
TEST(SimulateMigTest, NamesTheLoadThatWasPlayed) {
  MigSimulationSettings settings = Small();
  settings.loads = {0.0014, 0.85};
  EXPECT_THAT(Printed(settings), HasSubstr("uniform   0.001  offcut"));
  EXPECT_THAT(Printed(settings), HasSubstr("uniform    0.85  offcut"));
}

TEST(SimulateMigTest, SaysWhichNameItDoesNotKnow) {
  const auto complaint = [](const MigSimulationSettings& settings) {
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(SimulateMig(settings, out, err), 1);
    EXPECT_EQ(out.str(), "");
    return err.str();
  };
  MigSimulationSettings settings = Small();
  settings.model = "A30-24";
  EXPECT_THAT(complaint(settings), HasSubstr("did you mean A30-24GB?"));
  settings = Small();
  settings.strategies = {"mif"};
  EXPECT_THAT(complaint(settings), HasSubstr("did you mean mfi?"));
  settings = Small();
  settings.mixes = {"even"};
  EXPECT_THAT(complaint(settings), HasSubstr("no mix even"));
}

}  // namespace
}  // namespace offcut::api
