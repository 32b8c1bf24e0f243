// MIG instances that an agent makes where we say: pods ask for a profile, and get it at a start
// that we choose.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "scheduler/evaluation_cache.h"
#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::FractionNode;
using ::offcut::testing::MigNode;
using ::offcut::testing::ModelNamed;
using ::offcut::testing::PodFromText;
using ::offcut::testing::RedAndBlue;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::ToText;

constexpr auto kWire = Prefilter::kByKubeScheduler;

Offer OfferOf(const std::string& profile) {
  return {.resource = "nvidia.com/mig-" + profile,
          .kind = OfferKind::kPlacedInstances,
          .profile = profile};
}

// A node of empty GPUs in MIG mode, whose agent makes the profiles that these tests name.
Inventory PlacedInventory(std::string name, int gpus, std::string_view model = "A100-40GB") {
  Inventory inventory{.name = std::move(name), .agent = "dynamic-mig", .serves_fractions = true};
  inventory.devices = MigNode(model, std::vector<std::string>(static_cast<std::size_t>(gpus)));
  for (std::size_t g = 0; g < inventory.devices.gpus.size(); ++g) {
    inventory.devices.gpus[g].uuid = "GPU-" + std::to_string(g);
  }
  inventory.offers = {{.resource = "nvidia.com/gpu", .kind = OfferKind::kFullShares},
                      OfferOf("1g.5gb"),
                      OfferOf("3g.20gb")};
  return inventory;
}

Reason ReasonOn(const Snapshot& snapshot, const Pod& pod, const std::string& node = "n") {
  const std::vector<std::string> names = {node};
  const Policy policy;
  const Reason reason = Filter(snapshot, pod, names, policy, kWire)[0].reason;
  EvaluationCache cache(policy, kWire);
  EXPECT_EQ(Filter(snapshot, pod, names, cache)[0].reason, reason) << "with a cache";
  return reason;
}

Reason ReasonOn(const Snapshot& snapshot, std::string_view pod) {
  return ReasonOn(snapshot, PodFromText(pod));
}

Reservation Bind(Snapshot& snapshot, const Pod& pod, const std::string& node = "n") {
  Reservation reservation = Reserve(snapshot, pod, node, {}, kWire);
  if (reservation.verdict.fits()) snapshot.Confirm(pod.uid);
  return reservation;
}

// Where the pod's instances stand: "0:3g.20gb@4"; empty where it has none.
std::string PlaceOf(const Snapshot& snapshot, const std::string& pod) {
  const Node& node = *snapshot.nodes()[0];
  for (const Holder& holder : node.holders) {
    if (holder.pod->name == pod) return ToText(node.inventory.devices, holder.placement);
  }
  return {};
}

// A pod on n with that instance of GPU 0 on record.
Pod HolderAt(const std::string& name, const std::string& profile, int start, int size) {
  Pod pod = PodFromText(name + " nvidia.com/mig-" + profile + "=1 node=n");
  pod.record = DeviceRecord{.pod_uid = pod.uid,
                            .node = "n",
                            .agent = "dynamic-mig",
                            .certainty = Certainty::kExact,
                            .devices = {{.container = "main",
                                         .gpu = 0,
                                         .uuid = "GPU-0",
                                         .kind = binpack::PieceKind::kInstance,
                                         .profile = profile,
                                         .start = start,
                                         .size = size}}};
  return pod;
}

// [a a a a b b b b]: both halves are given; when a's is free again it is the only one.
TEST(PlacedInstancesTest, TakeBothHalvesOfAGpuAndTheOneThatComesFree) {
  Snapshot snapshot = SnapshotOf({PlacedInventory("n", 1)});
  EXPECT_TRUE(Bind(snapshot, PodFromText("a nvidia.com/mig-3g.20gb=1")).verdict.fits());
  EXPECT_TRUE(Bind(snapshot, PodFromText("b nvidia.com/mig-3g.20gb=1")).verdict.fits());
  const std::string freed = PlaceOf(snapshot, "a");
  EXPECT_THAT((std::vector{freed, PlaceOf(snapshot, "b")}),
              ::testing::UnorderedElementsAre("0:3g.20gb@0", "0:3g.20gb@4"));
  EXPECT_EQ(ReasonOn(snapshot, "c nvidia.com/mig-3g.20gb=1"), Reason::kInstancesTaken);
  EXPECT_EQ(Bind(snapshot, PodFromText("c nvidia.com/mig-3g.20gb=1")).verdict.reason,
            Reason::kInstancesTaken);
  snapshot.RemovePod("uid-a");
  EXPECT_TRUE(Bind(snapshot, PodFromText("c nvidia.com/mig-3g.20gb=1")).verdict.fits());
  EXPECT_EQ(PlaceOf(snapshot, "c"), freed);
}

// [. x . . . y . .]: six slices are free. 3g.20gb needs four of them from 0 or from 4, and 1g.5gb
// starts at 0 to 6, so that five of it fit.
TEST(PlacedInstancesTest, DoNotFitWhereNoLegalStartIsFree) {
  const Snapshot snapshot = SnapshotOf(
      {PlacedInventory("n", 1)}, {HolderAt("x", "1g.5gb", 1, 1), HolderAt("y", "1g.5gb", 5, 1)});
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/mig-3g.20gb=1"), Reason::kFragmented);
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/mig-1g.5gb=5"), Reason::kFits);
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/mig-1g.5gb=6"), Reason::kFragmented);
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/mig-1g.5gb=7"), Reason::kInstancesTaken);
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/mig-1g.5gb=8"), Reason::kExceedsNode);
}

TEST(PlacedInstancesTest, SurviveACountThatNoIntegerHolds) {
  const Snapshot snapshot = SnapshotOf({PlacedInventory("n", 8)});
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/mig-1g.5gb=9223372036854775807"),
            Reason::kExceedsNode);
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=9223372036854775807"), Reason::kExceedsNode);
}

TEST(PlacedInstancesTest, AreOnRecordExactlyForTheContainerThatAsksForThem) {
  Pod pod = PodFromText("p nvidia.com/mig-3g.20gb=1");
  pod.containers.push_back({.name = "side", .devices = {{"nvidia.com/mig-1g.5gb", 1}}});
  pod.request = EffectiveRequest(pod.containers, {});
  Snapshot snapshot = SnapshotOf({PlacedInventory("n", 1)});
  const DeviceRecord record = Bind(snapshot, pod).record;
  EXPECT_EQ(record.agent, "dynamic-mig");
  EXPECT_EQ(record.certainty, Certainty::kExact);
  ASSERT_EQ(record.devices.size(), 2U);
  for (const RecordedDevice& device : record.devices) {
    const bool is_large = device.profile == "3g.20gb";
    EXPECT_EQ(device.container, is_large ? "main" : "side");
    EXPECT_EQ(device.uuid, "GPU-0");
    EXPECT_EQ(device.size, is_large ? 4 : 1);
    EXPECT_GE(device.start, 0);
    EXPECT_GT(device.memory_mib, 0);
  }
  // 3g.20gb is four of the eight memory slices, 1g.5gb one: 700 and 175 of 1400.
  EXPECT_EQ(record.charge.devices, 875);
  EXPECT_EQ(SumOf(snapshot.FindNode("n")->holders[0].charge).devices, 875);
}

// Nobody would choose these starts: alone on a GPU, 3g.20gb goes where it spoils least, and each
// of the two records says something else.
TEST(PlacedInstancesTest, StandWhereTheirRecordsSayAfterARestart) {
  for (const int start : {0, 4}) {
    const Snapshot snapshot =
        SnapshotOf({PlacedInventory("n", 2)}, {HolderAt("p", "3g.20gb", start, 4)});
    EXPECT_EQ(PlaceOf(snapshot, "p"), "0:3g.20gb@" + std::to_string(start));
    EXPECT_TRUE(snapshot.FindNode("n")->holders[0].follows_record);
  }
}

// The first two starts are not legal, the third instance is not what the pod asks for.
TEST(PlacedInstancesTest, FollowNoRecordOfWhatCannotBe) {
  for (const Pod& pod : {HolderAt("p", "3g.20gb", 1, 4), HolderAt("p", "3g.20gb", 4, 2)}) {
    const Snapshot snapshot = SnapshotOf({PlacedInventory("n", 1)}, {pod});
    EXPECT_FALSE(snapshot.FindNode("n")->holders[0].follows_record);
    EXPECT_FALSE(snapshot.FindNode("n")->holders[0].is_unplaced);
  }
  Pod other = HolderAt("p", "3g.20gb", 0, 4);
  other.record->devices[0].profile = "1g.5gb";
  other.record->devices[0].size = 1;
  const Snapshot snapshot = SnapshotOf({PlacedInventory("n", 1)}, {other});
  EXPECT_FALSE(snapshot.FindNode("n")->holders[0].follows_record);
}

// Another branch of the driver prints another name; the record has the one that the GPU reports.
TEST(PlacedInstancesTest, MayBeAskedForByAnAlias) {
  Inventory node = PlacedInventory("n", 1);
  auto model = *ModelNamed("A100-40GB");
  model.profile_aliases.emplace_back("3g.19gb", "3g.20gb");
  node.devices.gpus[0].model = std::make_shared<const binpack::GpuModel>(std::move(model));
  node.offers.push_back(OfferOf("3g.19gb"));
  Snapshot snapshot = SnapshotOf({node});
  Pod pod = PodFromText("p nvidia.com/mig-3g.19gb=1");
  const DeviceRecord record = Bind(snapshot, pod).record;
  ASSERT_EQ(record.devices.size(), 1U);
  EXPECT_EQ(record.devices[0].profile, "3g.20gb");
  EXPECT_EQ(record.devices[0].container, "main");
  pod.node_name = "n";
  pod.record = record;
  const Snapshot restarted = SnapshotOf({node}, {pod});
  EXPECT_TRUE(restarted.FindNode("n")->holders[0].follows_record);
}

// red has one GPU: two halves of 700 are all of its 1400, though two GPUs have four halves.
TEST(PlacedInstancesTest, AreChargedToTheTenantByMemorySlices) {
  Snapshot snapshot = SnapshotOf({PlacedInventory("n", 2)});
  snapshot.SetTenancy(RedAndBlue(1, 0));
  for (const std::string name : {"a", "b"}) {
    const Pod pod = PodFromText(name + " nvidia.com/mig-3g.20gb=1 namespace=red");
    EXPECT_EQ(ReasonOn(snapshot, pod), Reason::kFits);
    EXPECT_TRUE(Bind(snapshot, pod).verdict.fits());
  }
  const Pod third = PodFromText("c nvidia.com/mig-1g.5gb=1 namespace=red");
  EXPECT_EQ(ReasonOn(snapshot, third), Reason::kQuotaWait);
  EXPECT_EQ(Bind(snapshot, third).verdict.reason, Reason::kQuotaWait);
  EXPECT_EQ(ReasonOn(snapshot, "c nvidia.com/mig-1g.5gb=1 namespace=blue"), Reason::kFits);
}

// Equal names, and yet 3g.20gb is reported as half of one GPU and as three eighths of the other.
TEST(PlacedInstancesTest, NodesWithOtherGeometryAreChargedOtherwise) {
  Inventory other = PlacedInventory("m", 1);
  auto model = *ModelNamed("A100-40GB");
  const auto profile = static_cast<std::size_t>(model.FindProfile("3g.20gb").value());
  model.profiles[profile].memory_slices = 3;
  other.devices.gpus[0].model = std::make_shared<const binpack::GpuModel>(std::move(model));
  const Snapshot snapshot = SnapshotOf({PlacedInventory("n", 1), other});
  EXPECT_NE(snapshot.FindNode("n")->charge_key, snapshot.FindNode("m")->charge_key);
}

// kube-scheduler counts nvidia.com/gpu and the node has it: nobody else serves it there. A GPU in
// MIG mode has no shares.
TEST(FullSharesTest, AreNotTakenForWhatOthersServe) {
  EXPECT_EQ(ReasonOn(SnapshotOf({PlacedInventory("n", 1)}), "p nvidia.com/gpu=1"),
            Reason::kExceedsNode);
}

// GPU 0 has a sharer. Two full shares need two GPUs without any.
TEST(FullSharesTest, TakeGpusThatNobodyShares) {
  Inventory node{.name = "n", .agent = "shares", .serves_fractions = true};
  node.offers = {{.resource = "nvidia.com/gpu", .kind = OfferKind::kFullShares}};
  node.devices = FractionNode(40'000, {{.memory_mib = 1'000, .sharers = 1}, {}, {}});
  Snapshot snapshot = SnapshotOf({node});
  const DeviceRecord record = Bind(snapshot, PodFromText("p nvidia.com/gpu=2")).record;
  ASSERT_EQ(record.devices.size(), 2U);
  for (const int i : {0, 1}) {
    const RecordedDevice& device = record.devices[static_cast<std::size_t>(i)];
    EXPECT_EQ(device.gpu, i + 1);
    EXPECT_EQ(device.kind, binpack::PieceKind::kFraction);
    EXPECT_EQ(device.memory_mib, 40'000);
    EXPECT_EQ(device.container, "main");
  }
  EXPECT_EQ(record.charge.devices, 2 * quota::kWholeDevice);
  EXPECT_EQ(ReasonOn(snapshot, "q nvidia.com/gpu=1"), Reason::kGpuMemoryTaken);
}

// One container asks for a part, another for more full shares than any list could hold.
TEST(FullSharesTest, SurviveACountThatNoIntegerHoldsBesideAPart) {
  Inventory node{.name = "n", .agent = "shares", .serves_fractions = true};
  node.offers = {{.resource = "nvidia.com/gpu", .kind = OfferKind::kFullShares}};
  node.devices = FractionNode(40'000, {{}, {}});
  Pod pod = PodFromText("p nvidia.com/gpu=9223372036854775807");
  pod.containers.push_back(
      {.name = "part", .fraction = binpack::Fraction{.gpus = 1, .memory_mib = 4'000}});
  pod.request = EffectiveRequest(pod.containers, {});
  EXPECT_EQ(ReasonOn(SnapshotOf({node}), pod), Reason::kExceedsNode);
}

// Shares stand before full ones in a placement, whatever the order of the containers.
TEST(FullSharesTest, AreToldApartFromPartsOfOtherContainers) {
  Inventory node{.name = "n", .agent = "shares", .serves_fractions = true};
  node.offers = {{.resource = "nvidia.com/gpu", .kind = OfferKind::kFullShares}};
  node.devices = FractionNode(40'000, {{}, {}});
  Pod pod = PodFromText("p nvidia.com/gpu=1");
  pod.containers.push_back(
      {.name = "part", .fraction = binpack::Fraction{.gpus = 1, .memory_mib = 4'000}});
  pod.request = EffectiveRequest(pod.containers, {});
  Snapshot snapshot = SnapshotOf({node});
  const DeviceRecord record = Bind(snapshot, pod).record;
  ASSERT_EQ(record.devices.size(), 2U);
  for (const RecordedDevice& device : record.devices) {
    EXPECT_EQ(device.memory_mib, device.container == "part" ? 4'000 : 40'000) << device.container;
  }
}

}  // namespace
}  // namespace offcut::scheduler
