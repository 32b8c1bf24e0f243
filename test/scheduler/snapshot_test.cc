#include "scheduler/snapshot.h"

#include <algorithm>
#include <random>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "scheduler/state_store.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::PodFromText;
using ::offcut::testing::PoolInventory;
using ::offcut::testing::SharedInventory;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::ToText;
using ::offcut::testing::WholeInventory;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Every node with its holders and what they hold, in a form that can be compared and read.
std::string ToText(const Snapshot& snapshot) {
  std::ostringstream text;
  for (const auto& node : snapshot.nodes()) {
    text << node->name() << " used " << binpack::UsedUnits(node->state) << " cpu "
         << node->state.used.cpu_milli << ":";
    for (const Holder& holder : node->holders) {
      text << " " << holder.pod->name << "[" << ToText(node->state, holder.placement)
           << (holder.is_unplaced ? " unplaced" : "") << "]";
    }
    text << "\n";
  }
  return text.str();
}

std::int64_t UsedOn(const Snapshot& snapshot, std::string_view node) {
  return binpack::UsedUnits(snapshot.FindNode(node)->state);
}

TEST(SnapshotTest, PutsABoundPodOnItsNodeWhicheverComesFirst) {
  const Pod pod = PodFromText("p nvidia.com/gpu=1 node=n");
  Snapshot pod_first;
  pod_first.PutPod(pod);
  pod_first.PutNode(WholeInventory("n", 2));
  const Snapshot node_first = SnapshotOf({WholeInventory("n", 2)}, {pod});
  EXPECT_EQ(UsedOn(pod_first, "n"), 1400);
  EXPECT_EQ(ToText(pod_first), ToText(node_first));
}

TEST(SnapshotTest, GivesTheDevicesOfADeletedPodBack) {
  Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 2)}, {PodFromText("p nvidia.com/gpu=2 node=n")});
  snapshot.RemovePod("uid-p");
  EXPECT_EQ(UsedOn(snapshot, "n"), 0);
  EXPECT_EQ(snapshot.pod_count(), 0U);
}

TEST(SnapshotTest, KeepsDevicesWhileAPodTerminatesAndFreesThemWhenItHasFinished) {
  Pod pod = PodFromText("p nvidia.com/gpu=1 node=n");
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2)}, {pod});
  pod.is_terminating = true;
  snapshot.PutPod(pod);
  EXPECT_EQ(UsedOn(snapshot, "n"), 1400);
  EXPECT_EQ(snapshot.FindPod("uid-p")->phase, PodPhase::kTerminating);
  pod.is_finished = true;
  snapshot.PutPod(pod);
  EXPECT_EQ(UsedOn(snapshot, "n"), 0);
}

TEST(SnapshotTest, CountsAPodOnceHoweverOftenItComes) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 4)});
  for (int i = 0; i < 3; ++i) snapshot.PutPod(PodFromText("p nvidia.com/gpu=1 node=n"));
  EXPECT_EQ(UsedOn(snapshot, "n"), 1400);
  EXPECT_EQ(snapshot.pod_count(), 1U);
}

// An update that was sent before the binding arrives after it: it takes no device away.
TEST(SnapshotTest, KeepsAReservationThroughALateUpdateWithoutNode) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2)});
  const Pod pod = PodFromText("p nvidia.com/gpu=1");
  ASSERT_TRUE(Reserve(snapshot, pod, "n", {}, Prefilter::kByKubeScheduler).verdict.fits());
  snapshot.PutPod(pod);
  EXPECT_EQ(UsedOn(snapshot, "n"), 1400);
  EXPECT_EQ(snapshot.FindPod(pod.uid)->phase, PodPhase::kReserved);
  snapshot.Unreserve(pod.uid);
  EXPECT_EQ(UsedOn(snapshot, "n"), 0);
  EXPECT_EQ(snapshot.FindPod(pod.uid)->phase, PodPhase::kPending);
}

TEST(SnapshotTest, KeepsTheRecordOfAReservationWhenTheBindingIsSeen) {
  Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 2)}, {PodFromText("q nvidia.com/gpu=1 node=n")});
  Pod pod = PodFromText("p nvidia.com/gpu=1");
  const auto record = Reserve(snapshot, pod, "n", {}, Prefilter::kByKubeScheduler).record;
  ASSERT_EQ(record.devices[0].gpu, 1);
  pod.node_name = "n";
  snapshot.PutPod(pod);
  snapshot.RemovePod("uid-q");
  EXPECT_EQ(ToText(snapshot), "n used 1400 cpu 0: p[1]\n");
}

TEST(SnapshotTest, PutsHoldersBackOnANodeThatIsCreatedAnew) {
  Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 2)}, {PodFromText("p nvidia.com/gpu=1 node=n")});
  snapshot.RemoveNode("n");
  EXPECT_EQ(snapshot.FindNode("n"), nullptr);
  snapshot.PutNode(WholeInventory("n", 8));
  EXPECT_EQ(UsedOn(snapshot, "n"), 1400);
}

// The device plugin restarts and the node shows no GPU for a while: the record comes back with
// them.
TEST(SnapshotTest, PlacesByTheRecordAgainWhenTheDevicesReturn) {
  Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 4)}, {PodFromText("q nvidia.com/gpu=1 node=n")});
  Reserve(snapshot, PodFromText("p nvidia.com/gpu=1"), "n", {}, Prefilter::kByKubeScheduler);
  snapshot.RemovePod("uid-q");
  ASSERT_EQ(ToText(snapshot), "n used 1400 cpu 0: p[1]\n");
  snapshot.PutNode(WholeInventory("n", 0));
  EXPECT_EQ(ToText(snapshot), "n used 0 cpu 0: p[ unplaced]\n");
  snapshot.PutNode(WholeInventory("n", 4));
  EXPECT_EQ(ToText(snapshot), "n used 1400 cpu 0: p[1]\n");
}

TEST(SnapshotTest, CountsHoldersBoundByOthersAsFarAsThereIsRoom) {
  const Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 2)}, {PodFromText("a nvidia.com/gpu=1 node=n created=1"),
                                            PodFromText("b nvidia.com/gpu=4 node=n created=2")});
  EXPECT_EQ(ToText(snapshot), "n used 2800 cpu 0: a[0] b[1 unplaced]\n");
}

TEST(SnapshotTest, IgnoresARecordThatIsAnothersOrDoesNotMatchTheRequest) {
  Pod pod = PodFromText("p nvidia.com/gpu=1 node=n");
  pod.record = DeviceRecord{.pod_uid = "another", .node = "n", .devices = {{.gpu = 3}}};
  EXPECT_EQ(ToText(SnapshotOf({WholeInventory("n", 4)}, {pod})), "n used 1400 cpu 0: p[0]\n");
  pod.record->pod_uid = "uid-p";
  EXPECT_EQ(ToText(SnapshotOf({WholeInventory("n", 4)}, {pod})), "n used 1400 cpu 0: p[3]\n");
  pod.record->devices.push_back({.gpu = 2});
  EXPECT_EQ(ToText(SnapshotOf({WholeInventory("n", 4)}, {pod})), "n used 1400 cpu 0: p[0]\n");
  pod.record->devices = {{.gpu = 9}};
  EXPECT_EQ(ToText(SnapshotOf({WholeInventory("n", 4)}, {pod})), "n used 1400 cpu 0: p[0]\n");
}

// A pod may write its own annotations. It asks for one GPU, or for one instance of pool 1, and its
// record names all seven instances of pool 0 beside it.
TEST(SnapshotTest, IgnoresARecordOfInstancesThatThePodNeverAskedFor) {
  Inventory node = PoolInventory("n", "A100-40GB", {{"1g.5gb", 7}, {"2g.10gb", 3}});
  node.devices.gpus = WholeInventory("n", 2).devices.gpus;
  node.offers.insert(node.offers.begin(), {.resource = "nvidia.com/gpu"});
  const RecordedDevice of_pool_0{.kind = binpack::PieceKind::kInstance, .profile = "1g.5gb"};
  const RecordedDevice of_pool_1{.kind = binpack::PieceKind::kInstance, .profile = "2g.10gb"};
  for (const auto& [text, own, placed] :
       {std::tuple("p nvidia.com/gpu=1 node=n", RecordedDevice{.gpu = 1}, "p[0]"),
        std::tuple("p nvidia.com/mig-2g.10gb=1 node=n", of_pool_1, "p[pool1]")}) {
    Pod pod = PodFromText(text);
    pod.record = DeviceRecord{.pod_uid = pod.uid, .node = "n", .devices = {own}};
    pod.record->devices.insert(pod.record->devices.end(), 7, of_pool_0);
    const Snapshot snapshot = SnapshotOf({node}, {pod});
    EXPECT_NE(ToText(snapshot).find(placed), std::string::npos) << ToText(snapshot);
    EXPECT_EQ(snapshot.FindNode("n")->state.pools[0].units_used, 0);
    EXPECT_FALSE(snapshot.FindNode("n")->holders[0].follows_record);
  }
}

// A pod of shares, on a node whose agent serves them.
Pod PodOfShares(const std::vector<binpack::Fraction>& fractions) {
  Pod pod = PodFromText("p node=n");
  pod.request.fractions = fractions;
  return pod;
}

Inventory InventoryOfShares(binpack::NodeState devices) {
  return {.name = "n", .serves_fractions = true, .devices = std::move(devices)};
}

// What the pod is charged, and whether its record counts, with these devices on record.
std::pair<std::int64_t, bool> ChargedBy(const Inventory& node, Pod pod,
                                        std::vector<RecordedDevice> devices) {
  pod.record = DeviceRecord{.pod_uid = pod.uid, .node = "n", .devices = std::move(devices)};
  const Snapshot snapshot = SnapshotOf({node}, {std::move(pod)});
  const Holder& holder = snapshot.FindNode("n")->holders[0];
  return {SumOf(holder.charge).devices, holder.follows_record};
}

// It asks for 8000 of 32000 MiB and 30 % of the cores of each of two GPUs: 350 each.
TEST(SnapshotTest, IgnoresARecordOfLessThanThePodAsksFor) {
  const Inventory node = InventoryOfShares(::offcut::testing::FractionNode(32'000, {{}, {}, {}}));
  const Pod pod = PodOfShares({{.gpus = 2, .memory_mib = 8000, .cores_percent = 30}});
  const auto share = [](int gpu, std::int64_t memory_mib, int cores_percent) {
    return RecordedDevice{.gpu = gpu,
                          .kind = binpack::PieceKind::kFraction,
                          .memory_mib = memory_mib,
                          .cores_percent = cores_percent};
  };
  EXPECT_EQ(ChargedBy(node, pod, {share(1, 8000, 30), share(2, 8000, 30)}), std::pair(700L, true));
  for (const RecordedDevice& wrong :
       {share(2, 1, 30), share(2, 7999, 30), share(2, 8001, 30), share(2, 8000, 0),
        share(1, 8000, 30), RecordedDevice{.gpu = 2}}) {
    EXPECT_EQ(ChargedBy(node, pod, {share(1, 8000, 30), wrong}), std::pair(700L, false))
        << wrong.memory_mib << " MiB, " << wrong.cores_percent << " % of " << wrong.gpu;
  }
}

// A quarter of the memory is 8000 MiB here.
TEST(SnapshotTest, ComparesRecordsWithWhatAShareIsOnThatNode) {
  const Inventory node = InventoryOfShares(::offcut::testing::FractionNode(32'000, {{}}));
  const Pod pod = PodOfShares({{.gpus = 1, .memory_percent = 25}, {.gpus = 1, .memory_mib = 4000}});
  const RecordedDevice quarter{.gpu = 0, .kind = binpack::PieceKind::kFraction, .memory_mib = 8000};
  RecordedDevice eighth = quarter;
  eighth.memory_mib = 4000;
  EXPECT_EQ(ChargedBy(node, pod, {quarter, eighth}), std::pair(525L, true));
  EXPECT_EQ(ChargedBy(node, pod, {eighth, quarter}), std::pair(525L, true));
  EXPECT_EQ(ChargedBy(node, pod, {eighth, eighth}), std::pair(525L, false));
}

// 10 of 40 GB: two of eight memory slices, and the share's charge where the record is not believed.
TEST(SnapshotTest, AnInstanceServesAShareThatItCovers) {
  const Inventory node = InventoryOfShares(::offcut::testing::MigNode("A100-40GB", {""}));
  const Pod pod = PodOfShares({{.gpus = 1, .memory_mib = 10'240, .cores_percent = 28}});
  const auto instance = [](std::string profile, int size) {
    return RecordedDevice{.gpu = 0,
                          .kind = binpack::PieceKind::kInstance,
                          .profile = std::move(profile),
                          .start = 0,
                          .size = size};
  };
  EXPECT_EQ(ChargedBy(node, pod, {instance("2g.10gb", 2)}), std::pair(350L, true));
  const auto [charge, is_believed] = ChargedBy(node, pod, {instance("1g.5gb", 1)});
  EXPECT_FALSE(is_believed);
  EXPECT_GE(charge, 350);
}

// b came first and its record is as good as the other's word that its own is exact.
TEST(SnapshotTest, ARecordsCertaintyGivesNoPrecedence) {
  Pod a = PodFromText("a nvidia.com/gpu=1 node=n created=2");
  a.record = DeviceRecord{
      .pod_uid = a.uid, .node = "n", .certainty = Certainty::kExact, .devices = {{.gpu = 1}}};
  Pod b = PodFromText("b nvidia.com/gpu=1 node=n created=1");
  b.record = DeviceRecord{.pod_uid = b.uid, .node = "n", .devices = {{.gpu = 1}}};
  EXPECT_EQ(ToText(SnapshotOf({WholeInventory("n", 4)}, {a, b})), "n used 2800 cpu 0: b[1] a[0]\n");
}

class EventOrders : public ::testing::TestWithParam<unsigned> {};

// Whatever the order of events, the state is that of a rebuild from the final list.
TEST_P(EventOrders, EndEqualToARebuild) {
  std::mt19937 random(GetParam());
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  const std::vector<Inventory> nodes = {WholeInventory("a", 4),
                                        SharedInventory("b", binpack::Sharing::kTimeSlicing, 2, 3),
                                        PoolInventory("c", "A100-40GB", {{"1g.5gb", 5, 0}})};
  std::vector<Pod> pods;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "p" + std::to_string(i);
    const std::string created = " created=" + std::to_string(random() % 5);
    const std::string where[] = {" nvidia.com/gpu=1 node=a", " nvidia.com/gpu=1 node=b",
                                 " nvidia.com/mig-1g.5gb=1 node=c", " nvidia.com/gpu=2"};
    pods.push_back(PodFromText(name + where[random() % 4] + created));
  }
  std::vector<int> events(nodes.size() + pods.size());
  std::iota(events.begin(), events.end(), 0);
  std::ranges::shuffle(events, random);
  Snapshot shuffled;
  for (const int event : events) {
    const auto index = static_cast<std::size_t>(event);
    if (index < nodes.size()) {
      shuffled.PutNode(nodes[index]);
    } else {
      shuffled.PutPod(pods[index - nodes.size()]);
      if (random() % 3 == 0) shuffled.PutPod(pods[index - nodes.size()]);
    }
    if (random() % 6 == 0) {
      const Inventory& node = nodes[random() % nodes.size()];
      if (shuffled.FindNode(node.name) != nullptr) {
        shuffled.RemoveNode(node.name);
        shuffled.PutNode(node);
      }
    }
  }
  EXPECT_EQ(ToText(shuffled), ToText(SnapshotOf(nodes, pods)));

  std::vector<Pod> left;
  std::ranges::copy_if(pods, std::back_inserter(left),
                       [&](const Pod&) { return random() % 2 == 0; });
  EXPECT_EQ(shuffled.ReplacePods(left).size(), pods.size() - left.size());
  EXPECT_EQ(ToText(shuffled), ToText(SnapshotOf(nodes, left)));
}

INSTANTIATE_TEST_SUITE_P(Seeds, EventOrders, ::testing::Range(1U, 41U));

// a has gone while nobody watched, b has a successor of its name, c is as it was.
TEST(SnapshotTest, AListReplacesWhatWasKnownAndCountsGhosts) {
  Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 8)}, {PodFromText("a nvidia.com/gpu=1 node=n"),
                                            PodFromText("b nvidia.com/gpu=1 node=n"),
                                            PodFromText("c nvidia.com/gpu=1 node=n")});
  Pod successor = PodFromText("b nvidia.com/gpu=4");
  successor.uid = "uid-of-the-second-b";
  const std::vector<Pod> list = {successor, PodFromText("c nvidia.com/gpu=1 node=n")};
  EXPECT_THAT(snapshot.ReplacePods(list), UnorderedElementsAre("uid-a", "uid-b"));
  EXPECT_EQ(ToText(snapshot), ToText(SnapshotOf({WholeInventory("n", 8)}, list)));
  EXPECT_EQ(snapshot.pod_count(), 2U);
}

// Whoever keeps what it has worked out for a node knows it by its address.
TEST(SnapshotTest, AListThatSaysNothingNewLeavesTheNodesAsTheyAre) {
  const std::vector<Pod> pods = {PodFromText("a nvidia.com/gpu=1 node=n"),
                                 PodFromText("b nvidia.com/gpu=1 node=m"),
                                 PodFromText("c nvidia.com/gpu=1")};
  Snapshot snapshot = SnapshotOf({WholeInventory("m", 8), WholeInventory("n", 8)}, pods);
  const auto m = snapshot.nodes()[0];
  const auto n = snapshot.nodes()[1];
  std::vector<Pod> list = pods;
  list[0].is_terminating = true;
  EXPECT_THAT(snapshot.ReplacePods(list), IsEmpty());
  EXPECT_EQ(snapshot.nodes()[0], m);
  EXPECT_NE(snapshot.nodes()[1], n);
  EXPECT_EQ(snapshot.FindPod("uid-a")->phase, PodPhase::kTerminating);
}

// The list may be older than our reservation, and than a binding that we made and nobody has shown
// us yet.
TEST(SnapshotTest, AListTakesNothingFromPodsThatWeBind) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 8)});
  Reserve(snapshot, PodFromText("a nvidia.com/gpu=1"), "n", {}, Prefilter::kByKubeScheduler);
  Reserve(snapshot, PodFromText("b nvidia.com/gpu=1"), "n", {}, Prefilter::kByKubeScheduler);
  snapshot.Confirm("uid-b");
  EXPECT_THAT(snapshot.ReplacePods({}), IsEmpty());
  EXPECT_EQ(UsedOn(snapshot, "n"), 2800);
  EXPECT_FALSE(IsSeen(*snapshot.FindPod("uid-b")));
  snapshot.PutPod(PodFromText("b nvidia.com/gpu=1 node=n"));
  EXPECT_TRUE(IsSeen(*snapshot.FindPod("uid-b")));
  EXPECT_THAT(snapshot.ReplacePods({}), ElementsAre("uid-b"));
  EXPECT_EQ(UsedOn(snapshot, "n"), 1400);
}

// Our reservation stands for the record until the binding has been shown; then the object decides,
// as it would after a restart.
TEST(SnapshotTest, ARecordThatIsTakenOffABoundPodIsForgotten) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 8)});
  const auto reserved =
      Reserve(snapshot, PodFromText("a nvidia.com/gpu=1"), "n", {}, Prefilter::kByKubeScheduler);
  snapshot.Confirm("uid-a");
  Pod bound = PodFromText("a nvidia.com/gpu=1 node=n");
  bound.record = reserved.record;
  snapshot.PutPod(bound);
  EXPECT_TRUE(snapshot.FindNode("n")->holders[0].record.has_value());
  bound.record.reset();
  snapshot.PutPod(bound);
  EXPECT_FALSE(snapshot.FindNode("n")->holders[0].record.has_value());
  EXPECT_EQ(ToText(snapshot), ToText(SnapshotOf({WholeInventory("n", 8)}, {bound})));
}

TEST(SnapshotTest, AListOfNodesReplacesNodesAndKeepsTheirPods) {
  Snapshot snapshot = SnapshotOf({WholeInventory("gone", 2), WholeInventory("n", 2)},
                                 {PodFromText("p nvidia.com/gpu=1 node=gone")});
  snapshot.ReplaceNodes({WholeInventory("n", 4), WholeInventory("new", 1)});
  EXPECT_EQ(snapshot.FindNode("gone"), nullptr);
  EXPECT_EQ(std::ssize(snapshot.FindNode("n")->inventory.devices.gpus), 4);
  snapshot.ReplaceNodes({WholeInventory("gone", 2)});
  EXPECT_EQ(UsedOn(snapshot, "gone"), 1400);
}

TEST(StateStoreTest, PublishesWhatAnEditMadeAndLeavesOlderSnapshotsAlone) {
  StateStore store;
  store.Update([](Snapshot& next) { next.PutNode(WholeInventory("n", 1)); });
  const auto before = store.Read();
  const bool fits = store.Update([](Snapshot& next) {
    return Reserve(next, PodFromText("p nvidia.com/gpu=1"), "n", {}, Prefilter::kByKubeScheduler)
        .verdict.fits();
  });
  EXPECT_TRUE(fits);
  EXPECT_EQ(UsedOn(*before, "n"), 0);
  EXPECT_EQ(UsedOn(*store.Read(), "n"), 1400);
}

// Four writers fight for 8 GPUs with 40 pods while readers check every snapshot: exactly 8 win, and
// no snapshot ever shows more than the node has.
TEST(StateStoreThreadsTest, NeverGivesADeviceTwice) {
  StateStore store;
  store.Update([](Snapshot& next) { next.PutNode(WholeInventory("n", 8)); });
  std::atomic<int> won = 0;
  std::atomic<bool> is_over = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      while (!is_over) {
        const auto snapshot = store.Read();
        const Node* node = snapshot->FindNode("n");
        std::int64_t held = 0;
        for (const Holder& holder : node->holders) held += std::ssize(holder.placement.pieces);
        if (held > 8 || held * 1400 != binpack::UsedUnits(node->state)) ++wrong;
      }
    });
  }
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < 10; ++i) {
        const Pod pod =
            PodFromText("p" + std::to_string(w) + "-" + std::to_string(i) + " nvidia.com/gpu=1");
        const auto verdict = store.Update([&](Snapshot& next) {
          return Reserve(next, pod, "n", {}, Prefilter::kByKubeScheduler).verdict;
        });
        if (verdict.fits()) ++won;
      }
    });
  }
  for (auto& writer : writers) writer.join();
  is_over = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(won, 8);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace offcut::scheduler
