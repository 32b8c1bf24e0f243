#include "api/logging.h"

#include <array>
#include <csignal>
#include <cstddef>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "test/api/extender_world.h"
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
  void TearDown() override { const BackgroundLog silent(LogFormat::kText, 0); }

  // What `act` logs.
  static std::string Logged(LogFormat format, int verbosity, const std::function<void()>& act) {
    CaptureStderr();
    {
      const BackgroundLog log(format, verbosity);
      act();
    }
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
              HasSubstr(R"(bind a/p\n2026 E forged "\u001b[31m to n: bound)"
                        "\n"));
  const auto line = nlohmann::json::parse(Logged(LogFormat::kJson, 2, act));
  EXPECT_EQ(line["msg"], "bind a/p\n2026 E forged \"\x1b[31m to n: bound");
  EXPECT_EQ(line["level"], "info");
}

TEST_F(LoggingTest, NamesThePodThatCannotBeRead) {
  const auto logged = [](std::string_view verb, const std::string& metadata) {
    const std::string body = R"({"NodeNames": ["n"], "Pod": {"metadata": )" + metadata +
                             R"(, "spec": {"containers": [{"name": "c", "resources": {
                                "limits": {"nvidia.com/gpu": "many"}}}]}}})";
    return Logged(LogFormat::kText, 2, [&] {
      ExtenderWorld(::offcut::testing::SnapshotOf({::offcut::testing::WholeInventory("n", 1)}))
          .Post("/v1/" + std::string(verb), body);
    });
  };
  const std::string known = R"({"name": "train-7", "namespace": "team-a", "uid": "u"})";
  for (const char* verb : {"filter", "prioritize", "preempt"}) {
    EXPECT_THAT(logged(verb, known),
                HasSubstr(std::string(verb) + " team-a/train-7: pod cannot be read: Pod.spec."));
  }
  EXPECT_THAT(logged("filter", R"({"name": 7, "uid": "u"})"), HasSubstr("filter ?/?: pod cannot"));
  EXPECT_THAT(logged("filter", "[]"), HasSubstr("filter ?/?: pod cannot be read: Pod.metadata"));
}

TEST_F(LoggingTest, IsSilentAboutDecisionsAtVerbosityZero) {
  EXPECT_EQ(Logged(LogFormat::kText, 0, [] { LogBind("a", "p", "n", "bound"); }), "");
}

// U+009B begins a terminal's control sequence in one character.
TEST_F(LoggingTest, LetsNoControlCharacterOfTwoBytesSteerATerminal) {
  EXPECT_THAT(Logged(LogFormat::kText, 2, [] { LogBind("a", "é\u009B31m", "n", "bound"); }),
              HasSubstr("bind a/é\\u009b31m to n: bound\n"));
}

// A pipe holds 64 KiB, and nobody reads.
TEST_F(LoggingTest, NobodyWaitsForAReaderThatHasStopped) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  std::signal(SIGPIPE, SIG_IGN);  // as Serve has it
  {
    const BackgroundLog log(LogFormat::kText, 2, ends[1]);
    for (std::size_t i = 0; i < 2 * kLogLinesMax; ++i) LogBind("a", "p", "n", "bound");
    EXPECT_GT(log.Dropped(), 0U);
  }
  ::close(ends[0]);
  LogBind("a", "p", "n", "bound");  // the reader has gone
  ::close(ends[1]);
}

}  // namespace
}  // namespace offcut::api
