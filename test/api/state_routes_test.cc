#include "api/state_routes.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scheduler/packing.h"
#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::PodFromText;
using testing::PoolInventory;
using testing::SharedInventory;
using testing::SnapshotOf;
using testing::WholeInventory;

HttpRequest Get(std::string_view target) { return {.method = "GET", .target = target}; }

TEST(StateRoutesTest, OnlyReadsAreAllowedAndAnotherPathIs404) {
  const auto snapshot = SnapshotOf({});
  EXPECT_EQ(AnswerState(snapshot, {}, {.method = "POST", .target = "/api/v1/nodes"}).status, 405);
  EXPECT_EQ(AnswerState(snapshot, {}, {.method = "HEAD", .target = "/api/v1/nodes"}).status, 200);
  for (const std::string_view path : {"/api/v1", "/api/v1/podsx", "/api/v1/nodes/n",
                                      "/api/v1/pods/a/b/c", "/nodes", "/api/v1/explain/"}) {
    EXPECT_EQ(AnswerState(snapshot, {}, Get(path)).status, 404) << path;
  }
}

TEST(StateRoutesTest, DrawsAndExplainsForPeopleWhenAskedForText) {
  const auto snapshot =
      SnapshotOf({WholeInventory("n", 2)},
                 {PodFromText("a nvidia.com/gpu=1 node=n"), PodFromText("b nvidia.com/gpu=1")});
  const HttpResponse picture = AnswerState(snapshot, {}, Get("/api/v1/gpus?output=text"));
  EXPECT_THAT(picture.content_type, HasSubstr("text/plain"));
  EXPECT_THAT(picture.body, HasSubstr("2 GPUs held"));
  const std::string path = "/api/v1/explain/default/b";
  EXPECT_EQ(json::parse(AnswerState(snapshot, {}, Get(path)).body)["node"], "n");
  EXPECT_THAT(AnswerState(snapshot, {}, Get(path + "?output=text")).body,
              HasSubstr("would go to n and get GPU 1"));
  EXPECT_EQ(AnswerState(snapshot, {}, Get("/api/v1/explain/default/nobody")).status, 404);
}

TEST(StateRoutesTest, ShowsTheTargetWorkloadInThePolicysWords) {
  auto snapshot = SnapshotOf({WholeInventory("n", 2)}, {PodFromText("a nvidia.com/gpu=1 cpu=500")});
  snapshot.SetPacking(scheduler::RenewedPacking(snapshot, {}));
  const json packing = json::parse(AnswerState(snapshot, {}, Get("/api/v1/packing")).body);
  EXPECT_EQ(packing["strategy"], "offcut");
  EXPECT_EQ(packing["targetWorkload"]["source"], "derived");
  EXPECT_EQ(packing["targetWorkload"]["hash"], scheduler::WorkloadText(*snapshot.packing()));
  const json asked = {{"weight", 1}, {"cpu", "500m"}, {"gpus", 1}, {"memoryPercent", 100}};
  EXPECT_THAT(packing["targetWorkload"]["classes"], Contains(asked));
  scheduler::Policy best_fit;
  best_fit.packing = binpack::PreparePacking("best-fit");
  EXPECT_EQ(json::parse(AnswerState(SnapshotOf({}), best_fit, Get("/api/v1/packing")).body),
            json({{"strategy", "best-fit"}}));
}

// n: X.   mps: one of four slots   mig: 2 of 7 instances
TEST(StateRoutesTest, ShowsWhoHoldsEachGpuAndPool) {
  const auto snapshot = SnapshotOf(
      {WholeInventory("n", 2), SharedInventory("mps", binpack::Sharing::kMps, 1, 4),
       PoolInventory("mig", "A100-40GB", {{"1g.5gb", 7, 0}})},
      {PodFromText("a nvidia.com/gpu=1 node=n"), PodFromText("b nvidia.com/gpu=1 node=mps"),
       PodFromText("c nvidia.com/mig-1g.5gb=2 node=mig")});
  const json items = json::parse(AnswerState(snapshot, {}, Get("/api/v1/gpus")).body)["items"];
  ASSERT_EQ(items.size(), 4U);  // by node's name: mig's pool, mps' GPU, two of n
  EXPECT_EQ(items[0]["node"], "mig");
  EXPECT_EQ(items[0]["unitsUsed"], 2);
  EXPECT_EQ(items[0]["holders"][0]["name"], "c");
  EXPECT_EQ(items[0]["holders"][0]["pieces"], 2);
  EXPECT_EQ(items[1]["slotsUsed"], 1);
  EXPECT_EQ(items[1]["holders"][0]["name"], "b");
  EXPECT_EQ(items[2]["holders"][0]["name"], "a");
  EXPECT_EQ(items[2]["gpuUnits"], (json{{"used", 1400}, {"total", 1400}}));
  EXPECT_EQ(items[3]["holders"], json::array());
  const json nodes = json::parse(AnswerState(snapshot, {}, Get("/api/v1/nodes")).body)["items"];
  EXPECT_EQ(nodes[2]["name"], "n");
  EXPECT_EQ(nodes[2]["gpuUnits"], (json{{"used", 1400}, {"total", 2800}}));
  EXPECT_EQ(nodes[2]["offers"], json::parse(R"([{"kind":"whole","resource":"nvidia.com/gpu"}])"));
}

TEST(StateRoutesTest, FindsPodsByNamespaceAndName) {
  const auto snapshot =
      SnapshotOf({WholeInventory("n", 2)},
                 {PodFromText("a nvidia.com/gpu=1 node=n"), PodFromText("b namespace=team-1"),
                  PodFromText("a2 namespace=team-1")});
  const auto names = [&](std::string_view path) {
    std::vector<std::string> list;
    const json document = json::parse(AnswerState(snapshot, {}, Get(path)).body);
    for (const json& pod : document["items"]) list.push_back(pod["name"]);
    return list;
  };
  EXPECT_THAT(names("/api/v1/pods"), ::testing::ElementsAre("a", "a2", "b"));
  EXPECT_THAT(names("/api/v1/pods/team-1"), ::testing::ElementsAre("a2", "b"));
  EXPECT_THAT(names("/api/v1/pods/nobody"), ::testing::IsEmpty());
  const json pod = json::parse(AnswerState(snapshot, {}, Get("/api/v1/pods/default/a")).body);
  EXPECT_EQ(pod["phase"], "bound");
  EXPECT_EQ(pod["node"], "n");
  EXPECT_EQ(pod["request"]["devices"], (json{{"nvidia.com/gpu", 1}}));
  EXPECT_EQ(AnswerState(snapshot, {}, Get("/api/v1/pods/default/b")).status, 404);
}

TEST(StateRoutesTest, PendingListsThePodsThatWaitForDevicesOldestFirst) {
  const auto snapshot =
      SnapshotOf({WholeInventory("n", 2)},
                 {PodFromText("young nvidia.com/gpu=1 created=20"),
                  PodFromText("old nvidia.com/gpu=1 created=10"), PodFromText("no-gpu created=5"),
                  PodFromText("bound nvidia.com/gpu=1 created=1 node=n")});
  const json items = json::parse(AnswerState(snapshot, {}, Get("/api/v1/pending")).body)["items"];
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0]["name"], "old");
  EXPECT_EQ(items[1]["name"], "young");
}

}  // namespace
}  // namespace offcut::api
