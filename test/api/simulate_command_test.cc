#include "api/simulate_command.h"

#include <algorithm>
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

// Two GPUs on one node, 10 CPUs.
constexpr const char* kNodes = "sn,cpu_milli,memory_mib,gpu,model\nn-0,10000,1024,2,T4\n";
// By name: a whole GPU, b half of one, c eight GPUs, d half of an A10, e no GPU.
constexpr const char* kPods =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"
    "b,1000,1,1,500,,10,20\n"
    "a,1000,1,1,1000,,20,50\n"
    "c,1000,1,8,1000,,30,\n"
    "d,1000,1,1,500,A10|P100,40,\n"
    "e,2000,1,0,0,,50,\n";

// Two GPUs on n, one of them held. On the cordoned one nobody gets another two.
constexpr const char* kDump = R"({"apiVersion": "v1", "kind": "List", "items": [
    {"kind": "Node", "metadata": {"name": "n", "labels": {"nvidia.com/gpu.product": "Tesla-T4",
     "nvidia.com/gpu.count": "2"}}, "status": {"allocatable":
     {"cpu": "8", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": "2"}}},
    {"kind": "Node", "metadata": {"name": "o", "labels": {"nvidia.com/gpu.product": "Tesla-T4",
     "nvidia.com/gpu.count": "2"}}, "spec": {"unschedulable": true}, "status": {"allocatable":
     {"cpu": "8", "memory": "8Gi", "pods": "10", "nvidia.com/gpu": "2"}}},
    {"kind": "Pod", "metadata": {"name": "bound", "namespace": "d", "uid": "1"}, "spec":
     {"nodeName": "n", "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}},
    {"kind": "Pod", "metadata": {"name": "waits", "namespace": "d", "uid": "2"}, "spec":
     {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]}},
    {"kind": "Pod", "metadata": {"name": "waits-too", "namespace": "d", "uid": "3"}, "spec":
     {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}]})";

struct Ran {
  int status = 0;
  std::string out;
  std::string err;
};

class SimulateTest : public ::testing::Test {
 protected:
  Ran Run(const std::string& order, const std::string& output, const std::string& pods = kPods) {
    SimulateSettings settings;
    settings.files.nodes = folder_.Write("nodes.csv", kNodes);
    settings.files.pods = folder_.Write("pods.csv", pods);
    if (!order.empty()) settings.files.order = folder_.Write("order.txt", order);
    settings.output = output;
    std::ostringstream out;
    std::ostringstream err;
    const int status = Simulate(settings, out, err);
    return {status, out.str(), err.str()};
  }

  std::string RunDump(const std::string& output) {
    SimulateSettings settings{.output = output};
    settings.files.nodes = settings.files.pods = folder_.Write("dump.json", kDump);
    std::ostringstream out;
    std::ostringstream err;
    EXPECT_EQ(Simulate(settings, out, err), 0) << err.str();
    return out.str();
  }

  TemporaryFolder folder_;
};

// Order b, a, c, d, e, each once: c and d have no place. Asked for are 0.5 + 1 + 0 + 0 GPUs: what
// no node could hold is no demand. Allocated 1.5 of 2 GPUs.
TEST_F(SimulateTest, LetsEachPodArriveOnceByTimeOfCreation) {
  const Ran ran = Run("", "json");
  ASSERT_EQ(ran.status, 0) << ran.err;
  const auto report = nlohmann::json::parse(ran.out);
  EXPECT_EQ(report["strategy"], "best-fit");
  EXPECT_EQ(report["seed"], 42);
  EXPECT_EQ(report["arrived"], 5);
  EXPECT_EQ(report["failed_pods"], 2);
  EXPECT_EQ(report["arrived_gpus"], 1.5);
  EXPECT_EQ(report["unallocated_percent"], 25.0);
  EXPECT_EQ(report["failed_by_class"], nlohmann::json({{"unplaceable", 2}}));
}

// Rows 0 and 1 of those sorted by name, a and b: a, a, b: a whole GPU twice, and nothing is left.
// Arrived 50, 100 and 125 %.
TEST_F(SimulateTest, LetsPodsArriveInTheOrderOfTheFile) {
  const auto report = nlohmann::json::parse(Run("0\r\n0\n1", "json").out);
  EXPECT_EQ(report["failed_pods"], 1);
  EXPECT_EQ(report["failed_by_class"], nlohmann::json({{"share", 1}}));
  EXPECT_EQ(report["at"]["50"]["allocated_percent"], 50.0);
  EXPECT_EQ(report["at"]["100"]["allocated_percent"], 100.0);
  EXPECT_EQ(report["at"]["100"]["fragmentation_percent"], 0.0);
  EXPECT_EQ(report["at"]["125"]["allocated_percent"], 100.0);
}

TEST_F(SimulateTest, PrintsTheCurveAsCsv) {
  EXPECT_THAT(Run("0\n", "csv").out,
              HasSubstr("fragmentation_rate_percent\nbest-fit,42,50,50.000,"));
}

// c and a: half of the GPUs, of which c asked for none that these nodes could give.
TEST_F(SimulateTest, TheTableTellsOfEveryPod) {
  const std::string text = Run("2\n0\n", "table").out;
  EXPECT_THAT(text, StartsWith("strategy      best-fit, ties strict, seed 42\n"
                               "arrived       2 pods, asking for 1.0 GPUs\n"
                               "placed        1 pod, on 1.0 GPUs\n"
                               "failed        1 pod: unplaceable (1)\n"
                               "unplaceable   fit no node, even an empty one; what they ask for is "
                               "not counted\n"
                               "allocated     1.0 of 2 GPUs; unallocated 50.00 %\n"
                               "fragmented    "));
}

// a and b in turn, on two GPUs: 50, 75, 125 % have arrived, and nothing between.
TEST_F(SimulateTest, TheTableHasEachPointOfAShortCurve) {
  const std::string text = Run("0\n1\n0\n", "table").out;
  EXPECT_THAT(text, HasSubstr("\nARRIVED %  ALLOCATED %  FRAGMENTED %  OF FREE %\n       50  "));
  EXPECT_THAT(text, HasSubstr("\n       75  "));
  EXPECT_THAT(text, HasSubstr("\n      125  "));
}

// Halves: a point each 25 %, up to 2,500 %: no more than 30 lines, the last one among them.
TEST_F(SimulateTest, TheTableOfALongCurveIsShort) {
  std::string order;
  for (int i = 0; i < 100; ++i) order += "1\n";
  const std::string text = Run(order, "table").out;
  EXPECT_THAT(text, HasSubstr("\n     2500  "));
  EXPECT_LE(std::ranges::count(text.substr(text.find("ARRIVED")), '\n'), 32);
}

TEST_F(SimulateTest, ReadsWhatKubectlPrintsAndKeepsBoundPodsWhereTheyAre) {
  const auto report = nlohmann::json::parse(RunDump("json"));
  EXPECT_EQ(report["arrived"], 2);
  EXPECT_EQ(report["placed"], 1);
  EXPECT_EQ(report["failed_by_class"], nlohmann::json({{"2 GPUs", 1}}));
}

TEST_F(SimulateTest, TellsWhoRanBeforeFromWhoArrived) {
  const auto report = nlohmann::json::parse(RunDump("json"));
  EXPECT_EQ(report["pods_before"], 1);
  EXPECT_EQ(report["gpus_before"], 1.0);
  EXPECT_EQ(report["placed_gpus"], 1.0);
  EXPECT_EQ(report["allocated_gpus"], 2.0);
  EXPECT_EQ(report["closed_gpus"], 2.0);
  EXPECT_THAT(
      RunDump("table"),
      HasSubstr("\nbefore        1 pod, on 1.0 GPUs\n"
                "arrived       2 pods, asking for 3.0 GPUs\n"
                "placed        1 pod, on 1.0 GPUs\n"
                "failed        1 pod: 2 GPUs (1)\n"
                "allocated     2.0 of 4 GPUs; unallocated 50.00 %\n"
                "closed        2.0 GPUs that are unhealthy or on nodes that take no pod\n"));
}

TEST_F(SimulateTest, TellsWhichLineOfTheOrderIsWrong) {
  const Ran ran = Run("0\n5\n", "json");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("order.txt:2: is not a number of one of the 5 pods"));
}

// A word without end is no number, and is not read to its end.
TEST_F(SimulateTest, RefusesAnOrderThatIsNone) {
  EXPECT_THAT(Run("\n", "json").err, HasSubstr("order.txt: names no pod"));
  EXPECT_THAT(Run(std::string(1'000'000, '9'), "json").err, HasSubstr("order.txt:1: is not a"));
  SimulateSettings settings;
  settings.files = {.nodes = folder_.Write("nodes.csv", kNodes),
                    .pods = folder_.Write("pods.csv", kPods),
                    .order = "/"};
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(Simulate(settings, out, err), 1);
  EXPECT_EQ(err.str(), "offcut: /: cannot be read\n");
}

TEST_F(SimulateTest, TellsWhatIsWrongWithItsFiles) {
  EXPECT_THAT(Run("", "json", "name\nx\n").err, HasSubstr("pods.csv:2: cpu_milli: no such column"));
  SimulateSettings settings;
  settings.files = {.nodes = "nodes.csv", .pods = "pods.json", .order = ""};
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(Simulate(settings, out, err), 1);
  EXPECT_EQ(err.str(), "offcut: nodes and pods come both from CSV files, or both from dumps\n");
}

}  // namespace
}  // namespace offcut::api
