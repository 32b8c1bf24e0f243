#include "api/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using ::offcut::testing::PodFromText;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

class LoggingTest : public ::testing::Test {
 protected:
  void TearDown() override { SetUpLogging(LogFormat::kText, 0); }

  // What `act` logs.
  static std::string Logged(LogFormat format, int verbosity, const std::function<void()>& act) {
    CaptureStderr();
    SetUpLogging(format, verbosity);
    act();
    spdlog::default_logger()->flush();
    return GetCapturedStderr();
  }
};

TEST_F(LoggingTest, WritesOneLineADecisionWithRefusalsByCode) {
  const std::vector<scheduler::Verdict> verdicts = {{scheduler::Reason::kFits},
                                                    {scheduler::Reason::kGpusTaken},
                                                    {scheduler::Reason::kNodeUnknown},
                                                    {scheduler::Reason::kGpusTaken}};
  EXPECT_THAT(
      Logged(LogFormat::kText, 2, [&] { LogFilter(PodFromText("p namespace=team-a"), verdicts); }),
      EndsWith(" I filter team-a/p: 1 of 4 nodes fit; 1 node.unknown, 2 gpus.taken\n"));
}

TEST_F(LoggingTest, LetsNoNameForgeALine) {
  const auto act = [] { LogBind("a", "p\n2026 E forged \"\x1b[31m", "n", "bound"); };
  EXPECT_THAT(Logged(LogFormat::kText, 2, act),
              HasSubstr("bind a/p?2026 E forged \"?[31m to n: bound\n"));
  const auto line = nlohmann::json::parse(Logged(LogFormat::kJson, 2, act));
  EXPECT_EQ(line["msg"], "bind a/p\n2026 E forged \"\x1b[31m to n: bound");
  EXPECT_EQ(line["level"], "info");
}

TEST_F(LoggingTest, IsSilentAboutDecisionsAtVerbosityZero) {
  EXPECT_EQ(Logged(LogFormat::kText, 0, [] { LogBind("a", "p", "n", "bound"); }), "");
}

}  // namespace
}  // namespace offcut::api
