#include "bench/load_bench.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/synthetic_cluster.h"

namespace offcut::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kOffcut = OFFCUT_BINARY_DIR "/bin/offcut";
constexpr const char* kOffcutBench = OFFCUT_BINARY_DIR "/bin/offcut-bench";

// 18 nodes: of each two 0, 1, ... 8 GPUs are taken. A node without any has no pod.
TEST(SyntheticClusterTest, OneNodeInNineHasEachCountOfTakenGpus) {
  const SyntheticCluster cluster = MakeSyntheticCluster(18, 5, 1);
  EXPECT_EQ(cluster.nodes.size(), 18);
  EXPECT_EQ(cluster.node_names.size(), 18);
  std::map<std::string, int> taken;
  for (const auto& pod : cluster.running) {
    const auto& limits = pod["spec"]["containers"][0]["resources"]["limits"];
    ++taken[limits["nvidia.com/gpu"].get<std::string>()];
  }
  EXPECT_EQ(taken.size(), 8);
  for (const auto& [gpus, nodes] : taken) EXPECT_EQ(nodes, 2) << gpus;
  EXPECT_EQ(cluster.waiting.size(), 5);
}

TEST(SyntheticClusterTest, TheSeedDecidesWhichNodesAreFull) {
  const auto print = [](std::uint64_t seed) {
    return PrintSnapshot(MakeSyntheticCluster(20, 1, seed));
  };
  EXPECT_EQ(print(1), print(1));
  EXPECT_NE(print(1), print(2));
}

LoadReport OneCase(double p50_ms, double go_by_offcut) {
  const LoadFigures offcut{.server = "offcut", .calls = 10, .p50_ms = p50_ms, .p99_ms = 2};
  const LoadFigures go{
      .server = "go", .calls = 10, .p50_ms = 9, .p99_ms = 9, .p50_by_offcut = go_by_offcut};
  return {.rounds = 5,
          .connections = 2,
          .rate_hz = 0.5,
          .seed = 7,
          .cases = {{.name = "filter, 5 names",
                     .request_bytes_max = 3,
                     .answer_bytes_max = 4,
                     .servers = {offcut, go}}}};
}

TEST(LoadReportTest, ReadsWhatItWrote) {
  const std::string text = ToJson(OneCase(1, 9)).dump();
  const auto read = ParseLoadReport(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(ToJson(*read).dump(), text);
}

TEST(LoadReportTest, SaysWhatIsMissing) {
  EXPECT_FALSE(ParseLoadReport("{"));
  const auto read = ParseLoadReport(R"({"rounds":1})");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("connections"));
}

// From 1 ms to 1.5 ms is half as much again; Go's ratio changes by a tenth.
TEST(LoadReportTest, AComparisonNamesWhatChangedAndNoMore) {
  std::ostringstream out;
  PrintComparison(OneCase(1, 10), OneCase(1.5, 9), 20, out);
  EXPECT_THAT(out.str(), HasSubstr("p50 ms"));
  EXPECT_THAT(out.str(), HasSubstr("+50 %"));
  EXPECT_THAT(out.str(), Not(HasSubstr("p50 by ours")));
  std::ostringstream same;
  PrintComparison(OneCase(1, 10), OneCase(1, 10), 20, same);
  EXPECT_THAT(same.str(), HasSubstr("nothing differs"));
}

TEST(LoadBenchTest, AsksEveryServerInEveryRound) {
  const LoadSettings settings{.offcut = kOffcut,
                              .self = kOffcutBench,
                              .go_baseline = {},
                              .against = OFFCUT_BINARY_DIR "/bin/offcut-bench echo",
                              .nodes = {9},
                              .full_nodes = {9},
                              .tls_cert_file = {},
                              .tls_private_key_file = {},
                              .rounds = 2,
                              .calls = 3,
                              .full_calls = 1};
  std::ostringstream progress;
  const auto report = MeasureLoad(settings, progress);
  ASSERT_TRUE(report) << report.error().message;
  std::vector<std::string> names;
  for (const LoadCase& each : report->cases) {
    names.push_back(each.name);
    ASSERT_EQ(each.servers.size(), 3);
    for (const LoadFigures& figures : each.servers) {
      EXPECT_GT(figures.calls, 0) << each.name;
      EXPECT_LE(figures.p50_ms, figures.p99_ms) << each.name;
    }
  }
  EXPECT_THAT(names, ElementsAre("filter, 9 names", "prioritize, 9 names", "filter, 9 full nodes",
                                 "filter, 9 full nodes, 4 at once"));
  EXPECT_EQ(report->cases.front().servers.front().calls, 6);
}

TEST(LoadBenchTest, AServerThatCannotBeStartedIsNamed) {
  const LoadSettings settings{.offcut = "/nonexistent/offcut",
                              .self = kOffcutBench,
                              .go_baseline = {},
                              .against = {},
                              .nodes = {9},
                              .full_nodes = {},
                              .tls_cert_file = {},
                              .tls_private_key_file = {}};
  std::ostringstream progress;
  const auto report = MeasureLoad(settings, progress);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, HasSubstr("/nonexistent/offcut"));
}

}  // namespace
}  // namespace offcut::bench
