// What an extender must show to kube-scheduler, case by case. Cases 1 to 28 are those of upstream's
// own tests of extenders, 29 and on are additions; where one has several rules, several tests have
// its number. Those that are not here need a scheduler, a cluster or a slow network.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "test/api/extender_world.h"
#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using nlohmann::json;
using scheduler::PodPhase;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::PodFromText;
using testing::PoolInventory;
using testing::SharedInventory;
using testing::SnapshotOf;
using testing::WholeInventory;

constexpr std::string_view kGpusTaken = "not enough free GPUs";
constexpr std::string_view kExceedsNode = "request is larger than the whole node";
constexpr std::string_view kNodeUnknown = "node not known to offcut (yet)";

// five nodes:          GPUs                             taken by
//   full    2 whole    XX                               low-1 (priority 0), high-1 (priority 100)
//   half    4 whole    XX..                             low-2 (priority 0)
//   idle    8 whole    ........
//   mps     1 shared   4 slots
//   mig     1g.5gb     7 instances
scheduler::Snapshot FiveNodes() {
  return SnapshotOf(
      {WholeInventory("full", 2), WholeInventory("half", 4), WholeInventory("idle", 8),
       SharedInventory("mps", binpack::Sharing::kMps, 1, 4),
       PoolInventory("mig", "A100-40GB", {{"1g.5gb", 7, 0}})},
      {PodFromText("low-1 nvidia.com/gpu=1 node=full priority=0"),
       PodFromText("high-1 nvidia.com/gpu=1 node=full priority=100"),
       PodFromText("low-2 nvidia.com/gpu=2 node=half priority=0")});
}

std::vector<std::string> NamesOf(const json& node_list) {
  std::vector<std::string> names;
  for (const json& item : node_list["items"]) names.push_back(item["metadata"]["name"]);
  return names;
}

// The paths end in the verb, as kube-scheduler joins urlPrefix and the verb of its configuration.
TEST(ConformanceTest, Case2EachVerbHasItsPathWithAndWithoutV1) {
  for (const std::string prefix : {"/v1", ""}) {
    ExtenderWorld world(FiveNodes());
    const std::string args = NamesBody(PodJson("p nvidia.com/gpu=1"), {"idle"});
    EXPECT_THAT(world.Json(prefix + "/filter", args)["NodeNames"], ElementsAre("idle"));
    EXPECT_EQ(world.Json(prefix + "/prioritize", args)[0]["Host"], "idle");
    EXPECT_TRUE(world.Json(prefix + "/preempt", args)["NodeNameToMetaVictims"].is_object());
    EXPECT_EQ(world.Json(prefix + "/bind", BindBody("p", "uid-p", "idle"))["Error"], "");
  }
}

TEST(ConformanceTest, Case2AnotherPathIs404AndAnUndecodableBody400) {
  ExtenderWorld world(FiveNodes());
  for (const std::string path : {"/", "/v1", "/v1/", "/v2/filter", "/v1/filter/", "/v1/Filter",
                                 "/v1/v1/filter", "/filters", "/v1/explain", ""}) {
    const HttpResponse answer = world.Post(path, "{}");
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_EQ(json::parse(answer.body)["error"], "no such path");
  }
  for (const std::string verb : {"filter", "prioritize", "preempt", "bind"}) {
    for (const std::string body : {"", "x", "[]", "null", "5", "{\"Pod\":"}) {
      const HttpResponse answer = world.Post("/v1/" + verb, body);
      EXPECT_EQ(answer.status, 400) << verb << ' ' << body;
      EXPECT_TRUE(json::parse(answer.body)["error"].is_string());
    }
  }
}

TEST(ConformanceTest, Case3FullNodesAreAnsweredByFullNodes) {
  ExtenderWorld world(FiveNodes());
  const json answer =
      world.Json("/v1/filter", NodesBody(PodJson("p nvidia.com/gpu=3"), {"idle", "full", "half"}));
  EXPECT_THAT(NamesOf(answer["Nodes"]), ElementsAre("idle"));
  EXPECT_TRUE(answer["NodeNames"].is_null());
  EXPECT_EQ(answer["FailedNodes"], json::object());
  // 3 GPUs are more than `full` has; `half` has 4, of which 2 are taken.
  EXPECT_EQ(answer["FailedAndUnresolvableNodes"],
            (json{{"full", kExceedsNode}, {"half", kGpusTaken}}));
  EXPECT_EQ(answer["Error"], "");
}

TEST(ConformanceTest, Case4NamesAreAnsweredByNames) {
  ExtenderWorld world(FiveNodes());
  const json answer =
      world.Json("/v1/filter", NamesBody(PodJson("p nvidia.com/gpu=2"), {"idle", "full", "half"}));
  EXPECT_TRUE(answer["Nodes"].is_null());
  EXPECT_THAT(answer["NodeNames"], ElementsAre("idle", "half"));
  EXPECT_EQ(answer["FailedAndUnresolvableNodes"], (json{{"full", kGpusTaken}}));
  EXPECT_EQ(answer["Error"], "");
}

// kube-scheduler reads the answer of `Nodes` in either mode, that of NodeNames in one alone.
TEST(ConformanceTest, Case4BothFormsAtOnceAreAnsweredByFullNodes) {
  ExtenderWorld world(FiveNodes());
  json body = json::parse(NodesBody(PodJson("p nvidia.com/gpu=2"), {"idle"}));
  body["NodeNames"] = {"half"};
  const json answer = world.Json("/v1/filter", body.dump());
  EXPECT_THAT(NamesOf(answer["Nodes"]), ElementsAre("idle"));
  EXPECT_TRUE(answer["NodeNames"].is_null());
}

TEST(ConformanceTest, Case5WhatCannotBeAnsweredIsErrorWithEmptyMaps) {
  ExtenderWorld world(FiveNodes());
  json unreadable = PodJson("p nvidia.com/gpu=1");
  unreadable["metadata"].erase("uid");
  const std::vector<std::string> bodies = {
      NamesBody(unreadable, {"idle"}),
      json{{"Pod", PodJson("p")}, {"Nodes", nullptr}, {"NodeNames", nullptr}}.dump()};
  for (const std::string& body : bodies) {
    const json answer = world.Json("/v1/filter", body);
    EXPECT_NE(answer["Error"], "");
    EXPECT_TRUE(answer["Nodes"].is_null() && answer["NodeNames"].is_null());
    EXPECT_EQ(answer["FailedNodes"], json::object());
    EXPECT_EQ(answer["FailedAndUnresolvableNodes"], json::object());
  }
}

// What kube-scheduler makes of the scores: score x weight x 10, added to the in-tree points.
std::string BestNode(const json& priorities, std::int64_t weight,
                     const std::map<std::string, std::int64_t>& points_in_tree) {
  std::map<std::int64_t, std::string> nodes_by_points;
  for (const json& entry : priorities) {
    const std::string host = entry["Host"];
    const std::int64_t points =
        points_in_tree.at(host) + entry["Score"].get<std::int64_t>() * weight * 10;
    nodes_by_points[points] = host;
  }
  return nodes_by_points.rbegin()->second;
}

// In-tree scorers prefer the empty node by 1,000 points of 1,400 at most; packing wants the pod on
// `half`, where two GPUs fill the node. One step of ours counts weight 15 x 10, ten steps 1,500.
TEST(ConformanceTest, Case6CombinedWeightedScoresDecideInBothForms) {
  ExtenderWorld world(FiveNodes());
  const json pod = PodJson("p nvidia.com/gpu=2");
  const std::map<std::string, std::int64_t> in_tree = {{"idle", 1000}, {"half", 0}};
  const json by_names = world.Json("/v1/prioritize", NamesBody(pod, {"idle", "half"}));
  const json by_nodes = world.Json("/v1/prioritize", NodesBody(pod, {"idle", "half"}));
  EXPECT_EQ(by_names, by_nodes);
  EXPECT_EQ(BestNode(by_names, 15, in_tree), "half");
  EXPECT_EQ(BestNode(by_names, 1, in_tree), "idle");
}

TEST(ConformanceTest, Case6WhatCannotBeScoredIsStillAValidList) {
  ExtenderWorld world(FiveNodes());
  json unreadable = PodJson("p nvidia.com/gpu=1");
  unreadable["metadata"].erase("uid");
  EXPECT_EQ(world.Json("/v1/prioritize", NamesBody(unreadable, {"idle", "half"})),
            json::parse(R"([{"Host":"idle","Score":0},{"Host":"half","Score":0}])"));
  EXPECT_EQ(world.Json("/v1/prioritize", R"({"Pod":{},"Nodes":null,"NodeNames":null})"),
            json::array());
}

TEST(ConformanceTest, Case7BindReservesForThePodOfThatNamespaceNameAndUid) {
  ExtenderWorld world(FiveNodes());
  world.Json("/v1/filter", NamesBody(PodJson("p nvidia.com/gpu=2"), {"half"}));
  EXPECT_EQ(world.Json("/v1/bind", BindBody("p", "uid-p", "half")), (json{{"Error", ""}}));
  const auto snapshot = world.store.Read();
  const auto* entry = snapshot->FindPod("uid-p");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->phase, PodPhase::kBound);
  EXPECT_EQ(entry->node_name, "half");
  // half: XX.. and now XXXX
  EXPECT_EQ(UsedUnits(snapshot->FindNode("half")->state), 4 * binpack::kGpuUnits);
}

TEST(ConformanceTest, Case7TheTextOfARefusedBindGoesToError) {
  ExtenderWorld world(FiveNodes());
  world.Json("/v1/filter", NamesBody(PodJson("p nvidia.com/gpu=1"), {"half"}));
  const std::string before = world.Dump();
  const auto error = [&world](const json& body) {
    return world.Json("/v1/bind", body.dump())["Error"].get<std::string>();
  };
  json body = json::parse(BindBody("p", "uid-p", "full"));
  EXPECT_EQ(error(body), kGpusTaken);
  body["Node"] = "no-such-node";
  EXPECT_EQ(error(body), kNodeUnknown);
  body = json::parse(BindBody("p", "uid-of-nobody", "half"));
  EXPECT_EQ(error(body), "pod is not known to offcut");
  body = json::parse(BindBody("another", "uid-p", "half"));
  EXPECT_EQ(error(body), "pod of that UID has another name or namespace");
  body = json::parse(BindBody("p", "uid-p", "half"));
  body["PodNamespace"] = "another";
  EXPECT_EQ(error(body), "pod of that UID has another name or namespace");
  for (const std::string member : {"PodName", "PodNamespace", "PodUID", "Node"}) {
    body = json::parse(BindBody("p", "uid-p", "half"));
    body.erase(member);
    EXPECT_EQ(error(body), member + " is missing");
    body[member] = "";
    EXPECT_EQ(error(body), member + " is missing");
  }
  EXPECT_EQ(world.Dump(), before);
}

TEST(ConformanceTest, Case8AResourceInLimitsAloneIsAskedFor) {
  ExtenderWorld world(FiveNodes());
  json pod = PodJson("p nvidia.com/gpu=1");
  pod["spec"]["containers"][0]["resources"].erase("requests");
  const json answer = world.Json("/v1/filter", NamesBody(pod, {"full", "idle"}));
  EXPECT_THAT(answer["NodeNames"], ElementsAre("idle"));
}

// Any list of nodes, some unknown, some twice; any count of GPUs; either way of refusing.
RC_GTEST_PROP(ConformanceTest, Case29And30EveryNodeIsInExactlyOnePlaceInTheOrderGiven, ()) {
  const auto names = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "full", "half", "idle", "mps", "mig", "unknown-1", "unknown-2"));
  const int gpus = *rc::gen::inRange(0, 10);
  scheduler::Policy policy;
  policy.refusals =
      *rc::gen::element(scheduler::Refusals::kUnresolvable, scheduler::Refusals::kPreemptable);
  ExtenderWorld world(FiveNodes(), policy);
  const json pod = PodJson("p nvidia.com/gpu=" + std::to_string(gpus) + " nominated=full");
  const bool in_full = *rc::gen::arbitrary<bool>();
  const json answer =
      world.Json("/v1/filter", in_full ? NodesBody(pod, names) : NamesBody(pod, names));

  std::vector<std::string> each_once;
  for (const std::string& name : names) {
    if (std::ranges::count(each_once, name) == 0) each_once.push_back(name);
  }
  const auto kept =
      in_full ? NamesOf(answer["Nodes"]) : answer["NodeNames"].get<std::vector<std::string>>();
  std::vector<std::string> kept_in_order;
  for (const std::string& name : each_once) {
    const auto places =
        std::ranges::count(kept, name) +
        static_cast<std::ptrdiff_t>(answer["FailedNodes"].count(name)) +
        static_cast<std::ptrdiff_t>(answer["FailedAndUnresolvableNodes"].count(name));
    RC_ASSERT(places == 1);
    if (std::ranges::count(kept, name) == 1) kept_in_order.push_back(name);
  }
  RC_ASSERT(kept == kept_in_order);
  RC_ASSERT(kept.size() + answer["FailedNodes"].size() +
                answer["FailedAndUnresolvableNodes"].size() ==
            each_once.size());
}

RC_GTEST_PROP(ConformanceTest, Case31ScoresAreIntegersFrom0To10OneANode, ()) {
  const auto names = *rc::gen::container<std::set<std::string>>(
      rc::gen::element<std::string>("full", "half", "idle", "mps", "mig", "unknown"));
  scheduler::Policy policy;
  policy.scores = *rc::gen::element(scheduler::Scores::kStrict, scheduler::Scores::kProportional);
  ExtenderWorld world(FiveNodes(), policy);
  const std::vector<std::string> list(names.begin(), names.end());
  const int gpus = *rc::gen::inRange(0, 5);
  const json answer = world.Json(
      "/v1/prioritize", NamesBody(PodJson("p nvidia.com/gpu=" + std::to_string(gpus)), list));
  RC_ASSERT(answer.size() == list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    RC_ASSERT(answer[i]["Host"] == list[i]);
    RC_ASSERT(answer[i]["Score"].is_number_integer());
    RC_ASSERT(answer[i]["Score"] >= 0 && answer[i]["Score"] <= 10);
  }
}

json MetaVictims(const std::map<std::string, std::vector<std::string>>& uids_by_node,
                 int pdb_violations = 0) {
  json all = json::object();
  for (const auto& [node, uids] : uids_by_node) {
    json pods = json::array();
    for (const std::string& uid : uids) pods.push_back({{"UID", uid}});
    all[node] = {{"Pods", pods}, {"NumPDBViolations", pdb_violations}};
  }
  return all;
}

std::string PreemptBody(const json& pod, const json& meta_victims) {
  return json{{"Pod", pod}, {"NodeNameToVictims", nullptr}, {"NodeNameToMetaVictims", meta_victims}}
      .dump();
}

// The pod needs 2 GPUs. full has 2, held by low-1 and high-1: both must go. half has 2 of 4 free.
TEST(ConformanceTest, Case32And33PreemptKeepsWhatHelpsAndNeverAnswersNull) {
  ExtenderWorld world(FiveNodes());
  const json pod = PodJson("p nvidia.com/gpu=2 priority=200");
  const auto answer = [&](const json& candidates) {
    const HttpResponse response = world.Post("/v1/preempt", PreemptBody(pod, candidates));
    EXPECT_EQ(response.body.find("null"), std::string::npos) << response.body;
    EXPECT_EQ(response.body.find("[]"), std::string::npos) << response.body;
    return json::parse(response.body)["NodeNameToMetaVictims"];
  };
  // By descending priority, whatever the order that came; violations are handed back.
  EXPECT_EQ(answer(MetaVictims({{"full", {"uid-low-1", "uid-high-1"}}}, 1)),
            MetaVictims({{"full", {"uid-high-1", "uid-low-1"}}}, 1));
  // One victim is not enough, so another joins it; one on another node makes the candidate void.
  EXPECT_EQ(answer(MetaVictims({{"full", {"uid-low-1"}}})),
            MetaVictims({{"full", {"uid-high-1", "uid-low-1"}}}));
  EXPECT_EQ(answer(MetaVictims({{"full", {"uid-low-1", "uid-high-1", "uid-low-2"}}})),
            json::object());
  // Came empty and needs nobody: left out, and takes no other down.
  EXPECT_EQ(answer(MetaVictims({{"half", {}}, {"full", {"uid-low-1", "uid-high-1"}}})),
            MetaVictims({{"full", {"uid-high-1", "uid-low-1"}}}));
  // A placeholder is filled.
  const json both = MetaVictims({{"full", {"uid-high-1", "uid-low-1"}}});
  EXPECT_EQ(answer({{"full", nullptr}}), both);
  EXPECT_EQ(answer({{"full", {{"Pods", nullptr}, {"NumPDBViolations", 0}}}}), both);
  EXPECT_EQ(answer(nullptr), json::object());
}

TEST(ConformanceTest, Case33NoVictimHasThePodsPriorityOrMore) {
  ExtenderWorld world(FiveNodes());
  const json candidates = MetaVictims({{"full", {"uid-high-1", "uid-low-1"}}});
  for (const auto& [priority, is_kept] : {std::pair(101, true), std::pair(100, false)}) {
    const json pod = PodJson("p nvidia.com/gpu=2 priority=" + std::to_string(priority));
    EXPECT_EQ(world.Json("/v1/preempt", PreemptBody(pod, candidates))["NodeNameToMetaVictims"],
              is_kept ? candidates : json::object());
  }
}

TEST(ConformanceTest, Case33FullVictimsAreAnsweredByTheirUids) {
  ExtenderWorld world(FiveNodes());
  json victims = json::object();
  victims["full"] = {{"Pods", json::array({PodJson("low-1 nvidia.com/gpu=1"),
                                           PodJson("high-1 nvidia.com/gpu=1")})},
                     {"NumPDBViolations", 2}};
  const json body = {{"Pod", PodJson("p nvidia.com/gpu=2 priority=200")},
                     {"NodeNameToVictims", victims},
                     {"NodeNameToMetaVictims", nullptr}};
  EXPECT_EQ(world.Json("/v1/preempt", body.dump())["NodeNameToMetaVictims"],
            MetaVictims({{"full", {"uid-high-1", "uid-low-1"}}}, 2));
}

TEST(ConformanceTest, Case33PodsWithoutOurResourcesPassThroughEveryVerb) {
  ExtenderWorld world(FiveNodes());
  const json pod = PodJson("p priority=200");
  EXPECT_THAT(world.Json("/v1/filter", NamesBody(pod, {"full", "unknown"}))["NodeNames"],
              ElementsAre("full", "unknown"));
  EXPECT_EQ(world.Json("/v1/prioritize", NamesBody(pod, {"full", "unknown"})),
            json::parse(R"([{"Host":"full","Score":0},{"Host":"unknown","Score":0}])"));
  const json candidates = MetaVictims({{"full", {"uid-low-1"}}, {"unknown", {"uid-of-another"}}});
  EXPECT_EQ(world.Json("/v1/preempt", PreemptBody(pod, candidates))["NodeNameToMetaVictims"],
            candidates);
  EXPECT_EQ(world.Json("/v1/bind", BindBody("p", "uid-p", "full"))["Error"], "");
}

// A nominated pod comes with its one node first. "Still being freed" is FailedNodes there, or the
// scheduler would evict a second set of pods elsewhere.
TEST(ConformanceTest, Case34ANominatedPodIsFilteredOnItsNodeThenOnAll) {
  ExtenderWorld world(FiveNodes());
  const std::string before = world.Dump();
  const json pod = PodJson("p nvidia.com/gpu=2 priority=200 nominated=full");
  const json alone = world.Json("/v1/filter", NamesBody(pod, {"full"}));
  EXPECT_EQ(alone["NodeNames"], json::array());
  EXPECT_EQ(alone["FailedNodes"], (json{{"full", kGpusTaken}}));
  const json all = world.Json("/v1/filter", NamesBody(pod, {"full", "half", "mps"}));
  EXPECT_EQ(all["FailedNodes"], (json{{"full", kGpusTaken}}));
  EXPECT_THAT(all["NodeNames"], Contains("half"));
  EXPECT_EQ(world.Dump(), before);
}

// Preemptable refusals are for schedulers that ask the preempt verb about them; what no eviction
// cures stays unresolvable, and what none that may be would.
TEST(ConformanceTest, Case34PolicySaysWhereARefusalGoes) {
  scheduler::Policy policy;
  policy.refusals = scheduler::Refusals::kPreemptable;
  ExtenderWorld world(FiveNodes(), policy);
  const auto ask = [&](const std::string& pod) {
    return world.Json("/v1/filter", NamesBody(PodJson(pod), {"full", "half"}));
  };
  const json high = ask("p nvidia.com/gpu=3 priority=200");
  EXPECT_EQ(high["FailedNodes"], (json{{"half", kGpusTaken}}));
  EXPECT_EQ(high["FailedAndUnresolvableNodes"], (json{{"full", kExceedsNode}}));
  const json low = ask("p nvidia.com/gpu=3");
  EXPECT_EQ(low["FailedNodes"], json::object());
  EXPECT_EQ(low["FailedAndUnresolvableNodes"],
            (json{{"full", kExceedsNode}, {"half", kGpusTaken}}));
}

TEST(ConformanceTest, Case35BindKnowsAPodOfTheStateWithoutFilterOrPrioritize) {
  ExtenderWorld world(SnapshotOf({WholeInventory("n", 2)}, {PodFromText("p nvidia.com/gpu=1")}));
  EXPECT_EQ(world.Json("/v1/bind", BindBody("p", "uid-p", "n"))["Error"], "");
  EXPECT_EQ(world.store.Read()->FindPod("uid-p")->phase, PodPhase::kBound);
}

TEST(ConformanceTest, Case36ARepeatedBindIsAnsweredLikeTheFirst) {
  ExtenderWorld world(FiveNodes());
  world.Json("/v1/filter", NamesBody(PodJson("p nvidia.com/gpu=1"), {"half", "idle"}));
  EXPECT_EQ(world.Json("/v1/bind", BindBody("p", "uid-p", "half"))["Error"], "");
  const std::string bound = world.Dump();
  EXPECT_EQ(world.Json("/v1/bind", BindBody("p", "uid-p", "half"))["Error"], "");
  EXPECT_EQ(world.Json("/v1/bind", BindBody("p", "uid-p", "idle"))["Error"],
            "pod already holds devices on another node");
  EXPECT_EQ(world.Json("/v1/bind", BindBody("p", "uid-other", "half"))["Error"],
            "pod is not known to offcut");
  EXPECT_EQ(world.Dump(), bound);
}

TEST(ConformanceTest, Case36ABoundPodIsOfferedItsOwnNodeAlone) {
  ExtenderWorld world(FiveNodes());
  const std::string args = NamesBody(PodJson("p nvidia.com/gpu=1"), {"idle", "half"});
  world.Json("/v1/filter", args);
  world.Json("/v1/bind", BindBody("p", "uid-p", "half"));
  const std::string bound = world.Dump();
  EXPECT_THAT(world.Json("/v1/filter", args)["NodeNames"], ElementsAre("half"));
  EXPECT_EQ(world.Dump(), bound);
}

TEST(ConformanceTest, Case38AQuantityOfZeroPassesEveryNode) {
  ExtenderWorld world(FiveNodes());
  json pod = PodJson("p nvidia.com/gpu=1");
  pod["spec"]["containers"][0]["resources"] = {{"limits", {{"nvidia.com/gpu", "0"}}},
                                               {"requests", {{"nvidia.com/gpu", "0"}}}};
  const json answer = world.Json("/v1/filter", NamesBody(pod, {"full", "mig", "unknown"}));
  EXPECT_THAT(answer["NodeNames"], ElementsAre("full", "mig", "unknown"));
}

// The scheduler gives up and asks again: the binding stands, once, and its answer can be fetched.
TEST(ConformanceTest, Case41ABindWhoseAnswerNobodyReadsIsOneBinding) {
  ExtenderWorld world(FiveNodes());
  world.Json("/v1/filter", NamesBody(PodJson("p nvidia.com/gpu=1"), {"half"}));
  const PaddedBody body(BindBody("p", "uid-p", "half"));
  AnswerExtender(world.Context(),
                 {.method = "POST",
                  .target = "/v1/bind",
                  .content_type = "application/json",
                  .body = body.view()},
                 [](const HttpResponse&) {});
  // half: XX.. and one more
  EXPECT_EQ(UsedUnits(world.store.Read()->FindNode("half")->state), 3 * binpack::kGpuUnits);
  EXPECT_EQ(world.Json("/v1/bind", body.view())["Error"], "");
  EXPECT_EQ(UsedUnits(world.store.Read()->FindNode("half")->state), 3 * binpack::kGpuUnits);
}

TEST(ConformanceTest, Case42HundredIdenticalAttemptsGetOneAnswer) {
  ExtenderWorld world(FiveNodes());
  const std::string args =
      NamesBody(PodJson("p nvidia.com/gpu=5"), {"mig", "full", "unknown", "half", "mps"});
  std::set<std::string> answers;
  for (int attempt = 0; attempt < 100; ++attempt) {
    answers.insert(world.Post("/v1/filter", args).body);
  }
  EXPECT_EQ(answers.size(), 1U);
}

TEST(ConformanceTest, Case43NamesThatGoHasEscapedAreThatName) {
  ExtenderWorld world(SnapshotOf({WholeInventory("a<b>&c", 1)}));
  std::string args = NamesBody(PodJson("p nvidia.com/gpu=1"), {"NODE"});
  args.replace(args.find("NODE"), 4, R"(a\u003cb\u003e\u0026c)");
  EXPECT_THAT(world.Json("/v1/filter", args)["NodeNames"], ElementsAre("a<b>&c"));
}

TEST(ConformanceTest, Case45ABodyWithoutPodIs400AndNullNodesAreError) {
  ExtenderWorld world(FiveNodes());
  for (const std::string verb : {"filter", "prioritize", "preempt"}) {
    for (const std::string body : {"{}", R"({"Pod":null,"NodeNames":["idle"]})"}) {
      const HttpResponse answer = world.Post("/v1/" + verb, body);
      EXPECT_EQ(answer.status, 400) << verb;
      EXPECT_EQ(json::parse(answer.body)["error"], "Pod is missing");
    }
  }
  const json answer = world.Json("/v1/filter", json{{"Pod", PodJson("p nvidia.com/gpu=1")}}.dump());
  EXPECT_EQ(answer["Error"], "neither Nodes nor NodeNames is set");
}

}  // namespace
}  // namespace offcut::api
