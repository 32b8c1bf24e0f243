#include "api/dated_holds.h"

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/hold_json.h"
#include "api/kube_time.h"
#include "test/testing/api_server.h"
#include "test/testing/kube_calls.h"
#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using scheduler::Hold;
using scheduler::HoldCause;
using scheduler::Pod;
using scheduler::Snapshot;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::PodFromText;
using ::testing::SizeIs;
using testing::WholeInventory;

constexpr milliseconds kDelay{2};
constexpr std::int64_t kLeftS = 1'000;

// It must have ended in so many seconds; 0: nobody knows when.
Pod EndingIn(const std::string& text, std::int64_t left_s) {
  Pod pod = PodFromText(text);
  pod.started_s = NowSeconds();
  pod.run_s_max = left_s;
  return pod;
}

Pod Waiting(const std::string& text) {
  Pod pod = PodFromText(text + " created=1");
  pod.unscheduled_message = "0/1 nodes are available";
  return pod;
}

// n has two GPUs, and both are in use for 1000 s.
class World {
 public:
  explicit World(DatedHoldsSettings settings = {})
      : client(StartClient(PlainConfig(server.Port()))), events(*client, "test") {
    server.On("PATCH", {{.reply = Reply(200, "{}")}});
    server.On("POST", {{.reply = Reply(201, "{}")}});
    store.Update([](Snapshot& next) {
      next = testing::SnapshotOf({WholeInventory("n", 2)},
                                 {EndingIn("a nvidia.com/gpu=1 node=n", kLeftS),
                                  EndingIn("b nvidia.com/gpu=1 node=n", kLeftS - 1)});
    });
    settings.delay = kDelay;
    settings.period = kDelay;
    settings.backoff = {.first = kDelay, .max = kDelay};
    holds = std::make_unique<DatedHolds>(
        *client, store, policy, events, [this] { return may_hold.load(); }, settings);
  }
  ~World() { client->Stop(); }

  void Change(const std::function<void(Snapshot&)>& edit) {
    store.Update([&](Snapshot& next) { edit(next); });
    client->Post([this] { holds->StateChanged(); });
  }
  void Put(const Pod& pod) {
    Change([&](Snapshot& next) { next.PutPod(pod); });
  }

  // The annotations of the patches so far, at least so many, once a good many looks are over.
  std::vector<std::string> Written(std::size_t at_least) {
    server.WaitForRequests("PATCH", at_least);
    std::promise<void> over;
    client->RunAfter(kDelay * 20, [&over] { over.set_value(); });
    over.get_future().wait();
    for (int i = 0; i < 10; ++i) Ask(*client, Get("/x"));
    std::vector<std::string> values;
    for (const PeerRequest& request : server.WaitForRequests("PATCH", at_least)) {
      const auto patch = nlohmann::json::parse(request.body);
      const auto value = patch["metadata"]["annotations"][std::string(kHoldAnnotation)];
      values.push_back(value.is_null() ? "" : value.get<std::string>());
    }
    return values;
  }
  // What the watch then shows of the pod.
  void Show(Pod pod, const std::string& annotation) {
    const auto hold = ParseHold(annotation);
    ASSERT_TRUE(hold);
    pod.hold = *hold;
    Put(pod);
  }

  ApiServer server;
  scheduler::StateStore store;
  scheduler::Policy policy;
  std::atomic<bool> may_hold = true;
  std::unique_ptr<KubeClient> client;
  EventRecorder events;
  std::unique_ptr<DatedHolds> holds;
};

TEST(DatedHoldsTest, WritesTheHoldOnThePodOnceAndTellsIt) {
  World world;
  const Pod big = Waiting("big nvidia.com/gpu=2");
  world.Put(big);
  const auto written = world.Written(1);
  ASSERT_THAT(written, SizeIs(1));
  const auto hold = ParseHold(written[0]);
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->pod_uid, "uid-big");
  EXPECT_EQ(hold->node, "n");
  EXPECT_EQ(hold->cause, HoldCause::kDate);
  EXPECT_EQ(hold->expected_s, world.store.Read()->FindPod("uid-a")->pod->started_s + kLeftS);
  EXPECT_THAT(hold->victim_uids, ElementsAre("uid-b", "uid-a"));
  const auto posts = world.server.WaitForRequests("POST", 1);
  ASSERT_THAT(posts, SizeIs(1));
  EXPECT_THAT(posts[0].body, AllOf(HasSubstr("OffcutHolds"), HasSubstr("node n, expected by "),
                                   HasSubstr("waits for default/b, default/a")));
  world.Show(big, written[0]);
  EXPECT_THAT(world.Written(1), SizeIs(1)) << "it stays";
}

// Both want all of n, and the watch shows neither's hold yet: n is kept for the older alone, and
// nothing is left to be drained.
TEST(DatedHoldsTest, CountsAHoldThatTheWatchDoesNotShowYet) {
  World world;
  world.Change([](Snapshot& next) {
    next.PutPod(Waiting("big nvidia.com/gpu=2"));
    Pod other = Waiting("other nvidia.com/gpu=2");
    other.created_s = 2;
    next.PutPod(other);
  });
  const auto written = world.Written(1);
  ASSERT_THAT(written, SizeIs(1));
  EXPECT_THAT(written[0], HasSubstr("uid-big"));
}

TEST(DatedHoldsTest, LeavesPodsAloneThatHaveNotWaitedForLongOrWereGated) {
  World world;
  Pod young = Waiting("young nvidia.com/gpu=2");
  young.created_s = NowSeconds();
  world.Put(young);
  Pod gated = Waiting("gated nvidia.com/gpu=2");
  gated.has_quota_gate = true;
  world.Put(gated);
  EXPECT_THAT(world.Written(0), IsEmpty());
  gated.has_quota_gate = false;
  world.Put(gated);
  EXPECT_THAT(world.Written(0), IsEmpty());
}

TEST(DatedHoldsTest, WritesNothingWhileAnotherLeads) {
  World world;
  world.may_hold = false;
  world.Put(Waiting("big nvidia.com/gpu=2"));
  EXPECT_THAT(world.Written(0), IsEmpty());
  world.may_hold = true;
  EXPECT_THAT(world.Written(1), SizeIs(1));
}

TEST(DatedHoldsTest, IsOffWherePolicySaysSo) {
  World world;
  world.policy.dated_holds.after_s = 0;
  world.Put(Waiting("big nvidia.com/gpu=2"));
  EXPECT_THAT(world.Written(0), IsEmpty());
}

// The pod may stand on n no more, and there is no other node.
TEST(DatedHoldsTest, TakesAHoldOffWhoseNodeDoesNotTakeThePodAnyMore) {
  World world({.review_period = kDelay});
  Pod big = Waiting("big nvidia.com/gpu=2");
  const std::int64_t expected_s = NowSeconds() + kLeftS;
  big.hold = Hold{.pod_uid = big.uid,
                  .node = "n",
                  .cause = HoldCause::kDate,
                  .until_s = expected_s + 60,
                  .expected_s = expected_s};
  world.Put(big);
  EXPECT_THAT(world.Written(0), IsEmpty());
  world.Change([](Snapshot& next) {
    scheduler::Inventory closed = WholeInventory("n", 2);
    closed.closed = scheduler::Reason::kNodeCordoned;
    next.PutNode(closed);
  });
  EXPECT_THAT(world.Written(1), ElementsAre(""));
}

// Its drain is over, and it still waits: it waits for holdSeconds before the next.
TEST(DatedHoldsTest, PausesAfterADrainThatWasOfNoUse) {
  World world;
  world.Change([](Snapshot& next) {
    next.PutPod(EndingIn("a nvidia.com/gpu=1 node=n", 0));
    Pod big = Waiting("big nvidia.com/gpu=2");
    big.hold = Hold{
        .pod_uid = big.uid, .node = "n", .cause = HoldCause::kDate, .until_s = 9, .expected_s = 9};
    next.PutPod(big);
    next.LapseHold(big.uid);
  });
  EXPECT_THAT(world.Written(0), IsEmpty());
  // Without that one it would be drained.
  world.Put(Waiting("other nvidia.com/gpu=2"));
  const auto written = world.Written(1);
  ASSERT_THAT(written, SizeIs(1));
  EXPECT_THAT(written[0], HasSubstr("uid-other"));
}

TEST(DatedHoldsTest, TriesAgainAfterThePauseWhenTheApiServerFails) {
  World world({.unseen_timeout = kDelay, .aside_time = kDelay});
  world.server.On("PATCH", {{.reply = Reply(503, "{}")}, {.reply = Reply(200, "{}")}});
  world.Put(Waiting("big nvidia.com/gpu=2"));
  EXPECT_GE(world.server.WaitForRequests("PATCH", 2).size(), 2U);
}

// a and b say no deadline; three pods of their owner have ended after 50 s and less.
TEST(DatedHoldsTest, LearnsFromPodsThatEnd) {
  World world;
  const std::int64_t started_s = NowSeconds() - 50;
  const auto of_job = [&](const std::string& text) {
    Pod pod = PodFromText(text);
    pod.owner_uid = "job";
    pod.started_s = started_s;
    return pod;
  };
  for (const char* name : {"x", "y", "z"}) {
    const Pod pod = of_job(std::string(name) + " node=n");
    world.store.Update([&](Snapshot& next) { next.PutPod(pod); });
    std::promise<void> noted;
    world.client->Post([&] {
      world.holds->NoteEnd(pod.uid);
      noted.set_value();
    });
    noted.get_future().wait();
    world.store.Update([&](Snapshot& next) { next.RemovePod(pod.uid); });
  }
  world.Change([&](Snapshot& next) {
    Pod a = of_job("a nvidia.com/gpu=1 node=n");
    a.started_s += 30;
    next.PutPod(a);
    next.RemovePod("uid-b");
    next.PutPod(Waiting("big nvidia.com/gpu=2"));
  });
  const auto written = world.Written(1);
  ASSERT_THAT(written, SizeIs(1));
  const auto hold = ParseHold(written[0]);
  ASSERT_TRUE(hold);
  EXPECT_GE(hold->expected_s, started_s + 30 + 50);
  EXPECT_EQ(hold->until_s, hold->expected_s + 60) << "no drain";
}

}  // namespace
}  // namespace offcut::api
