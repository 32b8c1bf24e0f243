// The state of a cluster, kept from a played API server. No test sleeps: each waits for the state
// that must come.
#include "api/cluster.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/lease.h"
#include "test/api/binder_world.h"
#include "test/testing/api_server.h"
#include "test/testing/kube_calls.h"
#include "test/testing/waiting.h"
#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using testing::PodFromText;
using ::testing::SizeIs;
using testing::WaitUntil;

// A node of so many A10 GPUs, or without a readable status.
std::string NodeBody(const std::string& name, int gpus, const std::string& heartbeat = "1") {
  const std::string count = std::to_string(gpus);
  return nlohmann::json{
      {"metadata",
       {{"name", name},
        {"resourceVersion", heartbeat},
        {"labels",
         {{"nvidia.com/gpu.product", "NVIDIA-A10"}, {"nvidia.com/gpu.memory", "23028"}}}}},
      {"status",
       {{"allocatable", {{"nvidia.com/gpu", count}}},
        {"capacity", {{"nvidia.com/gpu", count}}},
        {"conditions", {{{"type", "Ready"}, {"lastHeartbeatTime", heartbeat}}}}}}}
      .dump();
}
std::string UnreadableNode(const std::string& name) {
  return nlohmann::json{{"metadata", {{"name", name}, {"resourceVersion", "1"}}}, {"status", 5}}
      .dump();
}
std::string PodText(std::string_view pod_text) { return PodBody(PodFromText(pod_text)); }

ClusterSettings QuickSettings() {
  ClusterSettings settings;
  settings.binder = HastySettings();
  settings.nudger.delay = milliseconds{1};
  settings.expectations.claim_again = settings.expectations.claim;
  settings.list_watch.backoff = {.first = milliseconds{1}, .max = milliseconds{2}};
  settings.list_watch.silence_timeout = kKubePatience;
  settings.list_watch.initial_events_timeout = kKubePatience;
  return settings;
}

// A cluster of node "n1" with one GPU and "n2" with two, unless the test lists something else.
class World {
 public:
  explicit World(ClusterSettings settings = QuickSettings()) {
    settings.config = PlainConfig(server.Port());
    settings.client.qps = settings.client.burst = 100'000;
    settings.synced = [this] { ++synced; };
    auto started = Cluster::Start(std::move(settings), {store, policy, recent_pods, metrics});
    EXPECT_TRUE(started);
    cluster = *std::move(started);
  }
  ~World() { cluster->Stop(); }

  void Begin(const std::vector<std::string>& pods = {}) {
    server.Push("nodes", WatchList({NodeBody("n1", 1), NodeBody("n2", 2)}));
    server.Push("pods", WatchList(pods));
    cluster->StartWatches();
    EXPECT_TRUE(WaitUntil([this] { return synced > 0; }));
  }

  void Event(const std::string& kind, std::string_view type, const std::string& object) {
    server.Push(kind, WatchEventLine(type, object));
  }

  // The watch has lost the thread; these are all pods now.
  void Relist(const std::vector<std::string>& pods) {
    Event("pods", "ERROR", StatusBody(410, "Expired", "too old"));
    server.CutWatch("pods");
    server.Push("pods", WatchList(pods));
  }

  std::string PlaceOf(const std::string& pod_name) const {
    const auto snapshot = store.Read();
    const scheduler::PodEntry* entry = snapshot->FindPod("uid-" + pod_name);
    if (entry == nullptr) return "unknown";
    std::string text(NameOf(entry->phase));
    return entry->node_name.empty() ? text : text + " on " + entry->node_name;
  }
  bool ComesTo(const std::string& pod_name, const std::string& place) const {
    return WaitUntil([&] { return PlaceOf(pod_name) == place; });
  }
  std::size_t GpusOf(const std::string& node_name) const {
    const auto snapshot = store.Read();
    const scheduler::Node* node = snapshot->FindNode(node_name);
    return node == nullptr ? 0 : node->inventory.devices.gpus.size();
  }
  std::size_t ExpectedOn(const std::string& node_name) const {
    return store.Read()->ExpectedOn(node_name).size();
  }

  void Claim(std::string_view pod_text, std::string_view node_name) const {
    cluster->Claim(std::make_shared<const scheduler::Pod>(PodFromText(pod_text)), node_name);
  }
  void Refuse(std::string_view pod_text, std::vector<std::string> nodes) const {
    cluster->Refused(std::make_shared<const scheduler::Pod>(PodFromText(pod_text)),
                     std::move(nodes), {}, store.Read());
  }
  std::future<std::string> Bind(const std::string& pod_name, const std::string& node_name) const {
    auto promise = std::make_shared<std::promise<std::string>>();
    std::future<std::string> answer = promise->get_future();
    cluster->Bind({pod_name, "default", "uid-" + pod_name, node_name},
                  [promise](std::string error) { promise->set_value(std::move(error)); });
    return answer;
  }
  // As kube-scheduler does it: again until there is a last word, which none of the texts is that
  // say that time was short.
  std::string BindAgainAndAgain(const std::string& pod_name, const std::string& node_name) const {
    std::string error = "in time";
    WaitUntil([&] {
      auto answer = Bind(pod_name, node_name);
      error = BinderWorld::Get(answer);
      return error.find("in time") == std::string::npos;
    });
    return error;
  }

  ApiServer server;
  scheduler::StateStore store;
  scheduler::Policy policy;
  RecentPods recent_pods;
  Metrics metrics{"test", scheduler::Reasons()};
  std::atomic<int> synced = 0;
  std::unique_ptr<Cluster> cluster;
};

constexpr std::string_view kA = "a nvidia.com/gpu=1";
constexpr std::string_view kAOnN1 = "a nvidia.com/gpu=1 node=n1";

// ---- Lists and watches -------------------------------------------------------------------------

TEST(ClusterTest, KeepsTheStateFromListsAndWatches) {
  World world;
  world.Begin({PodText(kAOnN1), PodText("w nvidia.com/gpu=1")});
  EXPECT_EQ(world.PlaceOf("a"), "bound on n1");
  EXPECT_EQ(world.PlaceOf("w"), "pending");
  EXPECT_EQ(world.GpusOf("n2"), 2U);
  world.Event("pods", "ADDED", PodText("b nvidia.com/gpu=1 node=n2"));
  world.Event("pods", "MODIFIED", PodText("w nvidia.com/gpu=1 node=n2"));
  world.Event("pods", "DELETED", PodText(kAOnN1));
  EXPECT_TRUE(world.ComesTo("a", "unknown"));
  EXPECT_EQ(world.PlaceOf("b"), "bound on n2");
  EXPECT_EQ(world.PlaceOf("w"), "bound on n2");
  world.Event("nodes", "ADDED", NodeBody("n3", 4));
  world.Event("nodes", "MODIFIED", NodeBody("n2", 8));
  world.Event("nodes", "DELETED", NodeBody("n1", 1));
  EXPECT_TRUE(WaitUntil([&] { return world.GpusOf("n1") == 0; }));
  EXPECT_EQ(world.GpusOf("n2"), 8U);
  EXPECT_EQ(world.GpusOf("n3"), 4U);
}

TEST(ClusterTest, IsSyncedOnceBothListsAreThere) {
  for (const std::string first : {"nodes", "pods"}) {
    World world;
    const bool nodes_first = first == "nodes";
    world.cluster->StartWatches();
    EXPECT_FALSE(world.cluster->IsSynced());
    world.server.Push(first, WatchList({nodes_first ? NodeBody("n1", 1) : PodText(kA)}));
    EXPECT_TRUE(nodes_first ? WaitUntil([&] { return world.GpusOf("n1") == 1; })
                            : world.ComesTo("a", "pending"));
    EXPECT_FALSE(world.cluster->IsSynced());
    EXPECT_EQ(world.synced, 0);
    world.server.Push(nodes_first ? "pods" : "nodes", WatchList({}));
    EXPECT_TRUE(WaitUntil([&] { return world.synced == 1; }));
    EXPECT_TRUE(world.cluster->IsSynced());
  }
}

TEST(ClusterTest, LeavesOutANodeThatCannotBeReadAndKeepsTheOthers) {
  World world;
  world.server.Push("nodes", WatchList({UnreadableNode("bad"), NodeBody("n1", 1)}));
  world.server.Push("pods", WatchList({}));
  world.cluster->StartWatches();
  EXPECT_TRUE(WaitUntil([&] { return world.synced == 1; }));
  EXPECT_THAT(world.store.Read()->nodes(), SizeIs(1));
  EXPECT_EQ(world.GpusOf("n1"), 1U);
}

TEST(ClusterTest, ForgetsANodeThatBecomesUnreadable) {
  World world;
  world.Begin();
  world.Event("nodes", "MODIFIED", UnreadableNode("n1"));
  EXPECT_TRUE(WaitUntil([&] { return world.GpusOf("n1") == 0; }));
  EXPECT_EQ(world.GpusOf("n2"), 2U);
  world.Event("nodes", "MODIFIED", NodeBody("n1", 1));
  EXPECT_TRUE(WaitUntil([&] { return world.GpusOf("n1") == 1; }));
}

TEST(ClusterTest, RebuildsNoNodeForItsHeartbeats) {
  World world;
  world.Begin();
  const auto before = world.store.Read();
  world.Event("nodes", "MODIFIED", NodeBody("n1", 1, "2"));
  world.Event("nodes", "MODIFIED", NodeBody("n1", 1, "3"));
  world.Event("nodes", "MODIFIED", NodeBody("n2", 3));
  EXPECT_TRUE(WaitUntil([&] { return world.GpusOf("n2") == 3; }));
  EXPECT_EQ(world.store.Read()->FindNode("n1"), before->FindNode("n1"));
}

TEST(ClusterTest, CountsThePodsThatARelistFindsGone) {
  World world;
  world.Begin({PodText(kAOnN1), PodText("b"), PodText("c")});
  EXPECT_THAT(world.metrics.Print(), HasSubstr("offcut_ledger_ghosts_total 0"));
  world.Relist({PodText("c"), PodText("d")});
  EXPECT_TRUE(world.ComesTo("d", "pending"));
  EXPECT_EQ(world.PlaceOf("a"), "unknown");
  EXPECT_EQ(world.PlaceOf("b"), "unknown");
  EXPECT_EQ(world.PlaceOf("c"), "pending");
  EXPECT_TRUE(WaitUntil([&] {
    return world.metrics.Print().find("offcut_ledger_ghosts_total 2") != std::string::npos;
  }));
}

// ---- Bindings ----------------------------------------------------------------------------------

TEST(ClusterTest, BindsOnceItsPredecessorsBindingsMustHaveArrived) {
  const auto start = std::chrono::steady_clock::now();
  World world;
  world.server.On("POST", {{.reply = Reply(201, "{}")}});
  world.Begin({PodText(kA)});
  EXPECT_EQ(world.BindAgainAndAgain("a", "n1"), "");
  EXPECT_EQ(world.PlaceOf("a"), "bound on n1");
  EXPECT_GE(std::chrono::steady_clock::now() - start, HastySettings().answer_timeout);
}

// Bound by us, and missing in a list that may be older: only the API server knows.
TEST(ClusterTest, AsksForAPodThatItBoundAndARelistDoesNotShow) {
  for (const bool is_gone : {true, false}) {
    World world;
    world.server.On("POST", {{.reply = Reply(201, "{}")}});
    world.server.On("GET", {is_gone ? Says(404, "not found") : Shows(kAOnN1)});
    world.Begin({PodText(kA)});
    EXPECT_EQ(world.BindAgainAndAgain("a", "n1"), "");
    world.Relist({});
    EXPECT_THAT(world.server.WaitForRequests("GET", 1), SizeIs(1));
    EXPECT_TRUE(WaitUntil([&] {
      const auto snapshot = world.store.Read();
      const scheduler::PodEntry* entry = snapshot->FindPod("uid-a");
      return is_gone ? entry == nullptr : entry != nullptr && IsSeen(*entry);
    }));
    EXPECT_THAT(world.metrics.Print(), HasSubstr("offcut_ledger_ghosts_total 0"));
  }
}

TEST(ClusterTest, WakesAPodForDevicesThatABindGivesBack) {
  ClusterSettings settings = QuickSettings();
  settings.binder.answer_timeout = milliseconds{300};
  World world(settings);
  std::promise<void> release;
  ApiStep refusal = Says(403, "no right");
  refusal.once = release.get_future().share();
  world.server.On("POST", {refusal});
  world.server.On("PATCH", {{.reply = Reply(200, "{}")}});
  world.Begin({PodText(kA), PodText("b nvidia.com/gpu=1")});
  const auto answer = world.Bind("a", "n1");
  EXPECT_TRUE(world.ComesTo("a", "reserved on n1"));
  world.Refuse("b nvidia.com/gpu=1", {"n1"});
  release.set_value();
  const auto patches = world.server.WaitForRequests("PATCH", 1);
  ASSERT_THAT(patches, SizeIs(1));
  EXPECT_EQ(patches[0].target, "/api/v1/namespaces/default/pods/b");
}

// A ghost that waited does not stand in the way of those that still do.
TEST(ClusterTest, WakesNoPodThatARelistFindsGone) {
  World world;
  world.server.On("PATCH", {{.reply = Reply(200, "{}")}});
  world.Begin({PodText(kAOnN1), PodText("old nvidia.com/gpu=1"), PodText("b nvidia.com/gpu=1")});
  world.Refuse("old nvidia.com/gpu=1 created=1", {"n1"});
  world.Refuse("b nvidia.com/gpu=1 created=2", {"n1"});
  world.Relist({PodText("b nvidia.com/gpu=1")});
  const auto patches = world.server.WaitForRequests("PATCH", 1);
  ASSERT_THAT(patches, SizeIs(1));
  EXPECT_EQ(patches[0].target, "/api/v1/namespaces/default/pods/b");
}

// A successor that led at once could give the same devices before the binding arrives.
TEST(ClusterTest, KeepsTheLeaseWhereABindingMayStillBeCarriedOut) {
  for (const bool is_answered : {true, false}) {
    ClusterSettings settings = QuickSettings();
    settings.binder.answer_timeout = milliseconds{200};
    settings.election = LeaderElectionSettings{.identity = "us"};
    World world(settings);
    const std::string lease = NewLease("default", "offcut", {}).dump();
    world.server.On("GET", {{.reply = Reply(200, lease)}});
    world.server.On("PUT", {{.reply = Reply(200, lease)}});
    world.server.On("POST", {{.reply = is_answered ? Reply(201, "{}") : "",
                              .then = is_answered ? ApiStep::Then::kGoOn : kHold}});
    world.Begin({PodText(kA)});
    EXPECT_TRUE(WaitUntil([&] { return world.cluster->IsLeading(); }));
    if (is_answered) {
      EXPECT_EQ(world.BindAgainAndAgain("a", "n1"), "");
    } else {
      // Those that come while bindings are still held are not sent, and told in an Event.
      EXPECT_TRUE(WaitUntil([&] {
        auto answer = world.Bind("a", "n1");
        BinderWorld::Get(answer);
        return std::ranges::any_of(
            world.server.WaitForRequests("POST", 0),
            [](const PeerRequest& request) { return request.target.ends_with("/binding"); });
      }));
    }
    world.cluster->Stop();
    const auto writes = world.server.WaitForRequests("PUT", 1);
    const auto last = ReadLease(nlohmann::json::parse(writes.back().body));
    EXPECT_EQ(last->holder, is_answered ? "" : "us");
  }
}

TEST(ClusterTest, ForgetsNothingWhileItDoesNotWatchAndSaysSo) {
  ClusterSettings settings = QuickSettings();
  settings.list_watch.backoff = {.first = std::chrono::hours{1}, .max = std::chrono::hours{1}};
  World world(settings);
  world.Begin({PodText(kAOnN1)});
  EXPECT_TRUE(WaitUntil([&] { return world.cluster->IsWatching(); }));
  EXPECT_THAT(world.metrics.Print(), HasSubstr("offcut_watch_up{kind=\"pods\"} 1"));
  world.Event("pods", "ERROR", StatusBody(403, "Forbidden", "no right"));
  EXPECT_TRUE(WaitUntil([&] { return !world.cluster->IsWatching(); }));
  EXPECT_EQ(world.PlaceOf("a"), "bound on n1");
}

// kube-scheduler has failed over to the one beside this sidecar, whose watch may be dead.
TEST(ClusterTest, ListsAnewWhereASidecarIsAskedAfterAPause) {
  ClusterSettings settings = QuickSettings();
  settings.election = LeaderElectionSettings{.identity = "us"};
  settings.takeover_pause = milliseconds{0};
  World world(settings);
  world.Begin({PodText(kA)});
  EXPECT_TRUE(world.server.WaitForWatches("pods", 1));
  world.cluster->Asked();
  EXPECT_TRUE(world.server.WaitForWatches("pods", 2));
}

// However short ago it has started: in a rolling update its predecessor ends just then.
TEST(ClusterTest, ListsAnewWhereASidecarIsAskedForTheFirstTime) {
  ClusterSettings settings = QuickSettings();
  settings.election = LeaderElectionSettings{.identity = "us"};
  settings.takeover_pause = std::chrono::hours{1};
  World world(settings);
  world.Begin({PodText(kA)});
  world.cluster->Asked();
  EXPECT_TRUE(world.server.WaitForWatches("pods", 2));
  world.cluster->Asked();
  world.server.Push("pods", WatchList({PodText(kA), PodText("b")}));
  EXPECT_TRUE(world.ComesTo("b", "pending")) << "a third watch would have ended this list";
}

// A sidecar that takes each question for a takeover, and would hold bindings for so long.
ClusterSettings SidecarSettings(milliseconds hold) {
  ClusterSettings settings = QuickSettings();
  settings.binder = PatientSettings();
  settings.binder.answer_timeout = hold;
  settings.election = LeaderElectionSettings{.identity = "us"};
  settings.takeover_pause = milliseconds{0};
  return settings;
}

// A pod as another sidecar has bound it, to the first GPU of n1.
std::string OthersPod() {
  scheduler::Pod other = PodFromText("other nvidia.com/gpu=1 node=n1");
  other.record = scheduler::DeviceRecord{.pod_uid = other.uid, .node = "n1", .agent = "nvidia"};
  other.record->devices = {{.container = "main", .gpu = 0}};
  return PodBody(other, other.record);
}

// "a" has been bound by us, and a scheduler asks for "b" that may be another.
class MeetingTest : public ::testing::Test {
 protected:
  explicit MeetingTest(milliseconds hold = milliseconds{200}) : world(SidecarSettings(hold)) {
    world.server.On("POST", {{.reply = Reply(201, "{}")}});
    world.Begin({PodText(kA), PodText("b nvidia.com/gpu=1")});
    EXPECT_EQ(world.BindAgainAndAgain("a", "n2"), "");
  }
  // What is listed because of the question.
  void List(std::vector<std::string> more) {
    EXPECT_TRUE(world.server.WaitForWatches("pods", 2));
    more.push_back(PodText("a nvidia.com/gpu=1 node=n2"));
    more.push_back(PodText("b nvidia.com/gpu=1"));
    world.server.Push("pods", WatchList(more));
  }
  World world;
};

// What the sidecar that was asked before has sent may still arrive. Where the last binding is ours,
// we were that sidecar.
TEST_F(MeetingTest, HoldsBindingsWhereASidecarIsAskedAfterAnother) {
  world.Event("pods", "ADDED", OthersPod());
  EXPECT_TRUE(world.ComesTo("other", "bound on n1"));
  const auto asked = std::chrono::steady_clock::now();
  world.cluster->Asked();
  List({OthersPod()});
  EXPECT_EQ(world.BindAgainAndAgain("b", "n2"), "");
  EXPECT_GE(std::chrono::steady_clock::now() - asked, milliseconds{200});
}

// Its watch was dead, and it took the last binding for its own.
TEST_F(MeetingTest, JudgesBindingsByTheNewList) {
  world.cluster->Asked();
  auto early = world.Bind("b", "n1");
  EXPECT_THAT(BinderWorld::Get(early), HasSubstr("in time"));
  List({OthersPod()});
  EXPECT_TRUE(world.ComesTo("other", "bound on n1"));
  EXPECT_THAT(world.BindAgainAndAgain("b", "n1"), HasSubstr("not enough free GPUs"));
  const auto posts = world.server.WaitForRequests("POST", 0);
  EXPECT_EQ(
      std::ranges::count_if(
          posts, [](const PeerRequest& request) { return request.target.ends_with("/binding"); }),
      1)
      << "of a";
}

// The first list was asked for before the second question: by its end another sidecar may have
// bound what it does not show.
TEST_F(MeetingTest, ListsOnceMoreForAQuestionThatCameDuringTheList) {
  world.cluster->Asked();
  EXPECT_TRUE(world.server.WaitForWatches("pods", 2));
  world.cluster->Asked();
  world.cluster->Asked();
  List({PodText("c")});
  EXPECT_TRUE(world.ComesTo("c", "pending")) << "the list was cut off";
  EXPECT_TRUE(world.server.WaitForWatches("pods", 3));
  auto early = world.Bind("b", "n1");
  EXPECT_THAT(BinderWorld::Get(early), HasSubstr("in time")) << "bindings are held still";
  world.server.Push("pods", WatchList({PodText("a nvidia.com/gpu=1 node=n2"),
                                       PodText("b nvidia.com/gpu=1"), OthersPod()}));
  EXPECT_TRUE(world.ComesTo("other", "bound on n1"));
  EXPECT_THAT(world.BindAgainAndAgain("b", "n1"), HasSubstr("not enough free GPUs"));
}

class SlowMeetingTest : public MeetingTest {
 protected:
  SlowMeetingTest() : MeetingTest(std::chrono::seconds{1}) {}
};

TEST_F(SlowMeetingTest, HoldsNoBindingWhereTheLastOneIsOurs) {
  // A held one would be answered after its time, and not be sent.
  world.cluster->Asked();
  List({});
  auto answer = world.Bind("b", "n2");
  EXPECT_EQ(BinderWorld::Get(answer), "");
}

TEST(ClusterTest, AnswersOpenBindsWhenItStops) {
  ClusterSettings settings = QuickSettings();
  settings.binder = PatientSettings();
  World world(settings);
  world.Begin({PodText(kA)});
  auto answer = world.Bind("a", "n1");
  EXPECT_TRUE(world.ComesTo("a", "reserved on n1"));
  world.cluster->Stop();
  EXPECT_EQ(BinderWorld::Get(answer), "offcut is shutting down");
}

// ---- Claims and nominations --------------------------------------------------------------------

// n1's only GPU is held by a victim that kube-scheduler sees gone.
TEST(ClusterTest, LetsANomineeWaitForItsNodeAndWakesIt) {
  ClusterSettings settings = QuickSettings();
  settings.nudger.follow_up = milliseconds{1};
  World world(settings);
  world.server.On("PATCH", {{.reply = Reply(200, "{}")}});
  const std::string_view text = "boss nvidia.com/gpu=1 priority=9 nominated=n1";
  world.Begin({PodText(kAOnN1), PodText(text)});
  const scheduler::Pod boss = PodFromText(text);
  const auto waits = [&](const std::string& candidate) {
    return world.cluster->WaitsForItsNode(*world.store.Read(), boss,
                                          {{.node_name = candidate, .victim_uids = {"uid-x"}}});
  };
  EXPECT_FALSE(waits("n2")) << "filter has not refused it on n1";
  const std::vector<scheduler::Verdict> refused = {{scheduler::Reason::kGpusTaken}};
  world.cluster->Filtered(boss, {"n1"}, refused);
  EXPECT_FALSE(waits("n1")) << "kube-scheduler sees somebody there, too";
  world.cluster->Filtered(boss, {"n1"}, refused);
  EXPECT_TRUE(waits("n2"));
  EXPECT_EQ(world.server.WaitForRequests("PATCH", 1)[0].target,
            "/api/v1/namespaces/default/pods/boss");
  world.cluster->Filtered(boss, {"n2"}, refused);
  EXPECT_FALSE(waits("n2")) << "n1 was not asked about";
}

TEST(ClusterTest, EndsAClaimAfterItsTimeAndWakesWhoWaitedForIt) {
  ClusterSettings settings = QuickSettings();
  settings.expectations.claim = milliseconds{30};
  World world(settings);
  world.server.On("PATCH", {{.reply = Reply(200, "{}")}});
  world.Begin();
  world.Claim(kA, "n1");
  EXPECT_EQ(world.ExpectedOn("n1"), 1U);
  world.Refuse("b nvidia.com/gpu=1", {"n1"});
  EXPECT_THAT(world.server.WaitForRequests("PATCH", 1), SizeIs(1));
  EXPECT_EQ(world.ExpectedOn("n1"), 0U);
}

// The second claim without a bind between: somebody else refuses a, and b must not starve.
TEST(ClusterTest, EndsAClaimSoonAfterOneThatLedToNoBind) {
  ClusterSettings settings = QuickSettings();
  settings.expectations = {.claim = std::chrono::hours{1}, .claim_again = milliseconds{30}};
  World world(settings);
  world.server.On("PATCH", {{.reply = Reply(200, "{}")}});
  world.Begin();
  world.Claim(kA, "n1");
  world.Claim(kA, "n1");
  world.Refuse("b nvidia.com/gpu=1", {"n1"});
  EXPECT_THAT(world.server.WaitForRequests("PATCH", 1), SizeIs(1));
  EXPECT_EQ(world.ExpectedOn("n1"), 0U);
}

// "a" is none of the state: its deletion came before its claim, say, and nobody tells it again. A
// claim that was kept in mind would make the next one last an hour.
TEST(ClusterTest, ForgetsAClaimThatHasEndedOfAPodThatItDoesNotKnow) {
  ClusterSettings settings = QuickSettings();
  settings.expectations = {.claim = milliseconds{1}, .claim_again = std::chrono::hours{1}};
  World world(settings);
  world.Begin({PodText("b")});
  for (int i = 0; i < 2; ++i) {
    world.Claim(kA, "n1");
    EXPECT_TRUE(WaitUntil([&] { return world.ExpectedOn("n1") == 0; })) << "claim " << i;
  }
}

TEST(ClusterTest, EndsAClaimWhenTheSchedulerHasGivenTheAttemptUp) {
  World world;
  world.Begin({PodText(kA)});
  world.Claim(kA, "n1");
  EXPECT_EQ(world.ExpectedOn("n1"), 1U);
  auto pod = nlohmann::json::parse(PodText(kA));
  pod["status"]["conditions"] = {
      {{"type", "PodScheduled"}, {"status", "False"}, {"message", "another extender refused it"}}};
  world.Event("pods", "MODIFIED", pod.dump());
  EXPECT_TRUE(WaitUntil([&] { return world.ExpectedOn("n1") == 0; }));
  world.Claim(kA, "n1");
  world.Event("pods", "MODIFIED", pod.dump());  // nothing new
  world.Event("nodes", "ADDED", NodeBody("n3", 1));
  EXPECT_TRUE(WaitUntil([&] { return world.GpusOf("n3") == 1; }));
  EXPECT_EQ(world.ExpectedOn("n1"), 1U);
}

TEST(ClusterTest, KeepsAClaimWithinItsTime) {
  World world;
  world.Begin();
  world.Claim(kA, "n1");
  world.Claim(kA, "n2");
  world.Event("nodes", "ADDED", NodeBody("n3", 1));
  EXPECT_TRUE(WaitUntil([&] { return world.GpusOf("n3") == 1; }));
  EXPECT_EQ(world.ExpectedOn("n1"), 0U);
  EXPECT_EQ(world.ExpectedOn("n2"), 1U);
}

TEST(ClusterTest, WakesAPodForAClaimThatIsDroppedOrMoved) {
  for (const bool is_moved : {true, false}) {
    World world;
    world.server.On("PATCH", {{.reply = Reply(200, "{}")}});
    world.Begin();
    world.Claim(kA, "n1");
    world.Refuse("b nvidia.com/gpu=1", {"n1"});
    if (is_moved) {
      world.Claim(kA, "n2");
    } else {
      world.cluster->DropClaim("uid-a");
    }
    EXPECT_THAT(world.server.WaitForRequests("PATCH", 1), SizeIs(1));
  }
}

// Every filter drops its pod's claim; a new state for each would make every refusal look stale.
TEST(ClusterTest, PublishesNothingWhereThereIsNoClaimToDrop) {
  World world;
  world.Begin();
  const auto before = world.store.Read();
  world.cluster->DropClaim("uid-a");
  EXPECT_EQ(world.store.Read(), before);
}

TEST(ClusterTest, LetsANominationLapse) {
  ClusterSettings settings = QuickSettings();
  settings.expectations.nomination = milliseconds{1};
  World world(settings);
  world.Begin({PodText("a nvidia.com/gpu=1 nominated=n1")});
  EXPECT_TRUE(WaitUntil([&] { return world.ExpectedOn("n1") == 0; }));
  world.Event("pods", "MODIFIED", PodText("a nvidia.com/gpu=1 nominated=n1 priority=1"));
  world.Event("pods", "ADDED", PodText("b"));
  EXPECT_TRUE(world.ComesTo("b", "pending"));
  EXPECT_EQ(world.ExpectedOn("n1"), 0U) << "an update is no new nomination";
}

TEST(ClusterTest, HoldsANominationWithinItsTime) {
  World world;
  world.Begin({PodText("a nvidia.com/gpu=1 nominated=n1")});
  EXPECT_EQ(world.ExpectedOn("n1"), 1U);
  world.Event("pods", "MODIFIED", PodText("a nvidia.com/gpu=1 nominated=n2"));
  EXPECT_TRUE(WaitUntil([&] { return world.ExpectedOn("n2") == 1; }));
  EXPECT_EQ(world.ExpectedOn("n1"), 0U);
}

// The first nomination is taken back because filter refused the node, the second for a reason of
// kube-scheduler's own.
TEST(ClusterTest, KeepsANominationThatIsTakenBackForOurRefusalAlone) {
  World world;
  const std::string_view nominated = "boss nvidia.com/gpu=1 priority=9 nominated=n1";
  const std::string taken_back = PodText("boss nvidia.com/gpu=1 priority=9");
  world.Begin({PodText(kAOnN1), PodText(nominated)});
  world.cluster->Filtered(PodFromText(nominated), {"n1"}, {{scheduler::Reason::kGpusTaken}});
  for (const std::string other : {"b", "c"}) {
    world.Event("pods", "MODIFIED", taken_back);
    world.Event("pods", "ADDED", PodText(other));
    EXPECT_TRUE(world.ComesTo(other, "pending"));
    EXPECT_EQ(world.ExpectedOn("n1"), 1U) << "of " << other;
  }
  world.Event("pods", "MODIFIED", PodText(nominated));
  world.cluster->Filtered(PodFromText(nominated), {"n1"}, {{scheduler::Reason::kFits}});
  world.Event("pods", "MODIFIED", taken_back);
  EXPECT_TRUE(WaitUntil([&] { return world.ExpectedOn("n1") == 0; }));
}

TEST(ClusterTest, KeepsANominationThatIsTakenBackForItsTime) {
  ClusterSettings settings = QuickSettings();
  settings.expectations.taken_back = milliseconds{1};
  World world(settings);
  const std::string_view nominated = "boss nvidia.com/gpu=1 priority=9 nominated=n1";
  world.Begin({PodText(kAOnN1), PodText(nominated)});
  world.cluster->Filtered(PodFromText(nominated), {"n1"}, {{scheduler::Reason::kGpusTaken}});
  for (int i = 0; i < 2; ++i) {
    world.Event("pods", "MODIFIED", PodText("boss nvidia.com/gpu=1 priority=9"));
    EXPECT_TRUE(WaitUntil([&] { return world.ExpectedOn("n1") == 0; })) << "time " << i;
    world.Event("pods", "MODIFIED", PodText(nominated));
    EXPECT_TRUE(WaitUntil([&] { return world.ExpectedOn("n1") == 1; })) << "it is nominated anew";
  }
}

// A bind that fails leaves the pod nominated as before; that must end, too.
TEST(ClusterTest, LetsANominationLapseAfterAFailedBind) {
  ClusterSettings settings = QuickSettings();
  settings.expectations.nomination = milliseconds{1};
  World world(settings);
  world.server.On("POST", {Says(403, "no right")});
  world.Begin({PodText("a nvidia.com/gpu=1 nominated=n1")});
  EXPECT_TRUE(WaitUntil([&] { return world.ExpectedOn("n1") == 0; }));
  EXPECT_THAT(world.BindAgainAndAgain("a", "n1"), HasSubstr("no right"));
  EXPECT_TRUE(world.ComesTo("a", "pending"));
  EXPECT_TRUE(WaitUntil([&] { return world.ExpectedOn("n1") == 0; }));
}

}  // namespace
}  // namespace offcut::api
