// Where `scheduler.refusals: preemptable` sends a refusal: to FailedNodes where those who may be
// evicted could make room, else not.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "scheduler/node_victims.h"
#include "scheduler/preemptor.h"
#include "test/testing/mig_holders.h"
#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::Gpus;
using ::offcut::testing::MigHolder;
using ::offcut::testing::MigHoldersOn;
using ::offcut::testing::PodFromText;
using ::offcut::testing::RedAndBlueOf;
using ::offcut::testing::SharedInventory;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;

constexpr std::int64_t kNowS = 1'000;
constexpr const char* kOneGpu = "p nvidia.com/gpu=1 priority=10";

Policy Preemptable() {
  Policy policy;
  policy.refusals = Refusals::kPreemptable;
  return policy;
}

// Of the node "n", which must refuse the pod.
bool IsPreemptableOnN(const Snapshot& snapshot, const Pod& pod,
                      const Policy& policy = Preemptable()) {
  const std::vector<std::string> names = {"n"};
  const auto prefilter = Prefilter::kByKubeScheduler;
  const auto verdicts = Filter(snapshot, pod, names, policy, prefilter);
  EXPECT_FALSE(verdicts[0].fits());
  return PreemptableRefusals(snapshot, pod, names, verdicts, policy, prefilter, kNowS)[0];
}

bool IsPreemptableOnN(const Snapshot& snapshot, const char* pod) {
  return IsPreemptableOnN(snapshot, PodFromText(pod));
}

Snapshot FullNode(const std::string& holder) {
  return SnapshotOf({WholeInventory("n", 1)}, {PodFromText("a nvidia.com/gpu=1 node=n " + holder)});
}

TEST(PreemptableRefusalsTest, OnlyPodsOfLowerPriorityMakeRoom) {
  EXPECT_TRUE(IsPreemptableOnN(FullNode("priority=9"), kOneGpu));
  EXPECT_FALSE(IsPreemptableOnN(FullNode("priority=10"), kOneGpu));
}

// Of three GPUs two can be had: enough for two, not for three.
TEST(PreemptableRefusalsTest, AllWhoMayGoTogetherAreCountedOn) {
  const Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 3)}, {PodFromText("a nvidia.com/gpu=1 node=n"),
                                            PodFromText("b nvidia.com/gpu=1 node=n"),
                                            PodFromText("c nvidia.com/gpu=1 node=n priority=10")});
  EXPECT_TRUE(IsPreemptableOnN(snapshot, "p nvidia.com/gpu=2 priority=10"));
  EXPECT_FALSE(IsPreemptableOnN(snapshot, "p nvidia.com/gpu=3 priority=10"));
}

TEST(PreemptableRefusalsTest, ByDefaultOnlyTheNominatedNodeIs) {
  const Pod nominated = PodFromText(std::string(kOneGpu) + " nominated=n");
  EXPECT_FALSE(IsPreemptableOnN(FullNode(""), PodFromText(kOneGpu), {}));
  EXPECT_TRUE(IsPreemptableOnN(FullNode(""), nominated, {}));
  // Its victims may be gone for kube-scheduler already.
  EXPECT_TRUE(IsPreemptableOnN(FullNode("priority=10"), nominated));
}

TEST(PreemptableRefusalsTest, APodOfTheSameBandMakesNoRoom) {
  Policy policy = Preemptable();
  policy.preemption.protected_bands = {{.from = 5, .to = 20}};
  EXPECT_TRUE(IsPreemptableOnN(FullNode("priority=4"), PodFromText(kOneGpu), policy));
  EXPECT_FALSE(IsPreemptableOnN(FullNode("priority=5"), PodFromText(kOneGpu), policy));
}

// 60 s to run: created at 940 of 1,000 it may go, at 941 not yet.
TEST(PreemptableRefusalsTest, WhoHasJustStartedMakesNoRoom) {
  Policy policy = Preemptable();
  policy.preemption.run_s_min = 60;
  EXPECT_TRUE(IsPreemptableOnN(FullNode("created=940"), PodFromText(kOneGpu), policy));
  EXPECT_FALSE(IsPreemptableOnN(FullNode("created=941"), PodFromText(kOneGpu), policy));
}

TEST(PreemptableRefusalsTest, AGangWithMembersElsewhereMakesNoRoom) {
  const auto member = [](const std::string& text) {
    Pod pod = PodFromText(text);
    pod.gang = "gang";
    return pod;
  };
  const Pod here = member("a nvidia.com/gpu=1 node=n");
  const Pod away = member("b nvidia.com/gpu=1 node=m");
  EXPECT_TRUE(IsPreemptableOnN(SnapshotOf({WholeInventory("n", 1)}, {here}), kOneGpu));
  EXPECT_FALSE(IsPreemptableOnN(
      SnapshotOf({WholeInventory("n", 1), WholeInventory("m", 1)}, {here, away}), kOneGpu));
}

// Whose device nobody knows frees none that we could count on: GPU 1 is not there.
TEST(PreemptableRefusalsTest, AnUnknownHolderMakesNoRoom) {
  const Pod pod = PodFromText("p nvidia.com/gpumem=1 priority=10");
  const auto on_gpu = [](int gpu) {
    return MigHoldersOn("A100-40GB", 1, {MigHolder{"a", gpu, "7g.40gb", 0}});
  };
  const Policy policy = Preemptable();
  const auto could = [&](const Snapshot& snapshot) {
    Preemptor preemptor(snapshot, pod, policy, kNowS);
    return NodeVictims(preemptor, *snapshot.FindNode("n"), testing::Profiles("7g.40gb"))
        .CouldSuffice();
  };
  EXPECT_TRUE(could(on_gpu(0)));
  EXPECT_FALSE(could(on_gpu(1)));
}

// A protected 1g anywhere blocks the 7g; a 4g fits beside it.
TEST(PreemptableRefusalsTest, AnInstanceThatStaysBlocksWhatReachesOverIt) {
  const Snapshot snapshot =
      MigHoldersOn("A100-40GB", 1, {{"a", 0, "4g.20gb", 0, 0}, {"b", 0, "1g.5gb", 4, 50}});
  const Pod pod = PodFromText("p nvidia.com/gpumem=1 priority=10");
  const Policy policy = Preemptable();
  Preemptor preemptor(snapshot, pod, policy, kNowS);
  const Node& node = *snapshot.FindNode("n");
  EXPECT_TRUE(NodeVictims(preemptor, node, testing::Profiles("4g.20gb")).CouldSuffice());
  EXPECT_FALSE(NodeVictims(preemptor, node, testing::Profiles("7g.40gb")).CouldSuffice());
}

// One GPU, held by blue. With a guarantee of none blue borrows it, with one it does not.
TEST(PreemptableRefusalsTest, ATenantWithinItsGuaranteeMakesNoRoom) {
  const auto held_by_blue = [](int guarantee_of_blue) {
    Snapshot snapshot = FullNode("namespace=blue");
    snapshot.SetTenancy(
        std::make_shared<const Tenancy>(RedAndBlueOf(Gpus(4), Gpus(guarantee_of_blue))));
    return snapshot;
  };
  const char* red = "p nvidia.com/gpu=1 priority=10 namespace=red";
  EXPECT_TRUE(IsPreemptableOnN(held_by_blue(0), red));
  EXPECT_FALSE(IsPreemptableOnN(held_by_blue(1), red));
}

TEST(PreemptableRefusalsTest, APodWithoutTenantMakesNoRoomWhereThereAreTenants) {
  Snapshot snapshot = FullNode("namespace=stray");
  snapshot.SetTenancy(std::make_shared<const Tenancy>(RedAndBlueOf(Gpus(4), Gpus(4))));
  EXPECT_FALSE(IsPreemptableOnN(snapshot, "p nvidia.com/gpu=1 priority=10 namespace=red"));
}

// red may use two and uses two, on n and on m. For one more the pod on n is enough; for two the
// one on m would have to go as well, which no eviction on n does. Two GPUs of n are free.
TEST(PreemptableRefusalsTest, QuotaThatIsUsedElsewhereIsNotMadeHere) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 3), WholeInventory("m", 1)},
                                 {PodFromText("a nvidia.com/gpu=1 node=n namespace=red"),
                                  PodFromText("b nvidia.com/gpu=1 node=m namespace=red")});
  snapshot.SetTenancy(std::make_shared<const Tenancy>(RedAndBlueOf(Gpus(2, 0), Gpus(4))));
  EXPECT_TRUE(IsPreemptableOnN(snapshot, "p nvidia.com/gpu=1 priority=10 namespace=red"));
  EXPECT_FALSE(IsPreemptableOnN(snapshot, "p nvidia.com/gpu=2 priority=10 namespace=red"));
}

// Slots are shared within a namespace alone; whoever is of another one and stays keeps the pod out.
TEST(PreemptableRefusalsTest, ASharerWhoStaysKeepsThePodOut) {
  const auto shared_with = [](const std::string& holder) {
    Snapshot snapshot = SnapshotOf({SharedInventory("n", binpack::Sharing::kTimeSlicing, 1, 4)},
                                   {PodFromText("a nvidia.com/gpu=1 node=n " + holder)});
    Tenancy tenancy = RedAndBlueOf(Gpus(4), Gpus(0));
    tenancy.isolation.time_slicing = {.sharers = Sharers::kSameNamespace, .is_required = true};
    snapshot.SetTenancy(std::make_shared<const Tenancy>(std::move(tenancy)));
    return snapshot;
  };
  const char* red = "p nvidia.com/gpu=1 priority=10 namespace=red";
  EXPECT_TRUE(IsPreemptableOnN(shared_with("namespace=blue priority=1"), red));
  EXPECT_FALSE(IsPreemptableOnN(shared_with("namespace=blue priority=10"), red));
}

// Bound nowhere yet: b has claimed what is free, and nobody can evict it.
TEST(PreemptableRefusalsTest, WhoIsOnlyExpectedMakesNoRoom) {
  Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 2)}, {PodFromText("a nvidia.com/gpu=1 node=n")});
  snapshot.Claim(std::make_shared<const Pod>(PodFromText("b nvidia.com/gpu=1")), "n");
  EXPECT_TRUE(IsPreemptableOnN(snapshot, kOneGpu));
  EXPECT_FALSE(IsPreemptableOnN(snapshot, "p nvidia.com/gpu=2 priority=10"));
}

}  // namespace
}  // namespace offcut::scheduler
