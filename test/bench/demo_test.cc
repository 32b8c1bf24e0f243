#include "bench/demo.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/cluster_objects.h"

namespace offcut::bench {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

json PodWith(json limits) {
  const json container = {{"resources", {{"limits", std::move(limits)}}}};
  return {{"spec", {{"containers", std::vector<json>{container}}}}};
}

json RecordOf(std::vector<json> devices) { return {{"devices", std::move(devices)}}; }

TEST(DemoTest, SaysWhatAPodAsksForWithoutTheVendor) {
  EXPECT_EQ(AsksText(PodWith({{"nvidia.com/gpu", "8"}, {"cpu", "64"}})), "8 x gpu");
  EXPECT_EQ(AsksText(PodWith({{"nvidia.com/mig-1g.5gb", "2"}, {"nvidia.com/mig-3g.20gb", "1"}})),
            "2 x mig-1g.5gb, mig-3g.20gb");
  EXPECT_EQ(
      AsksText(PodWith(
          {{"nvidia.com/gpu", "1"}, {"nvidia.com/gpumem", "8k"}, {"nvidia.com/gpucores", "25"}})),
      "gpu, 25 % cores, 8000 MiB");
  EXPECT_EQ(AsksText(PodWith({{"nvidia.com/gpu", "0"}})), "no GPU");
}

// GPUs 0, 1, 2 and 5: one run of three and one alone.
TEST(DemoTest, JoinsWholeGpusInRuns) {
  std::vector<json> devices;
  for (const int gpu : {5, 1, 0, 2}) devices.push_back(json{{"kind", "whole"}, {"gpu", gpu}});
  EXPECT_EQ(DevicesText(RecordOf(devices)), "GPUs 0-2, 5");
}

TEST(DemoTest, NamesAStartOnlyWhereItIsOnRecord) {
  const json counted = {{"kind", "mig"}, {"profile", "1g.5gb"}};
  const json placed = {{"kind", "mig"}, {"profile", "3g.20gb"}, {"gpu", 1}, {"start", 4}};
  EXPECT_EQ(DevicesText(RecordOf({counted, counted, placed})), "2 x 1g.5gb, 3g.20gb@4 on GPU 1");
}

TEST(DemoTest, CountsSlotsOfOneGpu) {
  const json slot = {{"kind", "slot"}, {"gpu", 3}};
  EXPECT_EQ(DevicesText(RecordOf({slot, slot})), "2 x slot on GPU 3");
  EXPECT_EQ(DevicesText(RecordOf({})), "none");
}

TEST(DemoTest, BreaksLinesAtBlanks) {
  EXPECT_THAT(Wrapped("one two three", 8), ElementsAre("one two", "three"));
  EXPECT_THAT(Wrapped("one two", 7), ElementsAre("one two"));
  EXPECT_THAT(Wrapped("interminable word", 5), ElementsAre("interminable", "word"));
}

TEST(DemoTest, ItsFilesHoldFifteenNodesAndThirtyTwoPodsThatWait) {
  const auto cluster = ReadClusterObjects(OFFCUT_SOURCE_DIR "/bench/demo/cluster.yaml");
  const auto waiting = ReadClusterObjects(OFFCUT_SOURCE_DIR "/bench/demo/pods.yaml");
  ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
  ASSERT_TRUE(waiting.has_value()) << waiting.error().message;
  EXPECT_EQ(cluster->nodes.size(), 15U);
  EXPECT_EQ(waiting->pods.size(), 32U);
  std::set<std::string> uids;
  for (const json& pod : waiting->pods) {
    EXPECT_EQ(StringAt(pod, {"spec", "nodeName"}), "");
    uids.insert(StringAt(pod, {"metadata", "uid"}));
  }
  EXPECT_EQ(uids.size(), 32U);
}

TEST(ClusterObjectsTest, GivesItemsOfATypedListTheirKind) {
  const auto objects =
      ParseClusterObjects(R"({"kind":"NodeList","items":[{"metadata":{"name":"a"}}]})", "text");
  ASSERT_TRUE(objects.has_value());
  EXPECT_EQ(objects->nodes.size(), 1U);
}

TEST(ClusterObjectsTest, ReadsSeveralYamlDocumentsAndLeavesOtherKindsOut) {
  const auto objects = ParseClusterObjects(
      "kind: Pod\nmetadata: {name: p}\n---\nkind: Service\nmetadata: {name: s}\n", "text");
  ASSERT_TRUE(objects.has_value());
  EXPECT_EQ(objects->pods.size(), 1U);
  EXPECT_TRUE(objects->nodes.empty());
}

TEST(ClusterObjectsTest, NamesTheFileOfWhatCannotBeRead) {
  EXPECT_EQ(ParseClusterObjects(R"({"kind":)", "a.json").error().message,
            "a.json: is not sound JSON");
  EXPECT_EQ(ParseClusterObjects(R"({"kind":"Pod"})", "a.json").error().message,
            "a.json: a Pod has no metadata.name");
  EXPECT_EQ(ReadClusterObjects("/nonexistent.yaml").error().message,
            "/nonexistent.yaml: cannot be read");
}

}  // namespace
}  // namespace offcut::bench
