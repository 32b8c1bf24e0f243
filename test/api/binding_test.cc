#include "api/binding.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/device_record_json.h"
#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using nlohmann::json;
using testing::PodFromText;
using testing::SnapshotOf;
using testing::WholeInventory;

constexpr std::string_view kTrain = "train-7 nvidia.com/gpu=1";
const ExtenderBindingArgs kTrainOnN1 = {
    .pod_name = "train-7", .pod_namespace = "default", .pod_uid = "uid-train-7", .node = "n1"};

// A state of one node with one GPU, and what a bind decides on it.
struct World {
  World() {
    store.Update([](scheduler::Snapshot& next) { next = SnapshotOf({WholeInventory("n1", 1)}); });
  }
  auto Bind(std::string_view pod_text, const ExtenderBindingArgs& args) {
    return ReserveForBind(store, policy, metrics, args, PodFromText(pod_text));
  }
  OpenBinding MustBind(std::string_view pod_text) {
    const auto binding = Bind(pod_text, kTrainOnN1);
    EXPECT_TRUE(binding) << binding.error();
    return binding.value_or(OpenBinding());
  }

  scheduler::StateStore store;
  scheduler::Policy policy;
  Metrics metrics{"test", scheduler::Reasons()};
};

scheduler::Pod PodWith(std::string_view text, const scheduler::DeviceRecord& record) {
  scheduler::Pod pod = PodFromText(text);
  pod.record = record;
  return pod;
}

// ---- What is sent ------------------------------------------------------------------------------

TEST(BindingTest, WritesTheRecordWithTheNodeInOneCallThatNamesTheUid) {
  World world;
  const OpenBinding binding = world.MustBind(kTrain);
  const json body = json::parse(PrintBinding(binding));
  const json expected = {
      {"apiVersion", "v1"},
      {"kind", "Binding"},
      {"metadata",
       {{"name", "train-7"},
        {"namespace", "default"},
        {"uid", "uid-train-7"},
        {"annotations", {{"offcut.dev/devices", PrintDeviceRecord(binding.record)}}}}},
      {"target", {{"kind", "Node"}, {"name", "n1"}}}};
  EXPECT_EQ(body, expected);
}

TEST(BindingTest, WritesARecordThatReadsBackAsItWasReserved) {
  World world;
  const OpenBinding binding = world.MustBind(kTrain);
  const json body = json::parse(PrintBinding(binding));
  const auto read =
      ParseDeviceRecord(body["metadata"]["annotations"]["offcut.dev/devices"].get<std::string>());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, binding.record);
  EXPECT_EQ(read->devices.size(), 1U);
}

TEST(BindingTest, WritesNoAnnotationForAPodWithoutDevices) {
  World world;
  const json body = json::parse(PrintBinding(world.MustBind("train-7")));
  EXPECT_FALSE(body["metadata"].contains("annotations"));
  EXPECT_EQ(body["metadata"]["uid"], "uid-train-7");
}

TEST(BindingTest, WritesNamesThatJsonMustEscape) {
  OpenBinding binding;
  binding.args = {.pod_name = "a\"b", .pod_namespace = "n", .pod_uid = "u", .node = "x\\y"};
  const json body = json::parse(PrintBinding(binding));
  EXPECT_EQ(body["metadata"]["name"], "a\"b");
  EXPECT_EQ(body["target"]["name"], "x\\y");
}

TEST(BindingTest, AddressesThePod) {
  EXPECT_EQ(PodPath("team-a", "train-7"), "/api/v1/namespaces/team-a/pods/train-7");
}

// ---- What is reserved --------------------------------------------------------------------------

TEST(BindingTest, ReservesTheSameDevicesForABindThatComesAgain) {
  World world;
  const OpenBinding first = world.MustBind(kTrain);
  const OpenBinding second = world.MustBind(kTrain);
  EXPECT_EQ(first.record, second.record);
  EXPECT_FALSE(second.is_bound);
}

TEST(BindingTest, LeavesNothingToDoForAPodThatIsBound) {
  World world;
  world.MustBind(kTrain);
  world.store.Update([](scheduler::Snapshot& next) { next.Confirm("uid-train-7"); });
  EXPECT_TRUE(world.MustBind(kTrain).is_bound);
}

TEST(BindingTest, RefusesAndCountsWhatTheNewestStateHasNoRoomFor) {
  World world;
  world.MustBind(kTrain);
  ExtenderBindingArgs other = kTrainOnN1;
  other.pod_name = "b";
  other.pod_uid = "uid-b";
  const auto refused = world.Bind("b nvidia.com/gpu=1", other);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), InfoOf(scheduler::Reason::kGpusTaken).text);
  EXPECT_NE(world.metrics.Print().find("offcut_bind_conflicts_total 1"), std::string::npos);
  EXPECT_EQ(world.store.Read()->FindPod("uid-b"), nullptr);
}

// No filter offered them: a node without the resource, one that is too small, and a second node.
TEST(BindingTest, CountsNoConflictWhereTheStateHasNotChanged) {
  World world;
  world.store.Update([](scheduler::Snapshot& next) { next.PutNode(WholeInventory("n2", 1)); });
  scheduler::Policy& policy = world.policy;
  policy.resources.ignored_by_scheduler = {"nvidia.com/mig-1g.5gb"};
  EXPECT_FALSE(world.Bind("train-7 nvidia.com/mig-1g.5gb=1", kTrainOnN1));
  EXPECT_FALSE(world.Bind("train-7 nvidia.com/gpu=2", kTrainOnN1));
  world.MustBind(kTrain);
  ExtenderBindingArgs second = kTrainOnN1;
  second.node = "n2";
  EXPECT_FALSE(world.Bind(kTrain, second));
  EXPECT_NE(world.metrics.Print().find("offcut_bind_conflicts_total 0"), std::string::npos);
}

TEST(BindingTest, CountsANodeThatIsGoneAsAConflict) {
  World world;
  world.store.Update([](scheduler::Snapshot& next) { next.RemoveNode("n1"); });
  EXPECT_FALSE(world.Bind(kTrain, kTrainOnN1));
  EXPECT_NE(world.metrics.Print().find("offcut_bind_conflicts_total 1"), std::string::npos);
}

TEST(BindingTest, RefusesAUidUnderAnotherName) {
  World world;
  ExtenderBindingArgs wrong_name = kTrainOnN1;
  wrong_name.pod_name = "train-8";
  EXPECT_FALSE(world.Bind(kTrain, wrong_name));
  ExtenderBindingArgs wrong_namespace = kTrainOnN1;
  wrong_namespace.pod_namespace = "team-b";
  EXPECT_FALSE(world.Bind(kTrain, wrong_namespace));
  EXPECT_EQ(world.store.Read()->pod_count(), 0U);
}

// ---- What a pod that was read says -------------------------------------------------------------

TEST(BindingTest, KnowsItsOwnBindingByNodeAndRecord) {
  World world;
  const OpenBinding binding = world.MustBind(kTrain);
  const std::string on_n1 = std::string(kTrain) + " node=n1";
  EXPECT_EQ(StateOf(binding, PodWith(on_n1, binding.record)), BindingState::kBound);
  EXPECT_EQ(StateOf(binding, PodFromText(on_n1)), BindingState::kElsewhere) << "no record";
  scheduler::DeviceRecord other = binding.record;
  other.devices.front().gpu = 7;
  EXPECT_EQ(StateOf(binding, PodWith(on_n1, other)), BindingState::kElsewhere);
  EXPECT_EQ(StateOf(binding, PodWith(std::string(kTrain) + " node=n2", binding.record)),
            BindingState::kElsewhere);
}

TEST(BindingTest, KnowsTheBindingOfAPodWithoutDevicesByItsNode) {
  World world;
  const OpenBinding binding = world.MustBind("train-7");
  EXPECT_EQ(StateOf(binding, PodFromText("train-7 node=n1")), BindingState::kBound);
  EXPECT_EQ(StateOf(binding, PodFromText("train-7 node=n2")), BindingState::kElsewhere);
  const scheduler::DeviceRecord record{.devices = {{.container = "main", .gpu = 0}}};
  EXPECT_EQ(StateOf(binding, PodWith("train-7 node=n1", record)), BindingState::kElsewhere);
}

TEST(BindingTest, KnowsAPodThatIsNotBound) {
  World world;
  EXPECT_EQ(StateOf(world.MustBind(kTrain), PodFromText(kTrain)), BindingState::kUnbound);
}

TEST(BindingTest, KnowsThatAnotherPodHasTheName) {
  World world;
  const OpenBinding binding = world.MustBind(kTrain);
  scheduler::Pod successor = PodWith(std::string(kTrain) + " node=n1", binding.record);
  successor.uid = "uid-2";
  EXPECT_EQ(StateOf(binding, successor), BindingState::kGone);
  successor.node_name.clear();
  EXPECT_EQ(StateOf(binding, successor), BindingState::kGone);
}

}  // namespace
}  // namespace offcut::api
