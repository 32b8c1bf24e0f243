#include "api/routes.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "test/api/extender_world.h"
#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SnapshotOf;
using testing::WholeInventory;

TEST(RoutesTest, AnotherMethodThanPostIs405AndSaysWhichIsAllowed) {
  ExtenderWorld world(SnapshotOf({}));
  for (const std::string_view method : {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "post", ""}) {
    const HttpResponse answer = world.Ask({.method = method, .target = "/v1/filter"});
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(answer.allow, "POST");
  }
  EXPECT_EQ(world.Ask({.method = "GET", .target = "/nowhere"}).status, 404);
}

TEST(RoutesTest, JsonAloneIsTakenAndWhatSaysNothingIsTakenForIt) {
  ExtenderWorld world(SnapshotOf({}));
  const PaddedBody body(NamesBody(PodJson("p"), {}));
  const auto status = [&](std::string_view content_type) {
    return world
        .Ask({.method = "POST",
              .target = "/v1/filter?timeout=5s",
              .content_type = content_type,
              .body = body.view()})
        .status;
  };
  for (const std::string_view type :
       {"application/json", "application/json; charset=utf-8", "Application/JSON ;x=y", ""}) {
    EXPECT_EQ(status(type), 200) << type;
  }
  for (const std::string_view type : {"text/plain", "application/x-www-form-urlencoded",
                                      "application/json5", "application/jso", ";", "json"}) {
    EXPECT_EQ(status(type), 415) << type;
  }
}

TEST(RoutesTest, CountsRequestsByVerbAndCodeAndRefusedNodesByReason) {
  ExtenderWorld world(SnapshotOf({WholeInventory("one", 1), WholeInventory("two", 2)}));
  const json pod = PodJson("p nvidia.com/gpu=2");
  // two unknown nodes, one too small, one that fits; then the same again, with one name twice
  world.Post("/v1/filter", NamesBody(pod, {"a", "one", "two", "b"}));
  world.Post("/filter", NamesBody(pod, {"a", "one", "two", "b", "b"}));
  world.Post("/v1/filter", "nonsense");
  world.Post("/v1/bind", BindBody("p", "uid-p", "two"));
  world.Post("/v1/nonsense", "");
  const std::string text = world.metrics.Print();
  EXPECT_THAT(text, HasSubstr(R"(offcut_rejections_total{reason="node.unknown"} 4)"));
  EXPECT_THAT(text, HasSubstr(R"(offcut_rejections_total{reason="request.exceeds-node"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(offcut_rejections_total{reason="gpus.taken"} 0)"));
  const auto count = [&text](std::string_view labels) {
    const std::string line =
        "offcut_extender_request_duration_seconds_count{" + std::string(labels) + "} ";
    const auto at = text.find(line);
    return at == std::string::npos ? -1 : std::stoi(text.substr(at + line.size()));
  };
  // prometheus-cpp prints labels by name
  EXPECT_EQ(count(R"(code="200",verb="filter")"), 2);
  EXPECT_EQ(count(R"(code="400",verb="filter")"), 1);
  EXPECT_EQ(count(R"(code="200",verb="bind")"), 1);
  EXPECT_EQ(count(R"(code="200",verb="prioritize")"), 0);
}

// A pod that is bound or over, by what the request says, is filtered like any other, but no bind
// makes it known: its place is not ours to choose.
TEST(RoutesTest, ABindOfAPodThatCameBoundOrFinishedIsRefused) {
  ExtenderWorld world(SnapshotOf({WholeInventory("n", 2)}));
  json bound = PodJson("p nvidia.com/gpu=1");
  bound["spec"]["nodeName"] = "n";
  json finished = PodJson("q nvidia.com/gpu=1");
  finished["status"]["phase"] = "Succeeded";
  world.Json("/v1/filter", NamesBody(bound, {"n"}));
  world.Json("/v1/filter", NamesBody(finished, {"n"}));
  EXPECT_EQ(world.Json("/v1/bind", BindBody("p", "uid-p", "n"))["Error"],
            "pod is not known to offcut");
  EXPECT_EQ(world.Json("/v1/bind", BindBody("q", "uid-q", "n"))["Error"],
            "pod is not known to offcut");
}

TEST(RoutesTest, OfTwoPodsForTheLastGpuOneIsBound) {
  ExtenderWorld world(SnapshotOf({WholeInventory("n", 1)}));
  for (const std::string name : {"a", "b"}) {
    const json answer =
        world.Json("/v1/filter", NamesBody(PodJson(name + " nvidia.com/gpu=1"), {"n"}));
    EXPECT_THAT(answer["NodeNames"], ElementsAre("n"));  // filter advises: nothing is held yet
  }
  EXPECT_EQ(world.Json("/v1/bind", BindBody("a", "uid-a", "n"))["Error"], "");
  EXPECT_EQ(world.Json("/v1/bind", BindBody("b", "uid-b", "n"))["Error"], "not enough free GPUs");
}

TEST(RoutesTest, ALimitOfTheReaderIs413) {
  ExtenderWorld world(SnapshotOf({}));
  const HttpResponse answer =
      world.Post("/v1/filter", NamesBody(PodJson("p"), {std::string(254, 'n')}));
  EXPECT_EQ(answer.status, 413);
  EXPECT_EQ(json::parse(answer.body)["error"], "NodeNames[0] has more than 253 bytes");
}

// Eight pods of one name, one after the other, on a node of eight GPUs: at most one of them lives.
TEST(RoutesTest, WithoutAWatchANewUidOfANameFreesTheDevicesOfTheOldPod) {
  ExtenderWorld world(testing::SnapshotOf({testing::WholeInventory("n", 2)}));
  for (int i = 0; i < 8; ++i) {
    const std::string uid = "uid-" + std::to_string(i);
    scheduler::Pod pod = testing::PodFromText("job-0 nvidia.com/gpu=2");
    pod.uid = uid;
    world.Json("/v1/filter", NamesBody(PodJson(pod), {"n"}));
    EXPECT_EQ(world.Json("/v1/bind", BindBody("job-0", uid, "n"))["Error"], "");
  }
  EXPECT_EQ(world.store.Read()->pod_count(), 1U);
}

// The pod "job-0" that was created at that second.
scheduler::Pod JobOf(const std::string& uid, std::int64_t created_s = 0) {
  scheduler::Pod pod = testing::PodFromText("job-0 nvidia.com/gpu=1");
  pod.uid = uid;
  pod.created_s = created_s;
  return pod;
}

json JobJson(const std::string& uid) { return PodJson(JobOf(uid)); }

TEST(RoutesTest, AStaleBindOfAnOlderUidIsRefusedAndFreesNothing) {
  ExtenderWorld world(SnapshotOf({WholeInventory("n", 1)}));
  world.Json("/v1/filter", NamesBody(JobJson("old"), {"n"}));
  EXPECT_EQ(world.Json("/v1/bind", BindBody("job-0", "old", "n"))["Error"], "");
  world.Json("/v1/filter", NamesBody(JobJson("new"), {"n"}));
  EXPECT_EQ(world.Json("/v1/bind", BindBody("job-0", "new", "n"))["Error"], "");
  const std::string before = world.Dump();
  EXPECT_EQ(world.Json("/v1/bind", BindBody("job-0", "old", "n"))["Error"],
            "pod is not known to offcut");
  world.Json("/v1/filter", NamesBody(JobJson("old"), {"n"}));
  EXPECT_EQ(world.Json("/v1/bind", BindBody("job-0", "old", "n"))["Error"],
            "pod is not known to offcut");
  EXPECT_EQ(world.Dump(), before);
}

// Both have been asked about before either is bound.
TEST(RoutesTest, ABindOfTheOlderOfTwoUidsIsRefusedOnceTheYoungerIsBound) {
  ExtenderWorld world(SnapshotOf({WholeInventory("n", 2)}));
  for (const std::string uid : {"old", "new", "old"}) {  // the later retry makes it no younger
    world.Json("/v1/filter", NamesBody(JobJson(uid), {"n"}));
  }
  EXPECT_EQ(world.Json("/v1/bind", BindBody("job-0", "new", "n"))["Error"], "");
  const std::string before = world.Dump();
  EXPECT_EQ(world.Json("/v1/bind", BindBody("job-0", "old", "n"))["Error"],
            "a younger pod has that name");
  EXPECT_EQ(world.Dump(), before);
}

TEST(RoutesTest, AgeDecidesBeforeTheOrderInWhichPodsWereAskedAbout) {
  scheduler::Pod held = JobOf("new", 20);
  held.node_name = "n";
  ExtenderWorld world(SnapshotOf({WholeInventory("n", 2)}, {held}));
  json older = JobJson("old");
  older["metadata"]["creationTimestamp"] = "1970-01-01T00:00:10Z";
  world.Json("/v1/filter", NamesBody(older, {"n"}));
  EXPECT_EQ(world.Json("/v1/bind", BindBody("job-0", "old", "n"))["Error"],
            "a younger pod has that name");
  EXPECT_EQ(world.store.Read()->pod_count(), 1U);
}

// n holds the old pod, m another: the new one goes to m, and finds no room there.
TEST(RoutesTest, ABindThatFailsFreesNothing) {
  scheduler::Pod held = JobOf("old");
  held.node_name = "n";
  ExtenderWorld world(SnapshotOf({WholeInventory("n", 1), WholeInventory("m", 1)},
                                 {held, testing::PodFromText("other nvidia.com/gpu=1 node=m")}));
  world.Json("/v1/filter", NamesBody(JobJson("new"), {"n", "m"}));
  const std::string before = world.Dump();
  EXPECT_EQ(world.Json("/v1/bind", BindBody("job-0", "new", "m"))["Error"], "not enough free GPUs");
  EXPECT_EQ(world.Dump(), before);
  EXPECT_EQ(world.Json("/v1/bind", BindBody("job-0", "new", "n"))["Error"], "");
}

}  // namespace
}  // namespace offcut::api
