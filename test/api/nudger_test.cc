#include "api/nudger.h"

#include <chrono>
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
#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using scheduler::Snapshot;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::PodFromText;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using testing::WholeInventory;

constexpr milliseconds kDelay{2};

// The names of the pods that were asked for.
std::vector<std::string> Names(const std::vector<PeerRequest>& requests) {
  std::vector<std::string> names;
  names.reserve(requests.size());
  for (const PeerRequest& request : requests) {
    names.push_back(request.target.substr(request.target.rfind('/') + 1));
  }
  return names;
}

// Nodes "n1" and "n2" of one GPU each, taken by "h1" and "h2".
class World {
 public:
  explicit World(NudgerSettings settings = {.delay = kDelay}, int gpus = 1)
      : client(StartClient(PlainConfig(server.Port()))) {
    server.On("PATCH", {{.reply = Reply(200, "{}")}});
    store.Update([&](Snapshot& next) {
      const std::string holder = "nvidia.com/gpu=" + std::to_string(gpus);
      next = testing::SnapshotOf(
          {WholeInventory("n1", gpus), WholeInventory("n2", gpus)},
          {PodFromText("h1 " + holder + " node=n1"), PodFromText("h2 " + holder + " node=n2")});
    });
    nudger = std::make_unique<Nudger>(*client, store, policy, settings);
  }
  ~World() { client->Stop(); }

  void Refuse(std::string_view pod_text, std::vector<std::string> nodes = {"n1", "n2"},
              std::shared_ptr<const Snapshot> judged_on = nullptr) {
    if (judged_on == nullptr) judged_on = store.Read();
    nudger->Refused(std::make_shared<const scheduler::Pod>(PodFromText(pod_text)), std::move(nodes),
                    std::move(judged_on));
  }

  // An edit that the nudger is told of.
  void Change(const std::function<void(Snapshot&)>& edit) {
    store.Update([&](Snapshot& next) { edit(next); });
    client->Post([this] { nudger->StateChanged(); });
  }
  void Free(const std::string& holder) {
    Change([&](Snapshot& next) { next.RemovePod("uid-" + holder); });
  }

  // The names of the pods that have been patched once all checks that are due have run: timers of
  // the client run in the order of their times, and what they send arrives before a later read.
  std::vector<std::string> Patched() {
    std::promise<void> over;
    client->RunAfter(kDelay * 20, [&over] { over.set_value(); });
    over.get_future().wait();
    for (int i = 0; i < 10; ++i) Ask(*client, Get("/x"));
    return Names(server.WaitForRequests("PATCH", 0));
  }

  ApiServer server;
  scheduler::StateStore store;
  scheduler::Policy policy;
  std::unique_ptr<KubeClient> client;
  std::unique_ptr<Nudger> nudger;
};

constexpr std::string_view kA = "a nvidia.com/gpu=1";

// ---- Who is woken ------------------------------------------------------------------------------

TEST(NudgerTest, PatchesAPodOnceThatTheNewestStateWouldTake) {
  World world;
  world.Refuse(kA);
  world.Free("h1");
  EXPECT_THAT(world.Patched(), ElementsAre("a"));
  world.Free("h2");
  EXPECT_THAT(world.Patched(), ElementsAre("a"));
}

// kube-scheduler may refuse "a" for its CPU; then n1 is for "b", and nothing changes there again.
TEST(NudgerTest, GivesAPlaceThatIsNotUsedToTheNext) {
  World world({.delay = kDelay, .follow_up = kDelay});
  world.Refuse("a nvidia.com/gpu=1 priority=2");
  world.Refuse("b nvidia.com/gpu=1 priority=1");
  world.Refuse("c nvidia.com/gpu=1 priority=0");
  world.Free("h1");
  EXPECT_THAT(Names(world.server.WaitForRequests("PATCH", 3)), ElementsAre("a", "b", "c"));
}

TEST(NudgerTest, LeavesAPlaceToThePodThatUsesIt) {
  World world({.delay = kDelay, .follow_up = kDelay});
  std::promise<void> taken;
  ApiStep answer{.reply = Reply(200, "{}")};
  answer.once = taken.get_future().share();
  world.server.On("PATCH", {answer});
  world.Refuse("a nvidia.com/gpu=1 priority=2");
  world.Refuse("b nvidia.com/gpu=1 priority=1");
  world.Free("h1");
  world.server.WaitForRequests("PATCH", 1);
  world.Change([](Snapshot& next) { next.PutPod(PodFromText("a nvidia.com/gpu=1 node=n1")); });
  taken.set_value();
  EXPECT_THAT(world.Patched(), ElementsAre("a"));
}

TEST(NudgerTest, RemindsAPodThatHasNoPlaceYet) {
  World world({.delay = kDelay, .follow_up = kDelay});
  const auto remind = [&](std::string_view text) {
    world.Change([&](Snapshot& next) { next.PutPod(PodFromText(text)); });
    world.nudger->Remind(std::make_shared<const scheduler::Pod>(PodFromText(text)));
  };
  remind("a nvidia.com/gpu=1");
  remind("b nvidia.com/gpu=1 node=n1");
  world.nudger->Remind(std::make_shared<const scheduler::Pod>(PodFromText("gone")));
  EXPECT_THAT(world.Patched(), ElementsAre("a"));
}

// Nothing else need ever wake it.
TEST(NudgerTest, RemindsAgainWhereTheServerDidNotTakeIt) {
  World world({.delay = kDelay, .follow_up = kDelay});
  world.server.On("PATCH", {{.reply = Reply(429, "{}")}, {.reply = Reply(200, "{}")}});
  world.Change([](Snapshot& next) { next.PutPod(PodFromText(kA)); });
  world.nudger->Remind(std::make_shared<const scheduler::Pod>(PodFromText(kA)));
  EXPECT_THAT(Names(world.server.WaitForRequests("PATCH", 2)), ElementsAre("a", "a"));
  EXPECT_THAT(world.Patched(), SizeIs(2));
}

TEST(NudgerTest, PatchesItsOwnAnnotationOfExactlyThatPod) {
  World world;
  world.Refuse("a nvidia.com/gpu=1 namespace=team");
  world.Free("h1");
  const auto requests = world.server.WaitForRequests("PATCH", 1);
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].target, "/api/v1/namespaces/team/pods/a");
  EXPECT_EQ(requests[0].Field("Content-Type"), "application/merge-patch+json");
  const auto body = nlohmann::json::parse(requests[0].body);
  EXPECT_THAT(body, SizeIs(1));
  EXPECT_EQ(body["metadata"]["uid"], "uid-a");
  EXPECT_THAT(body["metadata"], SizeIs(2));
  EXPECT_THAT(body["metadata"]["annotations"], SizeIs(1));
  EXPECT_TRUE(body["metadata"]["annotations"].contains("offcut.dev/nudge"));
}

TEST(NudgerTest, PatchesAgainAPodThatWasRefusedAgain) {
  World world;
  world.Refuse(kA);
  world.Free("h1");
  EXPECT_THAT(world.Patched(), SizeIs(1));
  world.Change([](Snapshot& next) { next.PutPod(PodFromText("h3 nvidia.com/gpu=1 node=n1")); });
  world.Refuse(kA);
  world.Free("h3");
  EXPECT_THAT(world.Patched(), SizeIs(2));
}

TEST(NudgerTest, PatchesAgainWhereTheServerDidNotTakeIt) {
  World world({.delay = kDelay, .retry_delay = kDelay});
  world.server.On("PATCH", {{.reply = Reply(503, "{}")}, {.reply = Reply(200, "{}")}});
  world.Refuse(kA);
  world.Free("h1");
  EXPECT_THAT(world.Patched(), ElementsAre("a", "a"));
}

// a is gone, unseen; without b's turn the GPU would lie idle until the state changes again.
TEST(NudgerTest, GivesThePlaceOfAPodThatIsGoneToTheNext) {
  World world;
  world.server.On("PATCH", {{.reply = Reply(404, "{}")}, {.reply = Reply(200, "{}")}});
  world.Refuse("a nvidia.com/gpu=1 created=1");
  world.Refuse("b nvidia.com/gpu=1 created=2");
  world.Free("h1");
  EXPECT_THAT(world.Patched(), ElementsAre("a", "b"));
}

TEST(NudgerTest, PatchesNoPodThatAFilterHasOfferedANodeMeanwhile) {
  World world({.delay = milliseconds{30}});
  world.Refuse(kA);
  world.Free("h1");
  world.nudger->Forget("uid-a");
  EXPECT_THAT(world.Patched(), IsEmpty());
}

TEST(NudgerTest, PatchesNoPodForANodeThatNeverRefusedIt) {
  World world;
  world.Refuse(kA, {"n1"});
  world.Free("h2");
  EXPECT_THAT(world.Patched(), IsEmpty());
}

TEST(NudgerTest, PatchesNoPodThatWasRefusedOnTheNewestState) {
  World world;
  world.Free("h1");
  world.Refuse("big nvidia.com/gpu=2");
  world.Change([](Snapshot& next) { next.PutPod(PodFromText("other")); });
  EXPECT_THAT(world.Patched(), IsEmpty());
}

// Another scheduler may have bound it; its own node would take it, of course.
TEST(NudgerTest, PatchesNoPodThatHasAPlaceByNow) {
  World world;
  world.Refuse(kA);
  world.Change([](Snapshot& next) {
    next.RemovePod("uid-h1");
    next.PutPod(PodFromText("a nvidia.com/gpu=1 node=n1"));
  });
  EXPECT_THAT(world.Patched(), IsEmpty());
}

TEST(NudgerTest, LooksAgainAtARefusalThatWasJudgedOnAnOlderState) {
  World world;
  const auto old = world.store.Read();
  world.store.Update([](Snapshot& next) { next.RemovePod("uid-h1"); });
  world.Refuse(kA, {"n1", "n2"}, old);
  EXPECT_THAT(world.Patched(), ElementsAre("a"));
}

TEST(NudgerTest, PatchesWhereAClaimEnds) {
  World world;
  world.store.Update([](Snapshot& next) {
    next.RemovePod("uid-h1");
    next.Claim(std::make_shared<const scheduler::Pod>(PodFromText("c nvidia.com/gpu=1")), "n1");
  });
  world.Refuse(kA);
  world.Change([](Snapshot& next) { next.DropClaim("uid-c"); });
  EXPECT_THAT(world.Patched(), ElementsAre("a"));
}

// Before and behind it everything is as it was when the nudger last looked.
TEST(NudgerTest, PatchesWhereAClaimEndsThatItHasNeverSeen) {
  World world;
  world.Refuse("big nvidia.com/gpu=2");
  world.Free("h1");
  EXPECT_THAT(world.Patched(), IsEmpty());
  world.store.Update([](Snapshot& next) {
    next.Claim(std::make_shared<const scheduler::Pod>(PodFromText("c nvidia.com/gpu=1")), "n1");
  });
  world.Refuse(kA);
  world.Change([](Snapshot& next) { next.DropClaim("uid-c"); });
  EXPECT_THAT(world.Patched(), ElementsAre("a"));
}

TEST(NudgerTest, PatchesWhereANodeComes) {
  World world;
  world.Refuse(kA, {"n1", "n3"});
  world.Change([](Snapshot& next) { next.PutNode(WholeInventory("n3", 1)); });
  EXPECT_THAT(world.Patched(), ElementsAre("a"));
}

TEST(NudgerTest, RemembersOnlySoManyPods) {
  World world({.delay = kDelay, .pods_max = 1});
  world.Refuse("big nvidia.com/gpu=2");
  world.Refuse(kA);
  world.Free("h1");
  EXPECT_THAT(world.Patched(), IsEmpty());
}

// ---- How many are woken ------------------------------------------------------------------------

TEST(NudgerTest, PatchesOneOfTenForOneGpuByPriorityThenAge) {
  World world;
  for (int i = 0; i < 10; ++i) {
    const bool is_high = i == 3 || i == 7;
    world.Refuse(fmt::format("p{} nvidia.com/gpu=1 priority={} created={}", i, is_high ? 5 : 0,
                             is_high ? 900 - i : i + 1));
  }
  world.Free("h1");
  EXPECT_THAT(world.Patched(), ElementsAre("p7"));
}

TEST(NudgerTest, PatchesAsManyAsCanBePlacedTogether) {
  World world({.delay = kDelay}, 2);
  for (int i = 0; i < 10; ++i) {
    world.Refuse(fmt::format("p{} nvidia.com/gpu=1 created={}", i, i + 1));
  }
  world.Free("h1");
  EXPECT_THAT(world.Patched(), UnorderedElementsAre("p0", "p1"));
}

TEST(NudgerTest, LetsNoPodThatIsTooBigStandInTheWay) {
  World world;
  world.Refuse("big nvidia.com/gpu=2 priority=9");
  world.Refuse(kA);
  world.Free("h1");
  EXPECT_THAT(world.Patched(), ElementsAre("a"));
}

// What is hopeless for one pod is not for one that asks for the same and was refused elsewhere, or
// on an older state.
TEST(NudgerTest, JudgesEachPodByTheStateThatItWasRefusedOn) {
  World world;
  const auto old = world.store.Read();
  world.Free("h1");
  EXPECT_THAT(world.Patched(), IsEmpty());
  world.Refuse("first nvidia.com/gpu=1 priority=9", {"n2"});
  world.Refuse(kA, {"n1"}, old);
  EXPECT_THAT(world.Patched(), ElementsAre("a"));
}

// "first" has to make way for a nomination to n1, and "a" is the one that is nominated.
TEST(NudgerTest, KeepsANominatedPodsPlaceForIt) {
  World world;
  world.Change([](Snapshot& next) {
    next.PutPod(PodFromText("a nvidia.com/gpu=1 nominated=n1 created=2"));
  });
  world.Refuse("first nvidia.com/gpu=1 created=1");
  world.Refuse("a nvidia.com/gpu=1 nominated=n1 created=2");
  world.Free("h1");
  EXPECT_THAT(world.Patched(), ElementsAre("a"));
}

// ---- What has changed --------------------------------------------------------------------------

TEST(NudgerTest, FindsTheNodesThatAreNotAsTheyWere) {
  const World world;
  const Snapshot before = *world.store.Read();
  Snapshot now = before;
  EXPECT_THAT(ChangedNodes(before, now), IsEmpty());
  now.PutPod(PodFromText("waits nvidia.com/gpu=1"));
  EXPECT_THAT(ChangedNodes(before, now), IsEmpty());
  now.RemovePod("uid-h2");
  EXPECT_THAT(ChangedNodes(before, now), ElementsAre("n2"));
  now.PutNode(WholeInventory("n0", 1));
  EXPECT_THAT(ChangedNodes(before, now), ElementsAre("n0", "n2"));
  now.RemoveNode("n2");
  EXPECT_THAT(ChangedNodes(before, now), ElementsAre("n0"));
}

TEST(NudgerTest, FindsANodeWhereOneClaimHasTakenThePlaceOfAnother) {
  World world;
  Snapshot before = *world.store.Read();
  before.Claim(std::make_shared<const scheduler::Pod>(PodFromText("c nvidia.com/gpu=2")), "n1");
  Snapshot now = before;
  now.DropClaim("uid-c");
  now.Claim(std::make_shared<const scheduler::Pod>(PodFromText("d nvidia.com/gpu=1")), "n1");
  EXPECT_THAT(ChangedNodes(before, now), ElementsAre("n1"));
}

// Eight pods have room, and three patches may be open at once: the others wait for answers.
TEST(NudgerTest, WakesNoMoreAtOnceThanItsPatchesMayBe) {
  World world({.delay = kDelay, .patches_max = 3}, 8);
  std::promise<void> answered;
  ApiStep answer{.reply = Reply(200, "{}")};
  answer.once = answered.get_future().share();
  world.server.On("PATCH", {answer});
  for (int i = 0; i < 8; ++i) world.Refuse(fmt::format("p{} nvidia.com/gpu=1", i));
  world.Free("h1");
  EXPECT_THAT(world.Patched(), SizeIs(3));
  answered.set_value();
  EXPECT_THAT(Names(world.server.WaitForRequests("PATCH", 8)),
              UnorderedElementsAre("p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"));
}

}  // namespace
}  // namespace offcut::api
