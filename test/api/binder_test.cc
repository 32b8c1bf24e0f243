// Bindings whose answer tells what became of them; binder_unknown_test.cc has the others.
#include "api/binder.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "test/api/binder_world.h"

namespace offcut::api {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::string_view kTrain = "train nvidia.com/gpu=1";
constexpr std::string_view kTrainOnN1 = "train nvidia.com/gpu=1 node=n1";
const ApiStep kCreated = {.reply = Reply(201, R"({"kind":"Status","status":"Success"})")};

// ---- The call ----------------------------------------------------------------------------------

TEST(BinderTest, ConfirmsWhatTheServerHasMade) {
  BinderWorld world;
  world.Know(kTrain);
  world.server.On("POST", {kCreated});
  EXPECT_EQ(world.BindNow("train", "n1"), "");
  EXPECT_EQ(world.PlaceOf("train"), "bound on n1");
  EXPECT_THAT(world.ended.WaitFor(1), ElementsAre(""));
}

TEST(BinderTest, PostsTheBindingOfTheDevicesThatItReserved) {
  BinderWorld world;
  world.Know(kTrain);
  const scheduler::DeviceRecord record = world.RecordFor(kTrain, "n1");
  world.server.On("POST", {kCreated});
  EXPECT_EQ(world.BindNow("train", "n1"), "");
  const auto requests = world.server.WaitForRequests("POST", 1);
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].target, BindingPath("train"));
  EXPECT_EQ(requests[0].Field("Content-Type"), "application/json");
  const OpenBinding binding{
      .args = {"train", "default", "uid-train", "n1"}, .record = record, .is_bound = false};
  EXPECT_EQ(nlohmann::json::parse(requests[0].body), nlohmann::json::parse(PrintBinding(binding)));
}

TEST(BinderTest, AnswersABindOfABoundPodWithoutACall) {
  BinderWorld world;
  world.Know(kTrainOnN1);
  EXPECT_EQ(world.BindNow("train", "n1"), "");
  EXPECT_EQ(world.server.Count("POST"), 0U);
}

TEST(BinderTest, AnswersWhatHasNoRoomWithoutACall) {
  BinderWorld world;
  world.Know("big nvidia.com/gpu=3");
  EXPECT_EQ(world.BindNow("big", "n1"), InfoOf(scheduler::Reason::kExceedsNode).text);
  EXPECT_EQ(world.server.Count("POST"), 0U);
  EXPECT_EQ(world.PlaceOf("big"), "pending");
}

TEST(BinderTest, MakesOneBindingOfTwoBindsAtOnce) {
  BinderWorld world;
  world.Know(kTrain);
  std::promise<void> release;
  ApiStep created = kCreated;
  created.once = release.get_future().share();
  world.server.On("POST", {created});
  auto first = world.Bind("train", "n1");
  world.server.WaitForRequests("POST", 1);
  auto second = world.Bind("train", "n1");
  auto elsewhere = world.Bind("train", "n2");
  EXPECT_EQ(BinderWorld::Get(elsewhere), InfoOf(scheduler::Reason::kPodReservedElsewhere).text);
  release.set_value();
  EXPECT_EQ(BinderWorld::Get(first), "");
  EXPECT_EQ(BinderWorld::Get(second), "");
  EXPECT_EQ(world.server.Count("POST"), 1U);
  EXPECT_THAT(world.ended.WaitFor(1), ElementsAre(""));
}

// ---- A conflict: the pod tells -----------------------------------------------------------------

// Each test: the binding is answered with 409, and a read of the pod with what stands there.
class ConflictWorld : public BinderWorld {
 public:
  explicit ConflictWorld(const ApiStep& pod) {
    Know(kTrain);
    server.On("POST", {Says(409, "already assigned")});
    server.On("GET", {pod});
  }
};

TEST(BinderTest, SucceedsWhereAConflictTurnsOutToBeItsOwnBinding) {
  const scheduler::DeviceRecord record = BinderWorld().RecordFor(kTrain, "n1");
  ConflictWorld world(Shows(kTrainOnN1, record));
  EXPECT_EQ(world.BindNow("train", "n1"), "");
  EXPECT_EQ(world.PlaceOf("train"), "bound on n1");
  EXPECT_EQ(world.server.Count("POST"), 1U);
  EXPECT_EQ(world.server.WaitForRequests("GET", 1)[0].target,
            "/api/v1/namespaces/default/pods/train");
}

TEST(BinderTest, TakesOverWhereThePodReallyIs) {
  ConflictWorld world(Shows("train nvidia.com/gpu=1 node=n2"));
  EXPECT_THAT(world.BindNow("train", "n1"), HasSubstr("by another"));
  EXPECT_EQ(world.PlaceOf("train"), "bound on n2");
  EXPECT_THAT(world.store.Read()->FindNode("n1")->holders, SizeIs(0));
  EXPECT_THAT(world.store.Read()->FindNode("n2")->holders, SizeIs(1));
  EXPECT_THAT(world.metrics.Print(), HasSubstr("offcut_bind_conflicts_total 1"));
}

TEST(BinderTest, RefusesItsOwnNodeWithAnotherRecord) {
  scheduler::DeviceRecord record = BinderWorld().RecordFor(kTrain, "n1");
  record.devices.front().gpu = 1;
  ConflictWorld world(Shows(kTrainOnN1, record));
  EXPECT_THAT(world.BindNow("train", "n1"), HasSubstr("by another"));
  EXPECT_EQ(world.PlaceOf("train"), "bound on n1");
  EXPECT_EQ(world.store.Read()->FindNode("n1")->holders.front().record, record);
}

TEST(BinderTest, GivesBackWhatCannotBeBoundNow) {
  ConflictWorld world(Shows(kTrain));  // gated, or being deleted
  EXPECT_THAT(world.BindNow("train", "n1"), HasSubstr("deleted or gated"));
  EXPECT_EQ(world.PlaceOf("train"), "pending");
  EXPECT_EQ(world.server.Count("POST"), 1U);
}

TEST(BinderTest, GivesBackWhereAnotherPodHasTheName) {
  scheduler::Pod successor = testing::PodFromText(kTrain);
  successor.uid = "uid-2";
  ConflictWorld world({.reply = Reply(200, PodBody(successor))});
  EXPECT_EQ(world.BindNow("train", "n1"), "pod is gone");
  EXPECT_EQ(world.PlaceOf("train"), "unknown");
  EXPECT_THAT(world.store.Read()->FindNode("n1")->holders, SizeIs(0));
}

TEST(BinderTest, GivesBackWhereAReadFindsNoPod) {
  ConflictWorld world(Says(404, "not found"));
  EXPECT_EQ(world.BindNow("train", "n1"), "pod is gone");
  EXPECT_EQ(world.PlaceOf("train"), "unknown");
}

TEST(BinderTest, AsksAgainWhereThePodCannotBeRead) {
  BinderWorld world;
  world.Know(kTrain);
  const scheduler::DeviceRecord record = world.RecordFor(kTrain, "n1");
  world.server.On("POST", {Says(409, "already assigned")});
  world.server.On(
      "GET",
      {Says(503, "busy"), {.reply = Reply(200, "<html>")}, Cut(), Shows(kTrainOnN1, record)});
  EXPECT_EQ(world.BindNow("train", "n1"), "");
  EXPECT_EQ(world.PlaceOf("train"), "bound on n1");
}

// ---- Refusals ----------------------------------------------------------------------------------

TEST(BinderTest, GivesBackWhatTheServerRefusesAndSaysWhy) {
  for (const int status : {400, 401, 403, 422}) {
    BinderWorld world;
    world.Know(kTrain);
    world.server.On("POST", {Says(status, "no right to do so")});
    EXPECT_EQ(world.BindNow("train", "n1"), std::to_string(status) + " Reason: no right to do so");
    EXPECT_EQ(world.PlaceOf("train"), "pending");
    EXPECT_THAT(world.store.Read()->FindNode("n1")->holders, SizeIs(0));
    EXPECT_EQ(world.server.Count("POST"), 1U);
    EXPECT_EQ(world.server.Count("GET"), 0U);
  }
}

// Its deletion may have come before the bind, which then made it known again; nobody would ever
// take it away.
TEST(BinderTest, ForgetsAPodThatIsGone) {
  BinderWorld world;
  world.recent_pods.Remember(std::make_shared<const scheduler::Pod>(testing::PodFromText(kTrain)));
  world.server.On("POST", {Says(404, "pods \"train\" not found")});
  EXPECT_THAT(world.BindNow("train", "n1"), HasSubstr("not found"));
  EXPECT_EQ(world.PlaceOf("train"), "unknown");
  EXPECT_THAT(world.store.Read()->FindNode("n1")->holders, SizeIs(0));
}

TEST(BinderTest, SendsAgainWhatABusyServerHasNotTaken) {
  BinderWorld world;
  world.Know(kTrain);
  world.server.On("POST", {Says(429, "too many"), Says(429, "too many"), kCreated});
  EXPECT_EQ(world.BindNow("train", "n1"), "");
  EXPECT_EQ(world.server.Count("POST"), 3U);
  EXPECT_EQ(world.server.Count("GET"), 0U);
}

TEST(BinderTest, WaitsAsLongAsABusyServerAsks) {
  BinderWorld world;
  world.Know(kTrain);
  world.server.On("POST", {Says(429, "too many", "Retry-After: 1\r\n"), kCreated});
  const auto start = steady_clock::now();
  EXPECT_EQ(world.BindNow("train", "n1"), "");
  EXPECT_GE(steady_clock::now() - start, std::chrono::seconds{1});
}

TEST(BinderTest, GivesBackWhatABusyServerDoesNotTakeInTime) {
  BinderWorld world(HastySettings());
  world.Know(kTrain);
  world.server.On("POST", {Says(429, "too many")});
  EXPECT_NE(world.BindNow("train", "n1"), "");
  EXPECT_THAT(world.ended.WaitFor(1), SizeIs(1));
  EXPECT_EQ(world.PlaceOf("train"), "pending");
  EXPECT_EQ(world.server.Count("GET"), 0U);
}

// Waits of 1, 2, 4 .. 64 ms come to 127 of the 175 ms that leave a last try its time; then one is
// cut, and with as much again for rounding there are no more than a dozen tries. Each millisecond
// there would be a hundred.
TEST(BinderTest, AsksABusyServerLessAndLessOften) {
  BinderWorld world(HastySettings());
  world.Know(kTrain);
  world.server.On("POST", {Says(429, "too many")});
  EXPECT_NE(world.BindNow("train", "n1"), "");
  EXPECT_THAT(world.ended.WaitFor(1), SizeIs(1));
  EXPECT_GE(world.server.Count("POST"), 2U);
  EXPECT_LE(world.server.Count("POST"), 12U);
}

// kube-scheduler cannot wait so long, and the devices are for others meanwhile.
TEST(BinderTest, GivesBackAtOnceWhereABusyServerAsksForMoreThanTheTimeLeft) {
  BinderWorld world;
  world.Know(kTrain);
  world.server.On("POST", {Says(429, "too many", "Retry-After: 3600\r\n"), kCreated});
  EXPECT_THAT(world.BindNow("train", "n1"), HasSubstr("too many"));
  EXPECT_EQ(world.PlaceOf("train"), "pending");
  EXPECT_EQ(world.BindNow("train", "n1"), "") << "the next one is sent";
}

TEST(BinderTest, SendsAgainWhatNobodyHasHeard) {
  std::uint16_t port = 0;
  {
    port = ApiServer().Port();
  }
  scheduler::StateStore store;
  store.Update([](scheduler::Snapshot& next) {
    next = testing::SnapshotOf({testing::WholeInventory("n1", 2)}, {testing::PodFromText(kTrain)});
  });
  const scheduler::Policy policy;
  RecentPods recent_pods;
  Metrics metrics{"test", scheduler::Reasons()};
  EndedBindings ended;
  const auto client = StartClient(PlainConfig(port));
  BinderSettings settings = HastySettings();
  std::atomic<int> tries = 0;
  settings.may_bind = [&tries] {
    ++tries;
    return true;
  };
  Binder binder(*client, store, policy, recent_pods, metrics, settings,
                [&ended](const BindResult& result) { ended.Add(result); });
  std::promise<std::string> answer;
  binder.Bind({"train", "default", "uid-train", "n1"},
              [&answer](std::string error) { answer.set_value(std::move(error)); });
  EXPECT_NE(answer.get_future().get(), "");
  EXPECT_THAT(ended.WaitFor(1), SizeIs(1));
  EXPECT_GE(tries, 2);
  EXPECT_EQ(store.Read()->FindPod("uid-train")->phase, scheduler::PodPhase::kPending);
  client->Stop();
}

// ---- Many --------------------------------------------------------------------------------------

TEST(BinderTest, LetsNoBindingWaitForAnother) {
  BinderWorld world;
  world.server.On("POST", {kCreated});
  world.server.On("POST " + BindingPath("mute"), {Silence()});
  world.Know("mute nvidia.com/gpu=1");
  auto mute = world.Bind("mute", "n1");
  world.server.WaitForRequests("POST", 1);
  for (const std::string name : {"a", "b", "c"}) {
    world.Know(name + " nvidia.com/gpu=1");
    EXPECT_EQ(world.BindNow(name, name == "a" ? "n1" : "n2"), "");
  }
  EXPECT_EQ(mute.wait_for(milliseconds{0}), std::future_status::timeout);
}

// 1,000 pods of one GPU each, on 125 nodes of eight.
TEST(BinderTest, AnswersAThousandBindsAtOnceAndGivesNoDeviceTwice) {
  constexpr int count = 1'000;
  std::vector<scheduler::Inventory> nodes;
  for (int i = 0; i < count / 8; ++i) {
    nodes.push_back(testing::WholeInventory("n" + std::to_string(i), 8));
  }
  BinderWorld world(PatientSettings(), std::move(nodes));
  world.server.On("POST", {kCreated});
  world.store.Update([](scheduler::Snapshot& next) {
    for (int i = 0; i < count; ++i) {
      next.PutPod(testing::PodFromText("p" + std::to_string(i) + " nvidia.com/gpu=1"));
    }
  });
  std::vector<std::future<std::string>> answers;
  for (int i = 0; i < count; ++i) {
    answers.push_back(world.Bind("p" + std::to_string(i), "n" + std::to_string(i / 8)));
  }
  for (auto& answer : answers) EXPECT_EQ(BinderWorld::Get(answer), "");
  std::set<std::pair<std::string, int>> devices;
  for (const PeerRequest& request : world.server.WaitForRequests("POST", count)) {
    const auto body = nlohmann::json::parse(request.body);
    const auto record =
        ParseDeviceRecord(body["metadata"]["annotations"]["offcut.dev/devices"].get<std::string>());
    ASSERT_TRUE(record);
    for (const auto& device : record->devices) {
      EXPECT_TRUE(devices.emplace(record->node, device.gpu).second)
          << record->node << " GPU " << device.gpu;
    }
  }
  EXPECT_THAT(devices, SizeIs(count));
}

// ---- When it may bind --------------------------------------------------------------------------

TEST(BinderTest, SendsNothingBeforeTheTimeThatItWasHeldUntil) {
  BinderWorld world;
  world.Know(kTrain);
  world.server.On("POST", {kCreated});
  const auto until = steady_clock::now() + milliseconds{50};
  world.binder.HoldUntil(until);
  world.binder.HoldUntil(until - milliseconds{40});  // an earlier one shortens nothing
  EXPECT_EQ(world.BindNow("train", "n1"), "");
  EXPECT_GE(steady_clock::now(), until);
  EXPECT_EQ(world.server.Count("POST"), 1U);
}

TEST(BinderTest, SendsNothingUntilItIsReleased) {
  BinderWorld world;
  world.Know(kTrain);
  world.server.On("POST", {kCreated});
  world.client->Post([&] { world.binder.Hold(); });
  auto answer = world.Bind("train", "n1");
  EXPECT_EQ(answer.wait_for(milliseconds{50}), std::future_status::timeout);
  EXPECT_EQ(world.server.Count("POST"), 0U);
  world.client->Post([&] { world.binder.Release(); });
  EXPECT_EQ(BinderWorld::Get(answer), "");
}

// What was waited for has arrived: another's binding, with the same GPUs on record.
TEST(BinderTest, JudgesAgainAfterItWasHeld) {
  BinderWorld world;
  world.Know(kTrain);
  world.Know("small nvidia.com/gpu=1");
  world.server.On("POST", {kCreated});
  world.binder.HoldUntil(steady_clock::now() + milliseconds{200});
  auto train = world.Bind("train", "n1");
  auto small = world.Bind("small", "n2");
  Ask(*world.client, Get("/x"));  // behind both
  ASSERT_EQ(world.PlaceOf("train") + ", " + world.PlaceOf("small"),
            "reserved on n1, reserved on n2");
  world.Know("other-1 nvidia.com/gpu=2 node=n1");
  world.Know("other-2 nvidia.com/gpu=1 node=n2");
  EXPECT_THAT(BinderWorld::Get(train), HasSubstr("not enough free GPUs"));
  EXPECT_EQ(BinderWorld::Get(small), "") << "n2 has a GPU for each";
  EXPECT_EQ(world.PlaceOf("train"), "pending");
  EXPECT_EQ(world.server.Count("POST"), 1U);
}

// kube-scheduler has been told no, and may have another plan by then.
TEST(BinderTest, SendsNothingForSomebodyWhoHasBeenToldNoWhileItWasHeld) {
  BinderWorld world(HastySettings());
  world.Know(kTrain);
  world.server.On("POST", {kCreated});
  world.binder.HoldUntil(steady_clock::now() + 3 * HastySettings().answer_timeout);
  EXPECT_NE(world.BindNow("train", "n1"), "");
  EXPECT_THAT(world.ended.WaitFor(1), SizeIs(1));
  EXPECT_EQ(world.server.Count("POST"), 0U);
  EXPECT_EQ(world.PlaceOf("train"), "pending");
}

// After a pause of the whole process all timers are due at once, the next try before the one that
// gives up; and a successor may have given the devices to others by then.
TEST(BinderTest, SendsNothingOnceTheTimeForAnAnswerIsOver) {
  BinderWorld world(HastySettings());
  world.Know(kTrain);
  world.server.On("POST", {kCreated});
  world.client->Post([&] { world.binder.Hold(); });
  auto answer = world.Bind("train", "n1");
  world.client->Post([&] {
    world.binder.Release();
    const auto end = steady_clock::now() + 2 * HastySettings().answer_timeout;
    while (steady_clock::now() < end) std::this_thread::yield();
  });
  EXPECT_NE(BinderWorld::Get(answer), "");
  EXPECT_THAT(world.ended.WaitFor(1), SizeIs(1));
  EXPECT_EQ(world.server.Count("POST"), 0U);
  EXPECT_EQ(world.PlaceOf("train"), "pending");
}

TEST(BinderTest, SendsNothingWhereAnotherLeads) {
  BinderSettings settings = PatientSettings();
  settings.may_bind = [] { return false; };
  BinderWorld world(settings);
  world.Know(kTrain);
  EXPECT_THAT(world.BindNow("train", "n1"), HasSubstr("not the leader"));
  EXPECT_EQ(world.server.Count("POST"), 0U);
  EXPECT_EQ(world.PlaceOf("train"), "pending");
}

}  // namespace
}  // namespace offcut::api
