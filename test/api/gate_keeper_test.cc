#include "api/gate_keeper.h"

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "test/testing/api_server.h"
#include "test/testing/kube_calls.h"
#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using scheduler::Pod;
using scheduler::Snapshot;
using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PodFromText;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using testing::WholeInventory;

constexpr milliseconds kDelay{2};

// red has quota for two GPUs, and nobody to borrow of.
std::shared_ptr<const scheduler::Tenancy> Red(std::int64_t gpus = 2) {
  scheduler::Tenancy tenancy = testing::TenancyOf(
      {{.name = "red",
        .quotas = {{.pool = "default", .resource = "devices", .guarantee = 1400 * gpus}}}});
  tenancy.by_namespace["red"] = 0;
  return std::make_shared<const scheduler::Tenancy>(std::move(tenancy));
}

Pod OneGpu(const std::string& text, bool is_gated) {
  Pod pod = PodFromText(text + " nvidia.com/gpu=1 namespace=red");
  pod.has_quota_gate = is_gated;
  return pod;
}

// A node of 16 GPUs, and gated pods of red that ask for one each.
class World {
 public:
  explicit World(GateKeeperSettings settings = {})
      : metrics("1", scheduler::Reasons()), client(StartClient(PlainConfig(server.Port()))) {
    server.On("PATCH", {{.reply = Reply(200, "{}")}});
    store.Update([](Snapshot& next) {
      next = testing::SnapshotOf({WholeInventory("n", 16)});
      next.SetTenancy(Red());
    });
    settings.delay = kDelay;
    settings.backoff = {.first = kDelay, .max = kDelay};
    keeper = std::make_unique<GateKeeper>(
        *client, store, metrics, [this] { return may_lift.load(); }, settings);
  }
  ~World() { client->Stop(); }

  // An edit that the keeper is told of.
  void Change(const std::function<void(Snapshot&)>& edit) {
    store.Update([&](Snapshot& next) { edit(next); });
    client->Post([this] { keeper->StateChanged(); });
  }
  void Gate(const std::vector<std::string>& names) {
    Change([&](Snapshot& next) {
      for (const std::string& name : names) next.PutPod(OneGpu(name, true));
    });
  }

  // The names of the pods that were patched, at least so many, once all looks that are due are
  // over: timers of the client run in the order of their times, and what they send arrives before a
  // later read.
  std::vector<std::string> Patched(std::size_t at_least = 0) {
    Names(at_least);
    std::promise<void> over;
    client->RunAfter(kDelay * 20, [&over] { over.set_value(); });
    over.get_future().wait();
    for (int i = 0; i < 10; ++i) Ask(*client, Get("/x"));
    return Names(0);
  }
  // The same, once there are so many.
  std::vector<std::string> Names(std::size_t count) {
    std::vector<std::string> names;
    for (const PeerRequest& request : server.WaitForRequests("PATCH", count)) {
      names.push_back(request.target.substr(request.target.rfind('/') + 1));
    }
    return names;
  }

  ApiServer server;
  scheduler::StateStore store;
  Metrics metrics;
  std::atomic<bool> may_lift = true;
  std::unique_ptr<KubeClient> client;
  std::unique_ptr<GateKeeper> keeper;
};

TEST(GateKeeperTest, TakesExactlyTheGateOffExactlyThatPod) {
  World world;
  world.Gate({"a"});
  const auto requests = world.server.WaitForRequests("PATCH", 1);
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].target, "/api/v1/namespaces/red/pods/a");
  EXPECT_EQ(requests[0].Field("Content-Type"), "application/strategic-merge-patch+json");
  EXPECT_EQ(nlohmann::json::parse(requests[0].body), nlohmann::json::parse(R"({
    "metadata": {"uid": "uid-a"},
    "spec": {"schedulingGates": [{"$patch": "delete", "name": "offcut.dev/quota"}]}})"));
}

TEST(GateKeeperTest, LiftsAsManyAsQuotaHasRoomFor) {
  World world;
  world.Gate({"a created=1", "b created=2", "c created=3"});
  EXPECT_THAT(world.Patched(2), UnorderedElementsAre("a", "b"));
}

// The watch lags: a and b are still shown with their gates when they have been lifted.
TEST(GateKeeperTest, CountsALiftThatTheWatchDoesNotShowYet) {
  World world;
  world.Gate({"a created=1", "b created=2"});
  EXPECT_THAT(world.Patched(2), UnorderedElementsAre("a", "b"));
  world.Gate({"old created=0", "c created=3"});
  EXPECT_THAT(world.Patched(2), UnorderedElementsAre("a", "b"));
  world.Change([](Snapshot& next) {
    next.PutPod(OneGpu("a", false));  // the watch shows it
    next.RemovePod("uid-b");          // and makes room
  });
  EXPECT_THAT(world.Patched(3), UnorderedElementsAre("a", "b", "old"));
}

TEST(GateKeeperTest, CountsALiftThatIsOnItsWay) {
  World world;
  std::promise<void> answered;
  ApiStep held{.reply = Reply(200, "{}")};
  held.once = answered.get_future().share();
  world.server.On("PATCH", {held});
  world.Gate({"a created=1", "b created=2"});
  world.server.WaitForRequests("PATCH", 2);
  world.Gate({"c created=3"});
  const auto patched = world.Patched();
  answered.set_value();
  EXPECT_THAT(patched, UnorderedElementsAre("a", "b"));
}

TEST(GateKeeperTest, LooksByItselfWhilePodsAreGated) {
  World world({.period = kDelay, .unseen_timeout = kDelay});
  world.Gate({"a"});
  // Not shown in time, so that it counts as gated again.
  EXPECT_THAT(world.Names(3), Contains("a").Times(::testing::Ge(3)));
}

TEST(GateKeeperTest, HasOnlySoManyOnTheirWayAtOnce) {
  World world({.in_flight_max = 1});
  std::promise<void> answered;
  ApiStep held{.reply = Reply(200, "{}")};
  held.once = answered.get_future().share();
  world.server.On("PATCH", {held, {.reply = Reply(200, "{}")}});
  world.Gate({"a created=1", "b created=2"});
  EXPECT_THAT(world.Patched(1), ElementsAre("a"));
  answered.set_value();
  EXPECT_THAT(world.Names(2), ElementsAre("a", "b"));
}

// ---- Who may -----------------------------------------------------------------------------------

TEST(GateKeeperTest, LiftsNothingWhileAnotherLeads) {
  World world;
  world.may_lift = false;
  world.Gate({"a"});
  EXPECT_THAT(world.Patched(), IsEmpty());
  world.may_lift = true;
  world.Change([](Snapshot&) {});
  EXPECT_THAT(world.Patched(1), ElementsAre("a"));
}

// ---- What fails --------------------------------------------------------------------------------

// a and b are gone, unseen; c must not wait until the watch says so.
TEST(GateKeeperTest, GivesTheTurnOfAPodThatIsGoneToTheNext) {
  World world;
  world.server.On(
      "PATCH",
      {{.reply = Reply(404, "{}")}, {.reply = Reply(409, "{}")}, {.reply = Reply(200, "{}")}});
  world.Gate({"a created=1", "b created=2", "c created=3"});
  EXPECT_THAT(world.Patched(3), UnorderedElementsAre("a", "b", "c"));
}

// Somebody's admission may refuse every change of the pod.
TEST(GateKeeperTest, LeavesAPodAsideThatTheServerRefusesToChange) {
  World world({.aside_time = std::chrono::hours{1}});
  world.server.On("PATCH /api/v1/namespaces/red/pods/a", {{.reply = Reply(422, "{}")}});
  world.Gate({"a created=1", "b created=2", "c created=3"});
  EXPECT_THAT(world.Patched(3), UnorderedElementsAre("a", "b", "c"));
}

TEST(GateKeeperTest, TriesAPodThatWasLeftAsideAgain) {
  World world({.period = kDelay, .aside_time = kDelay});
  world.server.On("PATCH", {{.reply = Reply(422, "{}")}, {.reply = Reply(200, "{}")}});
  world.Gate({"a"});
  EXPECT_THAT(world.Patched(2), UnorderedElementsAre("a", "a"));
}

// Certainly not done: whose turn it is by then goes first.
TEST(GateKeeperTest, ChoosesAnewWhereTheServerHadNoTime) {
  World world;
  world.server.On("PATCH", {{.reply = Reply(429, "{}")}, {.reply = Reply(200, "{}")}});
  world.Gate({"a"});
  EXPECT_THAT(world.Patched(2), UnorderedElementsAre("a", "a"));
}

// It may have been done: no other pod gets its turn, and it is asked for again.
TEST(GateKeeperTest, SendsAgainWhatMayHaveBeenDone) {
  World world;
  world.server.On("PATCH /api/v1/namespaces/red/pods/a",
                  {{.reply = Reply(503, "{}")}, {.reply = Reply(200, "{}")}});
  world.Gate({"a created=1", "b created=2", "c created=3"});
  EXPECT_THAT(world.Patched(3), UnorderedElementsAre("a", "b", "a"));
}

TEST(GateKeeperTest, SendsNothingWhileTheServerFails) {
  World world;
  world.server.On("PATCH", {{.reply = Reply(503, "{}")}});
  world.Gate({"a"});
  const auto patched = world.Patched(1);
  EXPECT_THAT(patched, Contains("a"));
  EXPECT_LE(patched.size(), 21U);  // once in kDelay, of 20
}

// ---- What is counted ---------------------------------------------------------------------------

TEST(GateKeeperTest, CountsWhatItLiftedAndWhoWaits) {
  World world;
  world.Gate({"a created=1", "b created=2", "c created=3"});
  world.Patched(2);
  EXPECT_THAT(world.metrics.Print(), HasSubstr("offcut_gates_lifted_total 2"));
  EXPECT_THAT(world.metrics.Print(), HasSubstr(R"(offcut_gated_pods{tenant="red"} 3)"));
  world.Change([](Snapshot& next) { next.PutPod(OneGpu("a", false)); });
  world.Patched();
  EXPECT_THAT(world.metrics.Print(), HasSubstr(R"(offcut_gated_pods{tenant="red"} 2)"));
  world.Change([](Snapshot& next) {
    for (const char* uid : {"uid-b", "uid-c"}) next.RemovePod(uid);
  });
  world.Patched();
  EXPECT_THAT(world.metrics.Print(), Not(HasSubstr("offcut_gated_pods{")));
}

}  // namespace
}  // namespace offcut::api
