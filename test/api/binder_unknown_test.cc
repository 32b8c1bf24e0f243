// Bindings of unknown outcome, pods that nobody has told us of, and the end.
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/binder.h"
#include "test/api/binder_world.h"

namespace offcut::api {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr std::string_view kTrain = "train nvidia.com/gpu=1";
constexpr std::string_view kTrainOnN1 = "train nvidia.com/gpu=1 node=n1";
const ApiStep kCreated = {.reply = Reply(201, R"({"kind":"Status","status":"Success"})")};

// What a server may do with a binding so that nobody knows whether it was made.
std::vector<ApiStep> WaysToLeaveItOpen() {
  return {Says(500, "etcd"), Says(503, "shutting down"), Says(504, "timeout"), Cut(), Silence()};
}

// ---- Unknown outcome ---------------------------------------------------------------------------

TEST(BinderUnknownTest, AnswersInTimeAndKeepsTheDevices) {
  for (const ApiStep& step : WaysToLeaveItOpen()) {
    BinderWorld world(HastySettings());
    world.Know(kTrain);
    world.server.On("POST", {step});
    world.server.On("GET", {Shows(kTrain)});
    EXPECT_THAT(world.BindNow("train", "n1"), HasSubstr("stay reserved"));
    EXPECT_EQ(world.PlaceOf("train"), "reserved on n1");
    EXPECT_EQ(world.BindNow("train", "n2"), InfoOf(scheduler::Reason::kPodReservedElsewhere).text);
    const std::size_t reads = world.server.WaitForRequests("GET", 1).size();
    world.server.WaitForRequests("GET", reads + 3);  // reads that say unbound change nothing yet
    EXPECT_EQ(world.PlaceOf("train"), "reserved on n1");
    EXPECT_THAT(world.ended.WaitFor(0), SizeIs(0));
  }
}

TEST(BinderUnknownTest, IsConfirmedByAReadThatShowsTheBinding) {
  for (const ApiStep& step : WaysToLeaveItOpen()) {
    BinderWorld world(HastySettings());
    world.Know(kTrain);
    const scheduler::DeviceRecord record = world.RecordFor(kTrain, "n1");
    world.server.On("POST", {step});
    world.server.On("GET", {Says(503, "still down"), Shows(kTrain)});
    EXPECT_NE(world.BindNow("train", "n1"), "");
    world.server.On("GET", {Shows(kTrainOnN1, record)});
    EXPECT_THAT(world.ended.WaitFor(1), ElementsAre(""));
    EXPECT_EQ(world.PlaceOf("train"), "bound on n1");
  }
}

// The API server has made it, and the answer got lost: kube-scheduler, too, hears of a success.
TEST(BinderUnknownTest, SucceedsWhereAReadComesInTime) {
  BinderWorld world;
  world.Know(kTrain);
  const scheduler::DeviceRecord record = world.RecordFor(kTrain, "n1");
  world.server.On("POST", {Cut()});
  world.server.On("GET", {Shows(kTrainOnN1, record)});
  EXPECT_EQ(world.BindNow("train", "n1"), "");
  EXPECT_EQ(world.server.Count("POST"), 1U);
}

TEST(BinderUnknownTest, SendsTheSameBindingAgainWhileSomebodyWaits) {
  BinderWorld world;
  world.Know(kTrain);
  world.server.On("POST", {Cut(), Says(500, "etcd"), kCreated});
  world.server.On("GET", {Shows(kTrain)});
  EXPECT_EQ(world.BindNow("train", "n1"), "");
  const auto posts = world.server.WaitForRequests("POST", 3);
  ASSERT_THAT(posts, SizeIs(3));
  EXPECT_EQ(posts[0].body, posts[1].body);
  EXPECT_EQ(posts[0].body, posts[2].body);
}

// The first POST was made late, so that the second meets a conflict.
TEST(BinderUnknownTest, SucceedsWhereTheSecondTryMeetsTheFirst) {
  BinderWorld world;
  world.Know(kTrain);
  const scheduler::DeviceRecord record = world.RecordFor(kTrain, "n1");
  world.server.On("POST", {Cut(), Says(409, "already assigned")});
  world.server.On("GET", {Shows(kTrain), Shows(kTrainOnN1, record)});
  EXPECT_EQ(world.BindNow("train", "n1"), "");
  EXPECT_EQ(world.PlaceOf("train"), "bound on n1");
}

TEST(BinderUnknownTest, SendsNothingMoreOnceNobodyWaits) {
  BinderWorld world(HastySettings());
  world.Know(kTrain);
  world.server.On("POST", {Silence()});
  world.server.On("GET", {Shows(kTrain)});
  EXPECT_NE(world.BindNow("train", "n1"), "");
  world.server.WaitForRequests("GET", 5);
  EXPECT_EQ(world.server.Count("POST"), 1U);
}

TEST(BinderUnknownTest, IsJoinedByALaterBindToTheSameNode) {
  BinderWorld world(HastySettings());
  world.Know(kTrain);
  world.server.On("POST", {Silence()});
  world.server.On("GET", {Shows(kTrain)});
  EXPECT_NE(world.BindNow("train", "n1"), "");
  world.server.On("POST", {kCreated});
  std::string error = "none";  // as kube-scheduler does it: again until it succeeds
  for (int i = 0; i < 100 && !error.empty(); ++i) error = world.BindNow("train", "n1");
  EXPECT_EQ(error, "");
  EXPECT_EQ(world.PlaceOf("train"), "bound on n1");
  EXPECT_THAT(world.ended.WaitFor(1), ElementsAre(""));
}

TEST(BinderUnknownTest, GivesBackWhatReadsHaveNotShownForTheSettleTime) {
  BinderSettings settings = HastySettings();
  settings.settle_time = milliseconds{60};
  BinderWorld world(settings);
  world.Know(kTrain);
  world.server.On("POST", {Silence()});
  world.server.On("GET", {Shows(kTrain)});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_NE(world.BindNow("train", "n1"), "");
  EXPECT_THAT(world.ended.WaitFor(1), ElementsAre(HasSubstr("never carried out")));
  EXPECT_GE(std::chrono::steady_clock::now() - start, settings.settle_time);
  EXPECT_EQ(world.PlaceOf("train"), "pending");
  EXPECT_THAT(world.store.Read()->FindNode("n1")->holders, SizeIs(0));
  world.server.On("POST", {kCreated});
  std::string error = "none";
  for (int i = 0; i < 100 && !error.empty(); ++i) error = world.BindNow("train", "n2");
  EXPECT_EQ(world.PlaceOf("train"), "bound on n2") << error;
}

// Silence is no word on the pod.
TEST(BinderUnknownTest, GivesNothingBackWhileReadsFail) {
  BinderSettings settings = HastySettings();
  settings.settle_time = milliseconds{1};
  BinderWorld world(settings);
  world.Know(kTrain);
  world.server.On("POST", {Cut()});
  world.server.On("GET", {Says(500, "etcd")});
  EXPECT_NE(world.BindNow("train", "n1"), "");
  world.server.WaitForRequests("GET", 10);
  EXPECT_EQ(world.PlaceOf("train"), "reserved on n1");
}

// 10, 20, 40 and 80 ms before the second to the fifth read.
TEST(BinderUnknownTest, AsksLessAndLessOftenWhileReadsFail) {
  BinderSettings settings = HastySettings();
  settings.settle_period = milliseconds{10};
  BinderWorld world(settings);
  world.Know(kTrain);
  world.server.On("POST", {Cut()});
  world.server.On("GET", {Says(429, "too many")});
  EXPECT_NE(world.BindNow("train", "n1"), "");
  const auto began = std::chrono::steady_clock::now();
  world.server.WaitForRequests("GET", world.server.Count("GET") + 4);
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds{140});
}

TEST(BinderUnknownTest, FreesTheDevicesOfAPodThatIsGone) {
  BinderWorld world(HastySettings());
  world.Know(kTrain);
  world.server.On("POST", {Silence()});
  world.server.On("GET", {Says(404, "not found")});
  EXPECT_NE(world.BindNow("train", "n1"), "");
  EXPECT_THAT(world.ended.WaitFor(1), ElementsAre("pod is gone"));
  EXPECT_EQ(world.PlaceOf("train"), "unknown");
  EXPECT_THAT(world.store.Read()->FindNode("n1")->holders, SizeIs(0));
}

// An update that came before the binding's own takes nothing away; the watch's word on the binding
// is as good as a read's.
TEST(BinderUnknownTest, AnswersABindOfAPodThatTheWatchShowsBound) {
  BinderWorld world(HastySettings());
  world.Know(kTrain);
  world.server.On("POST", {Silence()});
  world.server.On("GET", {Says(503, "down")});
  EXPECT_NE(world.BindNow("train", "n1"), "");
  world.Know(kTrain);
  EXPECT_EQ(world.PlaceOf("train"), "reserved on n1");
  world.Know(kTrainOnN1);
  EXPECT_EQ(world.BindNow("train", "n1"), "");
}

// The read was answered before the deletion that the watch has brought meanwhile.
TEST(BinderUnknownTest, BringsNoPodBackThatTheWatchHasTakenAway) {
  BinderWorld world;
  world.Know(kTrain);
  std::promise<void> release;
  ApiStep shows = Shows(kTrainOnN1, world.RecordFor(kTrain, "n1"));
  shows.once = release.get_future().share();
  world.server.On("POST", {Cut()});
  world.server.On("GET", {shows});
  auto answer = world.Bind("train", "n1");
  world.server.WaitForRequests("GET", 1);
  world.store.Update([](scheduler::Snapshot& next) { next.RemovePod("uid-train"); });
  release.set_value();
  BinderWorld::Get(answer);
  EXPECT_EQ(world.PlaceOf("train"), "unknown");
  EXPECT_THAT(world.store.Read()->FindNode("n1")->holders, SizeIs(0));
}

// The binding was made and the pod deleted before the answer came. Reserved anew, its devices would
// be confirmed by that answer, and held for ever.
TEST(BinderUnknownTest, ReservesNothingForAPodThatTheWatchHasTakenAwayWhileItsBindingIsOpen) {
  BinderWorld world;
  world.recent_pods.Remember(std::make_shared<const scheduler::Pod>(testing::PodFromText(kTrain)));
  std::promise<void> release;
  ApiStep created = kCreated;
  created.once = release.get_future().share();
  world.server.On("POST", {created});
  auto answer = world.Bind("train", "n1");
  world.server.WaitForRequests("POST", 1);
  world.store.Update([](scheduler::Snapshot& next) { next.RemovePod("uid-train"); });
  for (const char* node : {"n1", "n2"}) EXPECT_EQ(world.BindNow("train", node), "pod is gone");
  release.set_value();
  EXPECT_EQ(BinderWorld::Get(answer), "");
  EXPECT_EQ(world.PlaceOf("train"), "unknown");
  for (const char* node : {"n1", "n2"}) {
    EXPECT_THAT(world.store.Read()->FindNode(node)->holders, SizeIs(0));
  }
}

TEST(BinderUnknownTest, LooksAfterAnOpenBindingThoughAnotherLeadsNow) {
  auto leads = std::make_shared<std::atomic<bool>>(true);
  BinderSettings settings = PatientSettings();
  settings.may_bind = [leads] { return leads->load(); };
  BinderWorld world(settings);
  world.Know(kTrain);
  std::promise<void> release;
  ApiStep shows = Shows(kTrain);
  shows.once = release.get_future().share();
  world.server.On("POST", {Cut()});
  world.server.On("GET", {shows, Shows(kTrainOnN1, world.RecordFor(kTrain, "n1"))});
  auto answer = world.Bind("train", "n1");
  world.server.WaitForRequests("GET", 1);
  *leads = false;
  release.set_value();
  EXPECT_THAT(BinderWorld::Get(answer), HasSubstr("not the leader"));
  EXPECT_THAT(world.ended.WaitFor(1), ElementsAre(""));
  EXPECT_EQ(world.server.Count("POST"), 1U);
}

// ---- Pods that nobody has told us of -----------------------------------------------------------

TEST(BinderUnknownTest, ReadsAPodThatItDoesNotKnow) {
  BinderWorld world;
  world.server.On("GET", {Shows(kTrain)});
  world.server.On("POST", {kCreated});
  EXPECT_EQ(world.BindNow("train", "n1"), "");
  EXPECT_EQ(world.PlaceOf("train"), "bound on n1");
  EXPECT_EQ(world.server.WaitForRequests("GET", 1)[0].target,
            "/api/v1/namespaces/default/pods/train");
}

TEST(BinderUnknownTest, BindsWhatAFilterHasBroughtWithoutARead) {
  BinderWorld world;
  world.recent_pods.Remember(std::make_shared<const scheduler::Pod>(testing::PodFromText(kTrain)));
  world.server.On("POST", {kCreated});
  EXPECT_EQ(world.BindNow("train", "n1"), "");
  EXPECT_EQ(world.server.Count("GET"), 0U);
}

TEST(BinderUnknownTest, RefusesAPodThatTheServerDoesNotKnowEither) {
  scheduler::Pod successor = testing::PodFromText(kTrain);
  successor.uid = "uid-2";
  for (const ApiStep& step : {Says(404, "not found"), Says(500, "etcd"), Cut(),
                              ApiStep{.reply = Reply(200, PodBody(successor))}}) {
    BinderWorld world;
    world.server.On("GET", {step});
    EXPECT_THAT(world.BindNow("train", "n1"), StartsWith("pod is not known to offcut"));
    EXPECT_EQ(world.PlaceOf("train"), "unknown");
    EXPECT_EQ(world.server.Count("POST"), 0U);
  }
}

// The watch lags behind a binding that a predecessor of ours, or another scheduler, has made.
TEST(BinderUnknownTest, TakesOverAPodThatTurnsOutToBeBound) {
  for (const std::string node_name : {"n1", "n2"}) {
    BinderWorld world;
    world.server.On("GET", {Shows(std::string(kTrain) + " node=" + node_name)});
    EXPECT_EQ(world.BindNow("train", "n1"),
              node_name == "n1" ? "" : InfoOf(scheduler::Reason::kPodReservedElsewhere).text);
    EXPECT_EQ(world.PlaceOf("train"), "bound on " + node_name);
    EXPECT_EQ(world.server.Count("POST"), 0U);
  }
}

TEST(BinderUnknownTest, RefusesAPodThatTurnsOutToHaveFinished) {
  nlohmann::json pod = PodJson(kTrain);
  pod["status"]["phase"] = "Failed";
  BinderWorld world;
  world.server.On("GET", {{.reply = Reply(200, pod.dump())}});
  EXPECT_EQ(world.BindNow("train", "n1"), "pod is not known to offcut");
  EXPECT_EQ(world.PlaceOf("train"), "unknown");
}

// The read takes 200 ms of the 300; what is sent then must not have 300 more. Timers of the client
// run in the order of their times, however slow the machine is.
TEST(BinderUnknownTest, CountsTheReadIntoTheTimeForAnAnswer) {
  BinderSettings settings = PatientSettings();
  settings.answer_timeout = milliseconds{300};
  BinderWorld world(settings);
  std::promise<void> release;
  ApiStep shows = Shows(kTrain);
  shows.once = release.get_future().share();
  world.server.On("GET", {shows});
  world.server.On("POST", {Silence()});
  auto answer = world.Bind("train", "n1");
  std::promise<bool> in_time;
  world.client->RunAfter(milliseconds{200}, [&] { release.set_value(); });
  world.client->RunAfter(milliseconds{475}, [&] {
    in_time.set_value(answer.wait_for(milliseconds{0}) == std::future_status::ready);
  });
  EXPECT_TRUE(in_time.get_future().get());
  EXPECT_NE(BinderWorld::Get(answer), "");
}

// Bindings are held for 200 ms of the 300, and the one that is then sent gets no answer. Its time
// is over with the bind's, at 300 ms, and then the pod is read; a whole time from its sending would
// end at 500 ms.
TEST(BinderUnknownTest, CountsTheWaitIntoTheTimeOfTheBinding) {
  BinderSettings settings = PatientSettings();
  settings.answer_timeout = milliseconds{300};
  BinderWorld world(settings);
  world.Know(kTrain);
  world.server.On("POST", {Silence()});
  world.server.On("GET", {Shows(kTrain)});
  world.binder.HoldUntil(std::chrono::steady_clock::now() + milliseconds{200});
  auto answer = world.Bind("train", "n1");
  world.client->RunAfter(milliseconds{440}, [&] {
    world.client->Call({.target = "/late"}, [](const KubeResult&) {});
  });
  EXPECT_EQ(world.server.WaitForRequests("GET", 1)[0].target,
            "/api/v1/namespaces/default/pods/train");
  EXPECT_NE(BinderWorld::Get(answer), "");
}

// ---- Pods to be asked for, and the end ---------------------------------------------------------

// A pod that we have bound and not seen bound.
void ConfirmTrain(BinderWorld& world) {
  world.Know(kTrain);
  const scheduler::DeviceRecord record = world.RecordFor(kTrain, "n1");
  world.store.Update([&](scheduler::Snapshot& next) {
    next.Reserve("uid-train", "n1", record);
    next.Confirm("uid-train");
  });
}

void Verify(BinderWorld& world) {
  world.client->Post([&world] { world.binder.Verify("uid-train"); });
}

// Once what runs on the client's thread now has run.
void WaitForClient(BinderWorld& world) {
  std::promise<void> ran;
  world.client->Post([&ran] { ran.set_value(); });
  ran.get_future().wait();
}

TEST(BinderUnknownTest, RemovesAVerifiedPodThatIsGone) {
  BinderWorld world;
  ConfirmTrain(world);
  world.server.On("GET", {Says(500, "etcd"), Says(404, "not found"), Silence()});
  Verify(world);
  world.server.WaitForRequests("GET", 2);
  const auto end = std::chrono::steady_clock::now() + kKubePatience;
  while (world.PlaceOf("train") != "unknown" && std::chrono::steady_clock::now() < end) {
    WaitForClient(world);
  }
  EXPECT_EQ(world.PlaceOf("train"), "unknown");
}

TEST(BinderUnknownTest, AsksForNoPodThatHasBeenSeenOrIsUnknown) {
  BinderWorld world;
  Verify(world);
  world.Know(kTrainOnN1);
  Verify(world);
  WaitForClient(world);
  EXPECT_EQ(world.server.Count("GET"), 0U);
}

TEST(BinderUnknownTest, BringsNoVerifiedPodBackThatTheWatchHasTakenAway) {
  BinderWorld world;
  ConfirmTrain(world);
  std::promise<void> release;
  ApiStep shows = Shows(kTrainOnN1);
  shows.once = release.get_future().share();
  world.server.On("GET " + PodPath("default", "train"), {shows});
  Verify(world);
  world.server.WaitForRequests("GET", 1);
  world.store.Update([](scheduler::Snapshot& next) { next.RemovePod("uid-train"); });
  release.set_value();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(Ask(*world.client, Get("/x")));  // behind it
  EXPECT_EQ(world.PlaceOf("train"), "unknown");
}

TEST(BinderUnknownTest, AnswersOpenBindsAtTheEnd) {
  BinderWorld world;
  world.Know(kTrain);
  world.Know("held nvidia.com/gpu=1");
  world.server.On("POST", {Silence()});
  auto sent = world.Bind("train", "n1");
  world.server.WaitForRequests("POST", 1);
  world.binder.HoldUntil(std::chrono::steady_clock::now() + kKubePatience);
  auto held = world.Bind("held", "n1");
  auto unknown = world.Bind("unheard-of", "n1");
  world.client->Stop();
  world.binder.Stop();
  EXPECT_EQ(BinderWorld::Get(sent), "offcut is shutting down");
  EXPECT_EQ(BinderWorld::Get(held), "offcut is shutting down");
  EXPECT_NE(BinderWorld::Get(unknown), "");
  EXPECT_EQ(world.BindNow("train", "n1"), "offcut is shutting down");
}

}  // namespace
}  // namespace offcut::api
