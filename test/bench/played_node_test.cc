#include "bench/played_node.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace offcut::bench {
namespace {

using nlohmann::json;
using Texts = std::vector<std::string>;

// A node of 4 CPUs, 8 GiB, 2 pods and 2 GPUs.
PlayedNode NodeWith(json labels = json::object()) {
  const json allocatable = {
      {"cpu", "4"}, {"memory", "8Gi"}, {"pods", "2"}, {"nvidia.com/gpu", "2"}};
  const auto node = PlayedNodeOf({{"metadata", {{"name", "n"}, {"labels", std::move(labels)}}},
                                  {"status", {{"allocatable", allocatable}}}});
  EXPECT_TRUE(node.has_value());
  return *node;
}

json ContainerWith(json requests, json limits = json::object()) {
  return {{"name", "c"},
          {"resources", {{"requests", std::move(requests)}, {"limits", std::move(limits)}}}};
}

json SidecarWith(json requests) {
  json sidecar = ContainerWith(std::move(requests));
  sidecar["restartPolicy"] = "Always";
  return sidecar;
}

json PodOf(std::vector<json> containers, std::vector<json> init_containers = {}) {
  return {
      {"metadata", {{"name", "p"}}},
      {"spec",
       {{"containers", std::move(containers)}, {"initContainers", std::move(init_containers)}}}};
}

ResourceAmounts RequestsIn(const json& pod) {
  const auto requests = RequestsOf(pod);
  EXPECT_TRUE(requests.has_value());
  return requests ? *requests : ResourceAmounts{};
}

Texts RefusalsOf(const PlayedNode& node, const json& pod) {
  return InTreeRefusals(node, pod, RequestsIn(pod), {"nvidia.com/gpumem"});
}

TEST(PlayedNodeTest, SumsAppContainers) {
  const json pod = PodOf({ContainerWith({{"cpu", "1500m"}}),
                          ContainerWith({{"cpu", "1"}, {"memory", "1Gi"}, {"nvidia.com/gpu", 1}})});
  EXPECT_EQ(RequestsIn(pod),
            (ResourceAmounts{
                {"cpu", 2500}, {"memory", 1'073'741'824}, {"nvidia.com/gpu", 1}, {"pods", 1}}));
}

TEST(PlayedNodeTest, TakesALimitWhereTheRequestLacksTheName) {
  const json pod = PodOf({ContainerWith({{"cpu", "1"}}, {{"cpu", "2"}, {"nvidia.com/gpu", "1"}})});
  EXPECT_EQ(RequestsIn(pod), (ResourceAmounts{{"cpu", 1000}, {"nvidia.com/gpu", 1}, {"pods", 1}}));
}

// Sidecar 1 beside init 2 makes 3; then sidecar 1 beside app 1 makes 2. The peak is 3.
TEST(PlayedNodeTest, TakesThePeakOfInitContainersBesideTheirSidecars) {
  const json pod =
      PodOf({ContainerWith({{"nvidia.com/gpu", "1"}})},
            {SidecarWith({{"nvidia.com/gpu", "1"}}), ContainerWith({{"nvidia.com/gpu", "2"}})});
  EXPECT_EQ(RequestsIn(pod).at("nvidia.com/gpu"), 3);
}

// Nothing runs beside the init container: max(2, 1 + 1) = 2.
TEST(PlayedNodeTest, CountsNoSidecarThatStartsLater) {
  const json pod =
      PodOf({ContainerWith({{"nvidia.com/gpu", "1"}})},
            {ContainerWith({{"nvidia.com/gpu", "2"}}), SidecarWith({{"nvidia.com/gpu", "1"}})});
  EXPECT_EQ(RequestsIn(pod).at("nvidia.com/gpu"), 2);
}

TEST(PlayedNodeTest, AddsTheOverheadAndLeavesZeroOut) {
  json pod = PodOf({ContainerWith({{"cpu", "1"}, {"nvidia.com/gpu", "0"}})});
  pod["spec"]["overhead"] = {{"cpu", "250m"}};
  EXPECT_EQ(RequestsIn(pod), (ResourceAmounts{{"cpu", 1250}, {"pods", 1}}));
}

TEST(PlayedNodeTest, NamesTheContainerOfAQuantityThatIsNone) {
  const auto requests = RequestsOf(PodOf({ContainerWith({{"cpu", "many"}})}));
  ASSERT_FALSE(requests.has_value());
  EXPECT_THAT(requests.error().message, ::testing::StartsWith("pod p, container c, cpu: "));
}

TEST(PlayedNodeTest, TakesAPodThatFitsExactly) {
  EXPECT_EQ(RefusalsOf(NodeWith(), PodOf({ContainerWith({{"cpu", "4"}, {"nvidia.com/gpu", "2"}})})),
            Texts{});
}

// 2 GPUs less the one that is requested leave 1.
TEST(PlayedNodeTest, RefusesWhatBoundPodsHaveTaken) {
  PlayedNode node = NodeWith();
  Charge(node, {{"nvidia.com/gpu", 1}, {"pods", 1}});
  EXPECT_EQ(RefusalsOf(node, PodOf({ContainerWith({{"nvidia.com/gpu", "1"}})})), Texts{});
  EXPECT_EQ(RefusalsOf(node, PodOf({ContainerWith({{"nvidia.com/gpu", "2"}})})),
            Texts{"Insufficient nvidia.com/gpu"});
}

TEST(PlayedNodeTest, NamesEveryResourceThatIsShort) {
  PlayedNode node = NodeWith();
  Charge(node, {{"pods", 2}});
  EXPECT_EQ(RefusalsOf(node, PodOf({ContainerWith({{"cpu", "5"}, {"memory", "9Gi"}})})),
            (Texts{"Insufficient cpu", "Insufficient memory", "Too many pods"}));
}

TEST(PlayedNodeTest, RefusesAResourceThatTheNodeDoesNotHaveUnlessItIsIgnored) {
  EXPECT_EQ(RefusalsOf(NodeWith(), PodOf({ContainerWith({{"nvidia.com/mig-1g.5gb", "1"}})})),
            Texts{"Insufficient nvidia.com/mig-1g.5gb"});
  EXPECT_EQ(RefusalsOf(NodeWith(), PodOf({ContainerWith({{"nvidia.com/gpumem", "8000"}})})),
            Texts{});
}

TEST(PlayedNodeTest, RefusesAnUnschedulableNodeBeforeAnythingElse) {
  PlayedNode node = NodeWith();
  node.is_unschedulable = true;
  EXPECT_EQ(RefusalsOf(node, PodOf({ContainerWith({{"cpu", "5"}})})),
            Texts{"node(s) were unschedulable"});
}

TEST(PlayedNodeTest, RefusesANodeWhoseLabelsDoNotMatchTheSelector) {
  json pod = PodOf({});
  pod["spec"]["nodeSelector"] = {{"zone", "a"}};
  const Texts mismatch = {"node(s) didn't match Pod's node affinity/selector"};
  EXPECT_EQ(RefusalsOf(NodeWith({{"zone", "a"}}), pod), Texts{});
  EXPECT_EQ(RefusalsOf(NodeWith({{"zone", "b"}}), pod), mismatch);
  EXPECT_EQ(RefusalsOf(NodeWith(), pod), mismatch);
}

// CPU (1 + 1) / 4 = 50 %, memory 2 / 8 = 25 %: 75 / 2 = 37.
TEST(PlayedNodeTest, ScoresHowFullCpuAndMemoryWouldBe) {
  PlayedNode node = NodeWith();
  Charge(node, {{"cpu", 1000}});
  EXPECT_EQ(MostAllocatedScore(node, {{"cpu", 1000}, {"memory", std::int64_t{2} << 30}}), 37);
}

// As text "14 ..." comes before "2 ...".
TEST(PlayedNodeTest, CountsReasonsInTheOrderOfTheirText) {
  EXPECT_EQ(PrintFitError(16, {{"not enough free GPUs", 2}, {"Insufficient cpu", 14}}),
            "0/16 nodes are available: 14 Insufficient cpu, 2 not enough free GPUs.");
}

}  // namespace
}  // namespace offcut::bench
