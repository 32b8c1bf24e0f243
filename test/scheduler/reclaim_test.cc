#include "scheduler/reclaim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::FractionNode;
using ::offcut::testing::FractionUse;
using ::offcut::testing::Gpus;
using ::offcut::testing::PodFromText;
using ::offcut::testing::RedAndBlueOf;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t now_s = 1'000;

Pod Refused(std::string_view text) {
  Pod pod = PodFromText(text);
  pod.unscheduled_message = "0/1 nodes are available";
  return pod;
}

std::vector<std::string> NamesOf(const std::optional<ReclaimPlan>& plan) {
  std::vector<std::string> names;
  if (!plan) return names;
  for (const auto& victim : plan->victims) names.push_back(victim->name);
  return names;
}

std::optional<ReclaimPlan> PlanFor(const Snapshot& snapshot, const Pod& pod,
                                   const std::unordered_set<std::string>& spared = {}) {
  return PlanReclaim(snapshot, pod, {}, spared, now_s);
}

// n has three GPUs, all red's: one it is guaranteed, two are blue's, who borrows none.
Snapshot Borrowed() {
  Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 3)},
                 {PodFromText("r1 nvidia.com/gpu=1 namespace=red node=n priority=5 created=1"),
                  PodFromText("r2 nvidia.com/gpu=1 namespace=red node=n priority=5 created=2"),
                  PodFromText("r3 nvidia.com/gpu=1 namespace=red node=n priority=9 created=3")});
  snapshot.SetTenancy(std::make_shared<const Tenancy>(RedAndBlueOf(Gpus(1, 2), Gpus(2, 0))));
  return snapshot;
}

// The later of the two of lower priority, though blue's pod has a lower one yet.
TEST(ReclaimTest, TakesAGuaranteeBackFromBorrowersOfAnyPriority) {
  const Snapshot snapshot = Borrowed();
  const auto plan = PlanFor(snapshot, Refused("b nvidia.com/gpu=1 namespace=blue"));
  EXPECT_THAT(NamesOf(plan), ElementsAre("r2"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->node, "n");
  EXPECT_THAT(plan->devices, IsEmpty()) << "the kubelet picks";
  const auto two = PlanFor(snapshot, Refused("b nvidia.com/gpu=2 namespace=blue"));
  EXPECT_THAT(NamesOf(two), ElementsAre("r1", "r2"));
}

TEST(ReclaimTest, TakesNoMoreThanWhatIsBorrowed) {
  const Snapshot snapshot = Borrowed();
  EXPECT_FALSE(PlanFor(snapshot, Refused("b nvidia.com/gpu=3 namespace=blue")));
  // red's own pods make way for red's by priority alone.
  EXPECT_FALSE(PlanFor(snapshot, Refused("r nvidia.com/gpu=1 namespace=red priority=5")));
  EXPECT_THAT(NamesOf(PlanFor(snapshot, Refused("r nvidia.com/gpu=1 namespace=red priority=6"))),
              ElementsAre("r2"));
}

TEST(ReclaimTest, LeavesThoseAloneWhoAreSpared) {
  const Snapshot snapshot = Borrowed();
  const Pod pod = Refused("b nvidia.com/gpu=1 namespace=blue");
  EXPECT_THAT(NamesOf(PlanFor(snapshot, pod, {"uid-r2"})), ElementsAre("r1"));
  EXPECT_FALSE(PlanFor(snapshot, pod, {"uid-r1", "uid-r2", "uid-r3"}));
}

TEST(ReclaimTest, EvictsNobodyWhereThePodFits) {
  Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 1)}, {PodFromText("low nvidia.com/gpu=1 node=n")});
  const Pod pod = Refused("p nvidia.com/gpu=1 priority=1");
  EXPECT_THAT(NamesOf(PlanFor(snapshot, pod)), ElementsAre("low"));
  snapshot.PutNode(WholeInventory("m", 1));
  EXPECT_FALSE(PlanFor(snapshot, pod));
}

TEST(ReclaimTest, TakesABudgetForABar) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 1)}, {});
  Pod guarded = PodFromText("guarded nvidia.com/gpu=1 node=n");
  guarded.labels = {{"app", "guarded"}};
  snapshot.PutPod(guarded);
  const Pod pod = Refused("p nvidia.com/gpu=1 priority=1");
  EXPECT_THAT(NamesOf(PlanFor(snapshot, pod)), ElementsAre("guarded"));
  snapshot.SetDisruptionBudgets(std::make_shared<const std::vector<DisruptionBudget>>(
      std::vector<DisruptionBudget>{{.name_space = "default",
                                     .name = "one",
                                     .selector = {{.key = "app", .values = {"guarded"}}},
                                     .disrupted_pods = {}}}));
  EXPECT_FALSE(PlanFor(snapshot, pod));
}

// n's GPU would be free, and m's; n lacks the CPU, m does not admit the pod.
TEST(ReclaimTest, EvictsOnlyWhereThePodCouldStandThen) {
  Inventory n = WholeInventory("n", 1);
  n.devices.allocatable.cpu_milli = 1'000;
  Inventory m = WholeInventory("m", 1);
  m.marks = NodeMarks{.labels = {}, .taints = {{.key = "team", .value = "a"}}};
  const Snapshot snapshot = SnapshotOf(
      {n, m}, {PodFromText("web node=n cpu=600"), PodFromText("x nvidia.com/gpu=1 node=n cpu=300"),
               PodFromText("y nvidia.com/gpu=1 node=m")});
  EXPECT_FALSE(PlanFor(snapshot, Refused("p nvidia.com/gpu=1 priority=1 cpu=500")));
  EXPECT_THAT(NamesOf(PlanFor(snapshot, Refused("p nvidia.com/gpu=1 priority=1 cpu=400"))),
              ElementsAre("x"));
  Pod tolerant = Refused("p nvidia.com/gpu=1 priority=1 cpu=500");
  tolerant.node_rules.tolerations = {{.key = "team", .exists = true, .value = {}}};
  EXPECT_THAT(NamesOf(PlanFor(snapshot, tolerant)), ElementsAre("y"));
}

// GPUs of 40,000 MiB that an agent shares as we say: 0 has two low shares of 15,000, 1 has one of
// 25,000 that is higher than the newcomer's 20,000. Either of GPU 0's will do.
TEST(ReclaimTest, FreesTheRightPlaceAndNamesIt) {
  Inventory inventory{.name = "n", .serves_fractions = true};
  inventory.devices = FractionNode(40'000, {FractionUse{}, FractionUse{}});
  const auto share = [](Pod pod, int memory_mib, int gpu) {
    pod.request.fractions = {{.gpus = 1, .memory_mib = memory_mib}};
    if (gpu < 0) return pod;
    pod.record = DeviceRecord{.pod_uid = pod.uid, .node = "n", .charge = {}, .devices = {}};
    pod.record->devices = {{.container = {},
                            .gpu = gpu,
                            .uuid = {},
                            .kind = binpack::PieceKind::kFraction,
                            .profile = {},
                            .memory_mib = memory_mib}};
    return pod;
  };
  const Snapshot snapshot =
      SnapshotOf({inventory}, {share(PodFromText("a node=n created=1"), 15'000, 0),
                               share(PodFromText("b node=n created=2"), 15'000, 0),
                               share(PodFromText("c node=n priority=9"), 25'000, 1)});
  const auto plan = PlanFor(snapshot, share(Refused("p priority=5"), 20'000, -1));
  EXPECT_THAT(NamesOf(plan), ElementsAre("b"));
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->devices.size(), 1U);
  EXPECT_EQ(plan->devices[0].gpu, 0);
  EXPECT_EQ(plan->devices[0].memory_mib, 20'000);
}

TEST(ReclaimTest, IsForPodsAloneThatWaitAndOfWhichWeKnowWhatTheyNeed) {
  const auto may = [](auto edit) {
    Pod pod = Refused("p nvidia.com/gpu=1");
    edit(pod);
    const Snapshot snapshot = SnapshotOf({WholeInventory("n", 1)}, {pod});
    return MayReclaim(snapshot, *snapshot.FindPod("uid-p"));
  };
  EXPECT_TRUE(may([](Pod&) {}));
  EXPECT_FALSE(may([](Pod& pod) { pod.unscheduled_message.clear(); }));
  EXPECT_FALSE(may([](Pod& pod) { pod.request = {}; }));
  EXPECT_FALSE(may([](Pod& pod) { pod.node_name = "n"; }));
  EXPECT_FALSE(may([](Pod& pod) { pod.is_terminating = true; }));
  EXPECT_FALSE(may([](Pod& pod) { pod.has_quota_gate = true; }));
  EXPECT_FALSE(may([](Pod& pod) { pod.has_other_gates = true; }));
  EXPECT_FALSE(may([](Pod& pod) { pod.never_preempts = true; }));
  EXPECT_FALSE(may([](Pod& pod) { pod.minds_neighbours = true; }));
  EXPECT_FALSE(may([](Pod& pod) { pod.gang = "g"; }));
  EXPECT_FALSE(may([](Pod& pod) { pod.nominated_node_name = "n"; }));
  EXPECT_FALSE(may([](Pod& pod) {
    pod.hold =
        Hold{.pod_uid = pod.uid, .node = "n", .until_s = 1, .victim_uids = {}, .devices = {}};
  }));
}

// Architecture 54: preemption and the loop evict side by side, and a dry run evicts nobody.
TEST(ReclaimTest, PreemptionBesideALoopThatEvictsTakesForWholeClaimsAlone) {
  Policy policy;
  EXPECT_FALSE(QuotaRulesOf(policy).beside_any);
  policy.reclaim.mode = ReclaimMode::kDryRun;
  EXPECT_FALSE(QuotaRulesOf(policy).beside_any);
  policy.reclaim.mode = ReclaimMode::kOn;
  EXPECT_TRUE(QuotaRulesOf(policy).beside_any);
}

}  // namespace
}  // namespace offcut::scheduler
