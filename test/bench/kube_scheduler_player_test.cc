#include "bench/kube_scheduler_player.h"

#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

namespace offcut::bench {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string> kAsked = {"a", "b", "c"};

std::string ProblemOf(const std::string& filter_answer) {
  const auto answer = ParseFilterAnswer(filter_answer, kAsked);
  return answer ? "" : answer.error().message;
}

TEST(FilterAnswerTest, CountsReasonsOfBothListsOfFailures) {
  const auto answer = ParseFilterAnswer(
      R"({"NodeNames":["b"],"FailedNodes":{"a":"full"},"FailedAndUnresolvableNodes":{"c":"full"}})",
      kAsked);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_THAT(answer->feasible, ElementsAre("b"));
  EXPECT_THAT(answer->refusals, ElementsAre(std::pair("full", 2)));
}

TEST(FilterAnswerTest, IsRefusedWhereKubeSchedulerRefusesIt) {
  EXPECT_EQ(ProblemOf("[]"), "answer to filter: not a JSON object");
  EXPECT_EQ(ProblemOf(R"({"Error":"not synced"})"), "answer to filter: not synced");
  EXPECT_EQ(ProblemOf(R"({"NodeNames":["d"]})"),
            "answer to filter: node \"d\" was not asked about");
}

TEST(FilterAnswerTest, IsRefusedWhereItLeavesANodeOut) {
  EXPECT_EQ(ProblemOf(R"({"NodeNames":["a"],"FailedNodes":{"b":"full"}})"),
            "answer to filter: node c stands in no list");
}

TEST(PrioritizeAnswerTest, SumsScoresOfAHost) {
  const auto scores = ParsePrioritizeAnswer(
      R"([{"Host":"a","Score":3},{"Host":"b","Score":10},{"Host":"a","Score":4}])");
  ASSERT_TRUE(scores.has_value());
  EXPECT_THAT(*scores, ElementsAre(std::pair("a", 7), std::pair("b", 10)));
}

TEST(PrioritizeAnswerTest, IsRefusedWhereAScoreIsNoInteger) {
  EXPECT_FALSE(ParsePrioritizeAnswer(R"([{"Host":"a","Score":3.5}])").has_value());
  EXPECT_FALSE(ParsePrioritizeAnswer(R"({"Host":"a","Score":3})").has_value());
}

// An extender that answers as it is told, and keeps what it was asked. The player asks one request
// at a time, so what is kept is read after the answer has come.
class ScriptedExtender {
 public:
  ScriptedExtender() {
    for (const std::string verb : {"filter", "prioritize", "bind"}) {
      server_.Post("/v1/" + verb,
                   [this, verb](const httplib::Request& request, httplib::Response& response) {
                     asked_.emplace_back(verb, json::parse(request.body));
                     response.set_content(answers_[verb], "application/json");
                   });
    }
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    // A stop() before the thread listens would be lost.
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~ScriptedExtender() {
    server_.stop();
    thread_.join();
  }
  ScriptedExtender(const ScriptedExtender&) = delete;
  ScriptedExtender& operator=(const ScriptedExtender&) = delete;

  void Answer(const std::string& verb, const std::string& body) { answers_[verb] = body; }
  std::uint16_t Port() const { return static_cast<std::uint16_t>(port_); }
  std::vector<std::string> Verbs() const {
    std::vector<std::string> verbs(asked_.size());
    std::ranges::transform(asked_, verbs.begin(), &std::pair<std::string, json>::first);
    return verbs;
  }
  const json& Body(std::size_t index) const { return asked_.at(index).second; }

 private:
  httplib::Server server_;
  std::map<std::string, std::string> answers_;
  std::vector<std::pair<std::string, json>> asked_;
  int port_ = 0;
  std::thread thread_;
};

// Three nodes of one GPU each.
ClusterObjects ThreeNodes() {
  const json allocatable = {
      {"cpu", "4"}, {"memory", "8Gi"}, {"pods", "9"}, {"nvidia.com/gpu", "1"}};
  ClusterObjects objects;
  for (const std::string& name : kAsked) {
    objects.nodes.push_back(
        json{{"metadata", {{"name", name}}}, {"status", {{"allocatable", allocatable}}}});
  }
  return objects;
}

// A pod that asks for one of the resource.
json PodAsking(const std::string& resource) {
  const json container = {{"resources", {{"limits", {{resource, "1"}}}}}};
  return {{"kind", "Pod"},
          {"metadata", {{"name", "p"}, {"namespace", "ml"}, {"uid", "u"}}},
          {"spec", {{"containers", std::vector<json>{container}}}}};
}

KubeSchedulerPlayer PlayerFor(const ScriptedExtender& extender, const ClusterObjects& objects) {
  auto player = KubeSchedulerPlayer::Create(objects, extender.Port(),
                                            {.managed = {"nvidia.com/gpu"}, .weight = 15});
  EXPECT_TRUE(player.has_value());
  return *std::move(player);
}

// b scores 10: whatever MostAllocated says (at most 100), 10 x 15 x 10 = 1500 outvotes it.
TEST(PlayerThreadsTest, BindsWhereTheExtenderScoresBest) {
  ScriptedExtender extender;
  extender.Answer("filter", R"({"NodeNames":["a","b"],"FailedNodes":{"c":"full"}})");
  extender.Answer("prioritize", R"([{"Host":"a","Score":0},{"Host":"b","Score":10}])");
  extender.Answer("bind", R"({"Error":""})");
  const auto played = PlayerFor(extender, ThreeNodes()).Play(PodAsking("nvidia.com/gpu"));
  ASSERT_TRUE(played.has_value()) << played.error().message;
  EXPECT_EQ(played->node_name, "b");
  ASSERT_THAT(extender.Verbs(), ElementsAre("filter", "prioritize", "bind"));
  EXPECT_EQ(extender.Body(0)["NodeNames"], json(kAsked));
  EXPECT_TRUE(extender.Body(0)["Nodes"].is_null());
  EXPECT_FALSE(extender.Body(0)["Pod"].contains("kind"));
  EXPECT_EQ(extender.Body(1)["NodeNames"], json(std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(extender.Body(2).dump(),
            R"({"Node":"b","PodName":"p","PodNamespace":"ml","PodUID":"u"})");
}

TEST(PlayerThreadsTest, AsksForNoScoreWhereOneNodeIsLeft) {
  ScriptedExtender extender;
  extender.Answer("filter", R"({"NodeNames":["c"],"FailedNodes":{"a":"full","b":"full"}})");
  extender.Answer("bind", R"({"Error":""})");
  const auto played = PlayerFor(extender, ThreeNodes()).Play(PodAsking("nvidia.com/gpu"));
  ASSERT_TRUE(played.has_value()) << played.error().message;
  EXPECT_EQ(played->node_name, "c");
  EXPECT_THAT(extender.Verbs(), ElementsAre("filter", "bind"));
}

// Node a is unschedulable; b and c are refused by the extender.
TEST(PlayerThreadsTest, TellsTheReasonsOfBothWhereNoNodeIsLeft) {
  ScriptedExtender extender;
  ClusterObjects objects = ThreeNodes();
  objects.nodes[0]["spec"]["unschedulable"] = true;
  extender.Answer("filter",
                  R"({"FailedNodes":{"b":"full"},"FailedAndUnresolvableNodes":{"c":"full"}})");
  const auto played = PlayerFor(extender, objects).Play(PodAsking("nvidia.com/gpu"));
  ASSERT_TRUE(played.has_value()) << played.error().message;
  EXPECT_EQ(played->refusal, "0/3 nodes are available: 1 node(s) were unschedulable, 2 full.");
  EXPECT_TRUE(played->extender_is_asked);
}

TEST(PlayerThreadsTest, AsksNobodyWhereItsOwnFiltersLeaveNoNode) {
  const ScriptedExtender extender;
  const auto played = PlayerFor(extender, ThreeNodes()).Play(PodAsking("nvidia.com/mig-1g.5gb"));
  ASSERT_TRUE(played.has_value()) << played.error().message;
  EXPECT_EQ(played->refusal, "0/3 nodes are available: 3 Insufficient nvidia.com/mig-1g.5gb.");
  EXPECT_THAT(extender.Verbs(), IsEmpty());
}

// b runs a pod with one of its 4 CPUs, so it is the fullest.
TEST(PlayerThreadsTest, BindsAPodThatNamesNoManagedResourceItself) {
  const ScriptedExtender extender;
  ClusterObjects objects = ThreeNodes();
  objects.pods.push_back(PodAsking("cpu"));
  objects.pods[0]["spec"]["nodeName"] = "b";
  const auto played = PlayerFor(extender, objects).Play(PodAsking("cpu"));
  ASSERT_TRUE(played.has_value()) << played.error().message;
  EXPECT_EQ(played->node_name, "b");
  EXPECT_FALSE(played->extender_is_asked);
  EXPECT_THAT(extender.Verbs(), IsEmpty());
}

// The pod that was bound first has taken a's GPU.
TEST(PlayerThreadsTest, ChargesThePodsThatItBound) {
  ScriptedExtender extender;
  extender.Answer("filter", R"({"NodeNames":["a"],"FailedNodes":{"b":"x","c":"x"}})");
  extender.Answer("bind", R"({"Error":""})");
  KubeSchedulerPlayer player = PlayerFor(extender, ThreeNodes());
  ASSERT_TRUE(player.Play(PodAsking("nvidia.com/gpu")).has_value());
  extender.Answer("filter", R"({"NodeNames":["b"],"FailedNodes":{"c":"x"}})");
  ASSERT_TRUE(player.Play(PodAsking("nvidia.com/gpu")).has_value());
  EXPECT_EQ(extender.Body(2)["NodeNames"], json(std::vector<std::string>{"b", "c"}));
}

TEST(PlayerThreadsTest, TellsABindThatFailed) {
  ScriptedExtender extender;
  extender.Answer("filter", R"({"NodeNames":["a"],"FailedNodes":{"b":"x","c":"x"}})");
  extender.Answer("bind", R"({"Error":"pod already holds devices on another node"})");
  const auto played = PlayerFor(extender, ThreeNodes()).Play(PodAsking("nvidia.com/gpu"));
  ASSERT_FALSE(played.has_value());
  EXPECT_EQ(played.error().message, "answer to bind: pod already holds devices on another node");
}

TEST(PlayerThreadsTest, TellsAStatusOtherThan200) {
  const ScriptedExtender extender;
  const auto answer = HttpConnection(extender.Port()).Get("/v1/other");
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().message, "GET /v1/other: status 404");
}

TEST(ExtenderEntryTest, IsReadFromTheConfigurationThatIsShipped) {
  const auto entry = ReadExtenderEntry(OFFCUT_SOURCE_DIR "/deploy/kube-scheduler/extender.yaml");
  ASSERT_TRUE(entry.has_value()) << entry.error().message;
  EXPECT_EQ(entry->weight, 15);
  EXPECT_TRUE(entry->managed.contains("nvidia.com/gpu"));
  EXPECT_FALSE(entry->ignored.contains("nvidia.com/gpu"));
  EXPECT_TRUE(entry->ignored.contains("nvidia.com/gpucores"));
}

TEST(ExtenderEntryTest, AQuantityOfZeroMakesItInterested) {
  json pod = PodAsking("nvidia.com/gpu");
  pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "0";
  const ExtenderEntry entry{.managed = {"nvidia.com/gpu"}};
  EXPECT_TRUE(IsInterested(entry, pod));
  EXPECT_FALSE(IsInterested(entry, PodAsking("nvidia.com/gpu.shared")));
}

}  // namespace
}  // namespace offcut::bench
