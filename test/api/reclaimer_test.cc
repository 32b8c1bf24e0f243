#include "api/reclaimer.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/hold_json.h"
#include "test/testing/api_server.h"
#include "test/testing/kube_calls.h"
#include "test/testing/tenancies.h"
#include "test/testing/waiting.h"
#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using scheduler::Pod;
using scheduler::ReclaimMode;
using scheduler::Snapshot;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PodFromText;
using ::testing::SizeIs;
using testing::WaitUntil;
using testing::WholeInventory;

constexpr std::string_view kEvictA = "POST /api/v1/namespaces/red/pods/a/eviction";
constexpr std::string_view kEvictB = "POST /api/v1/namespaces/red/pods/b/eviction";

// red has both GPUs of n, one of which is blue's, whose pod of the same priority waits.
class World {
 public:
  explicit World(ReclaimMode mode = ReclaimMode::kOn, std::int64_t gpus = 1)
      : metrics("1", scheduler::Reasons()), client(StartClient(PlainConfig(server.Port()))) {
    server.On("PATCH", {{.reply = Reply(200, "{}")}});
    server.On("POST", {{.reply = Reply(201, "{}")}});
    policy.reclaim = {.mode = mode, .after_s = 0};
    Pod waiting = PodFromText(fmt::format("p nvidia.com/gpu={} namespace=blue", gpus));
    waiting.unscheduled_message = "0/1 nodes are available";
    store.Update([&](Snapshot& next) {
      next = testing::SnapshotOf(
          {WholeInventory("n", 2)},
          {PodFromText("a nvidia.com/gpu=1 namespace=red node=n created=1"),
           PodFromText("b nvidia.com/gpu=1 namespace=red node=n created=2"), waiting});
      next.SetTenancy(std::make_shared<const scheduler::Tenancy>(
          testing::RedAndBlueOf(testing::Gpus(2 - gpus, gpus), testing::Gpus(gpus, 0))));
    });
    events = std::make_unique<EventRecorder>(*client, "test");
    reclaimer = std::make_unique<Reclaimer>(
        *client, store, policy, metrics, *events, [this] { return may_act.load(); },
        ReclaimerSettings{.period = milliseconds{2}, .unseen_timeout = unseen_timeout});
  }
  ~World() { client->Stop(); }

  void Start() {
    client->Post([this] { reclaimer->Start(); });
  }

  // The hold of the PATCH of that number.
  scheduler::Hold Written(std::size_t number = 1) {
    const auto requests = server.WaitForRequests("PATCH", number);
    const auto body = nlohmann::json::parse(requests.at(number - 1).body);
    EXPECT_EQ(body["metadata"]["uid"], "uid-p");
    return *ParseHold(body["metadata"]["annotations"]["offcut.dev/hold"].get<std::string>());
  }

  // As our watch would show it.
  void Show(const scheduler::Hold& hold) {
    Edit([&](Snapshot& next) {
      Pod pod = *next.FindPod("uid-p")->pod;
      pod.hold = hold;
      next.PutPod(pod);
    });
  }

  void Edit(const std::function<void(Snapshot&)>& edit) {
    store.Update([&](Snapshot& next) { edit(next); });
    client->Post([this] { reclaimer->StateChanged(); });
  }

  // The evictions that were asked for, "a" and "a?" for a trial, once there are so many.
  std::vector<std::string> Evictions(std::size_t count) {
    std::vector<std::string> names;
    EXPECT_TRUE(WaitUntil([&] {
      names.clear();
      for (const PeerRequest& request : server.WaitForRequests("POST", 0)) {
        if (!request.target.ends_with("/eviction")) continue;
        const auto body = nlohmann::json::parse(request.body);
        EXPECT_EQ(body["kind"], "Eviction");
        const std::string name = body["metadata"]["name"].get<std::string>();
        const auto& options = body["deleteOptions"];
        EXPECT_EQ(options["preconditions"]["uid"], "uid-" + name);
        names.push_back(options.contains("dryRun") ? name + "?" : name);
      }
      return names.size() >= count;
    }));
    return names;
  }

  // The events, "REASON POD: NOTE", once there are so many; sorted, for they are sent side by side.
  std::vector<std::string> Notes(std::size_t count) {
    std::vector<std::string> notes;
    EXPECT_TRUE(WaitUntil([&] {
      notes.clear();
      for (const PeerRequest& request : server.WaitForRequests("POST", 0)) {
        if (!request.target.ends_with("/events")) continue;
        const auto event = nlohmann::json::parse(request.body);
        notes.push_back(event["reason"].get<std::string>() + " " +
                        event["regarding"]["name"].get<std::string>() + ": " +
                        event["note"].get<std::string>());
      }
      return notes.size() == count;
    }));
    std::ranges::sort(notes);
    return notes;
  }

  bool TakesTheHoldOff(std::size_t patches) {
    const auto requests = server.WaitForRequests("PATCH", patches);
    const auto body = nlohmann::json::parse(requests.at(patches - 1).body);
    return body["metadata"]["annotations"]["offcut.dev/hold"].is_null();
  }

  milliseconds unseen_timeout = std::chrono::seconds{30};
  ApiServer server;
  scheduler::StateStore store;
  scheduler::Policy policy;
  Metrics metrics;
  std::atomic<bool> may_act = true;
  std::unique_ptr<KubeClient> client;
  std::unique_ptr<EventRecorder> events;
  std::unique_ptr<Reclaimer> reclaimer;
};

bool Counts(const World& world, std::string_view line) {
  return WaitUntil([&] { return world.metrics.Print().find(line) != std::string::npos; });
}

TEST(ReclaimerTest, HoldsThenTriesThenEvicts) {
  World world;
  world.Start();
  const scheduler::Hold hold = world.Written();
  EXPECT_EQ(hold.node, "n");
  EXPECT_THAT(hold.victim_uids, ElementsAre("uid-b"));
  EXPECT_THAT(world.Evictions(0), IsEmpty()) << "the hold has not been seen";
  world.Show(hold);
  EXPECT_THAT(world.Evictions(2), ElementsAre("b?", "b"));
  EXPECT_TRUE(Counts(world, "offcut_reclaims_total{outcome=\"done\"} 1"));
  EXPECT_TRUE(Counts(world, "offcut_evictions_total 1"));
}

TEST(ReclaimerTest, TellsThePodAndItsVictimWhy) {
  World world;
  world.Start();
  world.Show(world.Written());
  world.Evictions(2);
  const std::vector<std::string> notes = world.Notes(2);
  ASSERT_THAT(notes, SizeIs(2));
  const std::string cause = "tenant blue has less than its guarantee, and tenant red more.";
  EXPECT_EQ(notes[0], "OffcutEvicts b: Evicted for blue/p: " + cause);
  EXPECT_THAT(notes[1], HasSubstr("OffcutReclaims p: Evicts red/b on node n: " + cause));
}

TEST(ReclaimerTest, EvictsNobodyInADryRunAndSaysWhoWouldGo) {
  World world(ReclaimMode::kDryRun);
  world.Start();
  EXPECT_TRUE(Counts(world, "offcut_reclaims_total{outcome=\"dry-run\"} 1"));
  EXPECT_THAT(world.Notes(2),
              ElementsAre(HasSubstr("OffcutWouldEvict b: Dry run: would be evicted for blue/p"),
                          HasSubstr("OffcutWouldReclaim p: Dry run: would evict red/b on node n")));
  EXPECT_THAT(world.Evictions(0), IsEmpty());
  EXPECT_EQ(world.server.Count("PATCH"), 0U);
}

TEST(ReclaimerTest, IsOffUnlessThePolicySaysSo) {
  EXPECT_EQ(scheduler::Policy().reclaim.mode, ReclaimMode::kOff);
  World world(ReclaimMode::kOff);
  world.Start();
  // What the client runs later than a look of ours would be.
  std::promise<void> later;
  world.client->RunAfter(milliseconds{40}, [&later] { later.set_value(); });
  later.get_future().wait();
  EXPECT_EQ(world.server.Count("PATCH"), 0U);
}

// Both of red's would have to go, and the second one's budget forbids it.
TEST(ReclaimerTest, EvictsNobodyWhereABudgetForbidsOneOfThem) {
  World world(ReclaimMode::kOn, 2);
  world.server.On(std::string(kEvictB), {{.reply = Reply(429, "{}")}});
  world.Start();
  const scheduler::Hold hold = world.Written();
  EXPECT_THAT(hold.victim_uids, SizeIs(2));
  world.Show(hold);
  EXPECT_TRUE(world.TakesTheHoldOff(2));
  EXPECT_THAT(world.Evictions(2), ElementsAre("a?", "b?"));
  EXPECT_TRUE(Counts(world, "offcut_reclaims_total{outcome=\"given-up\"} 1"));
}

TEST(ReclaimerTest, TakesAVictimThatHasGoneForOneThatWent) {
  World world(ReclaimMode::kOn, 2);
  world.server.On(std::string(kEvictA), {{.reply = Reply(404, "{}")}});
  world.Start();
  world.Show(world.Written());
  EXPECT_THAT(world.Evictions(4), ElementsAre("a?", "b?", "a", "b"));
  EXPECT_TRUE(Counts(world, "offcut_reclaims_total{outcome=\"done\"} 1"));
}

TEST(ReclaimerTest, GivesUpWhereItsHoldIsRefused) {
  World world;
  world.server.On("PATCH", {{.reply = Reply(403, "{}")}});
  world.Start();
  EXPECT_TRUE(Counts(world, "offcut_reclaims_total{outcome=\"given-up\"} 1"));
  EXPECT_THAT(world.Evictions(0), IsEmpty());
}

TEST(ReclaimerTest, EvictsNobodyForAPodThatHasGoneMeanwhile) {
  World world;
  world.Start();
  world.Written();
  world.Edit([](Snapshot& next) { next.RemovePod("uid-p"); });
  EXPECT_TRUE(Counts(world, "offcut_reclaims_total{outcome=\"given-up\"} 1"));
  EXPECT_THAT(world.Evictions(0), IsEmpty());
}

TEST(ReclaimerTest, EvictsNobodyOnceAnotherLeads) {
  World world;
  world.Start();
  const scheduler::Hold hold = world.Written();
  world.may_act = false;
  world.Show(hold);
  // Behind the look that the change has caused.
  std::promise<void> later;
  world.client->RunAfter(milliseconds{20}, [&later] { later.set_value(); });
  later.get_future().wait();
  EXPECT_THAT(world.Evictions(0), IsEmpty());
}

// The pod still waits when its hold is over; the next try is for later.
TEST(ReclaimerTest, PausesBetweenTwoTriesForOnePod) {
  World world;
  world.server.On(std::string(kEvictB), {{.reply = Reply(429, "{}")}});
  world.Start();
  world.Show(world.Written());
  EXPECT_TRUE(world.TakesTheHoldOff(2));
  world.Edit([](Snapshot& next) {
    Pod pod = *next.FindPod("uid-p")->pod;
    pod.hold.reset();
    next.PutPod(pod);
  });
  std::promise<void> later;
  world.client->RunAfter(milliseconds{40}, [&later] { later.set_value(); });
  later.get_future().wait();
  EXPECT_EQ(world.server.Count("PATCH"), 2U);
}

// The first has gone already: what it leaves stays held.
TEST(ReclaimerTest, KeepsItsHoldWhereTheSecondIsRefusedAfterTheFirstWent) {
  World world(ReclaimMode::kOn, 2);
  world.server.On(std::string(kEvictB), {{.reply = Reply(201, "{}")}, {.reply = Reply(429, "{}")}});
  world.Start();
  world.Show(world.Written());
  EXPECT_THAT(world.Evictions(4), ElementsAre("a?", "b?", "a", "b"));
  EXPECT_TRUE(Counts(world, "offcut_reclaims_total{outcome=\"given-up\"} 1"));
  std::promise<void> later;
  world.client->RunAfter(milliseconds{40}, [&later] { later.set_value(); });
  later.get_future().wait();
  EXPECT_EQ(world.server.Count("PATCH"), 1U);
}

// a has left by itself, and red has no more than its guarantee: b need not go.
TEST(ReclaimerTest, EvictsNobodyOnceOthersHaveMadeRoom) {
  World world;
  world.Start();
  const scheduler::Hold hold = world.Written();
  world.Edit([&](Snapshot& next) {
    next.RemovePod("uid-a");
    Pod pod = *next.FindPod("uid-p")->pod;
    pod.hold = hold;
    next.PutPod(pod);
  });
  EXPECT_TRUE(world.TakesTheHoldOff(2));
  EXPECT_THAT(world.Evictions(0), IsEmpty());
}

TEST(ReclaimerTest, EvictsNobodyForAPodThatIsNominatedElsewhereMeanwhile) {
  World world;
  world.Start();
  const scheduler::Hold hold = world.Written();
  world.Edit([&](Snapshot& next) {
    Pod pod = *next.FindPod("uid-p")->pod;
    pod.hold = hold;
    pod.nominated_node_name = "m";
    next.PutPod(pod);
  });
  EXPECT_TRUE(world.TakesTheHoldOff(2));
  EXPECT_THAT(world.Evictions(0), IsEmpty());
}

}  // namespace
}  // namespace offcut::api
