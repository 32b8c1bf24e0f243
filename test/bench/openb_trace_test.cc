#include "bench/openb_trace.h"

#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bench/cluster_objects.h"

namespace offcut::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kNodeColumns = "sn,cpu_milli,memory_mib,gpu,model\n";
const std::string kPodColumns =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n";

struct Imported {
  std::expected<ImportCounts, api::Error> counts;
  std::string text;
};

Imported ImportText(const std::string& nodes, const std::string& pods,
                    std::size_t pods_max = api::kTracePodsMax) {
  std::istringstream node_lines(nodes);
  std::istringstream pod_lines(pods);
  std::ostringstream out;
  auto counts = ImportOpenb({node_lines, "nodes.csv"}, {pod_lines, "pods.csv"}, pods_max, out);
  return {std::move(counts), out.str()};
}

std::string ErrorOf(const std::string& nodes, const std::string& pods) {
  const Imported imported = ImportText(nodes, pods);
  return imported.counts ? "" : imported.counts.error().message;
}

// 460 thousandths of a GPU are 46 percent; 86,400 s are one day.
TEST(OpenbTraceTest, WritesNodesAndPodsAsKubectlPrintsThem) {
  const Imported imported =
      ImportText(kNodeColumns + "n-0,64000,262144,2,T4\nn-1,32000,131072,0,\n",
                 kPodColumns + "p-0,6000,12288,1,460,A10|T4,LS,Running,86400,90000,86400\n");
  ASSERT_TRUE(imported.counts.has_value()) << imported.counts.error().message;
  EXPECT_EQ(*imported.counts, (ImportCounts{.nodes = 2, .gpus = 2, .pods = 1}));
  EXPECT_EQ(
      imported.text,
      R"({"apiVersion":"v1","kind":"List","items":[)"
      "\n"
      R"({"apiVersion":"v1","kind":"Node","metadata":{"labels":{"kubernetes.io/hostname":"n-0",)"
      R"("nvidia.com/gpu.product":"T4","nvidia.com/gpu.count":"2","nvidia.com/gpu.replicas":"1",)"
      R"("nvidia.com/gpu.memory":"16384"},"name":"n-0"},"spec":{},"status":{"allocatable":)"
      R"({"cpu":"64000m","memory":"262144Mi","nvidia.com/gpu":"2","pods":"1001"},"capacity":)"
      R"({"cpu":"64000m","memory":"262144Mi","nvidia.com/gpu":"2","pods":"1001"}}},)"
      "\n"
      R"({"apiVersion":"v1","kind":"Node","metadata":{"labels":{"kubernetes.io/hostname":"n-1"},)"
      R"("name":"n-1"},"spec":{},"status":{"allocatable":{"cpu":"32000m","memory":"131072Mi",)"
      R"("pods":"1001"},"capacity":{"cpu":"32000m","memory":"131072Mi","pods":"1001"}}},)"
      "\n"
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"annotations":{"offcut.dev/gpu-models":)"
      R"("A10,T4"},"creationTimestamp":"1970-01-02T00:00:00Z","name":"p-0","namespace":"openb",)"
      R"("uid":"uid-p-0"},"spec":{"containers":[{"name":"main","resources":{"limits":)"
      R"({"nvidia.com/gpu":"1","nvidia.com/gpucores":"46"},"requests":{"cpu":"6000m",)"
      R"("memory":"12288Mi","nvidia.com/gpu":"1","nvidia.com/gpucores":"46"}}}]},)"
      R"("status":{"phase":"Pending"}})"
      "\n]}\n");
}

// ceil(1 / 10) = 1, ceil(10 / 10) = 1, ceil(11 / 10) = 2; 1000 thousandths are a whole GPU.
TEST(OpenbTraceTest, RoundsAShareUpToWholePercent) {
  const Imported imported =
      ImportText(kNodeColumns, kPodColumns +
                                   "a,1,1,1,1,,,,0,,\nb,1,1,1,10,,,,0,,\nc,1,1,1,11,,,,0,,\n"
                                   "d,1,1,1,1000,,,,0,,\n");
  const auto objects = ParseClusterObjects(imported.text, "text");
  ASSERT_TRUE(objects.has_value());
  std::vector<std::string> cores(objects->pods.size());
  std::ranges::transform(objects->pods, cores.begin(), [](const nlohmann::json& pod) {
    return StringAt(MemberAt(pod, {"spec", "containers"}).at(0),
                    {"resources", "limits", "nvidia.com/gpucores"});
  });
  EXPECT_EQ(cores, (std::vector<std::string>{"1", "1", "2", ""}));
}

TEST(OpenbTraceTest, GivesAPodWithoutGpusNeitherDevicesNorModels) {
  const Imported imported = ImportText(kNodeColumns, kPodColumns + "p,1,1,0,0,T4,,,0,,\n");
  EXPECT_THAT(imported.text, HasSubstr(R"("name":"p")"));
  EXPECT_THAT(imported.text, Not(HasSubstr("nvidia.com")));
  EXPECT_THAT(imported.text, Not(HasSubstr("offcut.dev")));
}

TEST(OpenbTraceTest, ReadsFilesThatHaveTheFirstFiveColumnsOnly) {
  const Imported imported =
      ImportText(kNodeColumns, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,8,1000\n");
  ASSERT_TRUE(imported.counts.has_value()) << imported.counts.error().message;
  EXPECT_EQ(imported.counts->pods, 1);
}

TEST(OpenbTraceTest, StopsAtTheNumberOfPodsThatIsAskedFor) {
  const Imported imported =
      ImportText(kNodeColumns, kPodColumns + "a,1,1,0,0,,,,0,,\nnonsense\n", 1);
  ASSERT_TRUE(imported.counts.has_value()) << imported.counts.error().message;
  EXPECT_EQ(imported.counts->pods, 1);
}

TEST(OpenbTraceTest, NamesTheLineAndTheColumnOfABadNode) {
  EXPECT_EQ(ErrorOf("", kPodColumns), "nodes.csv:1: has no line of column names");
  EXPECT_EQ(ErrorOf("sn,cpu_milli,memory_mib,gpu\nn,1,1,1\n", kPodColumns),
            "nodes.csv:2: model: no such column");
  EXPECT_EQ(ErrorOf(kNodeColumns + "n,1,1,1,T4\nn,1,1,1\n", kPodColumns),
            "nodes.csv:3: has 4 fields where the first line names 5");
  EXPECT_EQ(ErrorOf(kNodeColumns + "n,1,1,-1,T4\n", kPodColumns),
            "nodes.csv:2: gpu: is not a whole number from 0 to 64");
  EXPECT_EQ(ErrorOf(kNodeColumns + "n\",1,1,1,T4\n", kPodColumns),
            "nodes.csv:2: sn: is not a name of letters, digits, '-', '.' and '_'");
}

TEST(OpenbTraceTest, NamesTheLineAndTheColumnOfABadPod) {
  EXPECT_EQ(ErrorOf(kNodeColumns, kPodColumns + "p,6k,1,0,0,,,,0,,\n"),
            "pods.csv:2: cpu_milli: is not a whole number from 0 to 1099511627776");
  EXPECT_EQ(ErrorOf(kNodeColumns, kPodColumns + "p,1,1,1,0,,,,0,,\n"),
            "pods.csv:2: gpu_milli: is not a whole number from 1 to 1000");
  EXPECT_EQ(ErrorOf(kNodeColumns, kPodColumns + "p,1,1,2,500,,,,0,,\n"),
            "pods.csv:2: gpu_milli: is not a whole number from 1000 to 1000");
  EXPECT_EQ(ErrorOf(kNodeColumns, kPodColumns + "p,1,1,1,500,T4|,,,0,,\n"),
            "pods.csv:2: gpu_spec: is not a list of models joined by '|'");
}

TEST(OpenbTraceTest, RefusesANodeThatComesTwice) {
  EXPECT_EQ(ErrorOf(kNodeColumns + "n,1,1,1,T4\nm,1,1,1,T4\nn,1,1,1,T4\n", kPodColumns),
            "nodes.csv:4: sn: node n comes twice");
}

TEST(OpenbTraceTest, ReadsWhatSpreadsheetsWrite) {
  const Imported imported = ImportText("\xEF\xBB\xBF" + kNodeColumns + "n,1,1,1,T4\r\n\r\n",
                                       "name,cpu_milli,memory_mib,num_gpu,gpu_milli\r\n\n"
                                       "p,1,1,8,1000\r\nq,1,1,8,1000\r");
  ASSERT_TRUE(imported.counts.has_value()) << imported.counts.error().message;
  EXPECT_EQ(imported.counts->nodes, 1);
  EXPECT_EQ(imported.counts->pods, 2);
}

TEST(OpenbTraceTest, RefusesALineAboveTheLimit) {
  EXPECT_EQ(ErrorOf(std::string(api::kCsvLineBytesMax + 1, 'x'), kPodColumns),
            "nodes.csv:1: line is longer than 4096 bytes");
}

TEST(OpenbTraceTest, TheWholeTraceHas1213NodesWith6212GpusAnd8152Pods) {
  const auto traces = FindTraces();
  if (!traces) GTEST_SKIP() << TracesMissingText();
  const std::string out = ::testing::TempDir() + "/openb.json";
  const auto counts =
      ImportOpenbFiles((*traces / kTraceNodesFile).string(), (*traces / kTracePodsFile).string(),
                       api::kTracePodsMax, out);
  ASSERT_TRUE(counts.has_value()) << counts.error().message;
  EXPECT_EQ(*counts, (ImportCounts{.nodes = 1213, .gpus = 6212, .pods = 8152}));
  const auto objects = ReadClusterObjects(out);
  std::filesystem::remove(out);
  ASSERT_TRUE(objects.has_value()) << objects.error().message;
  EXPECT_EQ(objects->nodes.size(), 1213U);
  EXPECT_EQ(objects->pods.size(), 8152U);
}

}  // namespace
}  // namespace offcut::bench
