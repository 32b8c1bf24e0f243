#include "scheduler/hold.h"

#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "scheduler/expected_node.h"
#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::FractionNode;
using ::offcut::testing::FractionUse;
using ::offcut::testing::Gpus;
using ::offcut::testing::PodFromText;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::TenancyByName;
using ::offcut::testing::WholeInventory;

constexpr auto kPrefilter = Prefilter::kByKubeScheduler;

Pod WithHold(Pod pod, Hold hold) {
  hold.pod_uid = pod.uid;
  if (hold.node.empty()) hold.node = "n";
  pod.hold = std::move(hold);
  return pod;
}

Pod WithHold(std::string_view text, Hold hold) {
  return WithHold(PodFromText(text), std::move(hold));
}

Reason ReasonOn(const Snapshot& snapshot, const Pod& pod, std::string node = "n") {
  const std::vector<std::string> names = {std::move(node)};
  const Policy policy;
  const Reason reason = Filter(snapshot, pod, names, policy, kPrefilter)[0].reason;
  EvaluationCache cache(policy, kPrefilter);
  EXPECT_EQ(Filter(snapshot, pod, names, cache)[0].reason, reason) << "with a cache";
  return reason;
}

Reason ReasonOn(const Snapshot& snapshot, std::string_view pod, std::string node = "n") {
  return ReasonOn(snapshot, PodFromText(pod), std::move(node));
}

// GPUs of 40,000 MiB that an agent shares as we say.
Inventory FractionInventory(int gpus) {
  Inventory inventory{.name = "n", .serves_fractions = true};
  inventory.devices =
      FractionNode(40'000, std::vector<FractionUse>(static_cast<std::size_t>(gpus)));
  return inventory;
}

Pod WithMemory(std::string_view text, int memory_mib) {
  Pod pod = PodFromText(text);
  pod.request.fractions = {{.gpus = 1, .memory_mib = memory_mib}};
  return pod;
}

RecordedDevice Share(int gpu, std::int64_t memory_mib) {
  return {.container = "main",
          .gpu = gpu,
          .uuid = {},
          .kind = binpack::PieceKind::kFraction,
          .profile = {},
          .memory_mib = memory_mib};
}

// Both GPUs of n are free, and kept for a pod of priority 0. Without tenants a higher priority
// goes before; the owner has its own place.
TEST(HoldTest, KeepsTheDevicesFromAllButTheOwnerAndHigherPriorities) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2), WholeInventory("m", 2)});
  const Pod owner = WithHold("owner nvidia.com/gpu=2", {.until_s = 100});
  snapshot.PutPod(owner);
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=1"), Reason::kDevicesHeld);
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=1 priority=1"), Reason::kFits);
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=1", "m"), Reason::kFits);
  EXPECT_EQ(ReasonOn(snapshot, owner), Reason::kFits);
}

// blue gave way for red's owner; that one of blue's has a higher priority is why it had been there.
TEST(HoldTest, YieldsToHigherPrioritiesOfTheOwnersTenantAlone) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2)});
  snapshot.SetTenancy(std::make_shared<const Tenancy>(
      TenancyByName({{.name = "all", .parent = {}, .quotas = {}},
                     {.name = "red", .parent = "all", .quotas = {Gpus(2)}},
                     {.name = "blue", .parent = "all", .quotas = {Gpus(2)}}})));
  snapshot.PutPod(WithHold("owner nvidia.com/gpu=2 namespace=red", {.until_s = 100}));
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=1 namespace=blue priority=9"),
            Reason::kDevicesHeld);
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=1 namespace=red priority=9"), Reason::kFits);
}

// One GPU of 40,000 MiB: 10,000 stay, 10,000 must leave for the owner's 30,000, 20,000 are free.
TEST(HoldTest, GivesNothingOfTheGpuWhileThoseAreThereWhoMustLeave) {
  Snapshot snapshot = SnapshotOf({FractionInventory(1)}, {WithMemory("stays node=n", 10'000),
                                                          WithMemory("leaves node=n", 10'000)});
  const Pod owner =
      WithHold(WithMemory("owner", 30'000),
               {.until_s = 100, .victim_uids = {"uid-leaves"}, .devices = {Share(0, 30'000)}});
  EXPECT_EQ(ReasonOn(snapshot, WithMemory("p", 5'000)), Reason::kFits);
  snapshot.PutPod(owner);
  EXPECT_EQ(ReasonOn(snapshot, WithMemory("p", 5'000)), Reason::kDevicesHeld);
  EXPECT_EQ(ReasonOn(snapshot, owner), Reason::kGpuMemoryTaken);
  snapshot.RemovePod("uid-leaves");
  EXPECT_EQ(ReasonOn(snapshot, WithMemory("p", 5'000)), Reason::kDevicesHeld);
  EXPECT_EQ(ReasonOn(snapshot, owner), Reason::kFits);
}

// Two empty GPUs. What is held is the second, though the first would be chosen; bind, too, gives
// its devices to nobody else.
TEST(HoldTest, IsWhatItsOwnerGetsAndNobodyElse) {
  Snapshot snapshot = SnapshotOf({FractionInventory(2)});
  const Pod owner =
      WithHold(WithMemory("owner", 30'000), {.until_s = 100, .devices = {Share(1, 30'000)}});
  snapshot.PutPod(owner);
  const auto reserve = [&](const Pod& pod) { return Reserve(snapshot, pod, "n", {}, kPrefilter); };
  const Reservation first = reserve(WithMemory("first", 30'000));
  ASSERT_TRUE(first.verdict.fits());
  EXPECT_EQ(first.record.devices[0].gpu, 0);
  EXPECT_FALSE(reserve(WithMemory("second", 30'000)).verdict.fits());
  const Reservation held = reserve(owner);
  ASSERT_TRUE(held.verdict.fits());
  EXPECT_EQ(held.record.devices[0].gpu, 1);
}

TEST(HoldTest, EndsAtItsDeadlineUntilThereIsALaterOne) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2)});
  snapshot.PutPod(WithHold("owner nvidia.com/gpu=2", {.until_s = 100}));
  snapshot.LapseHold("uid-owner");
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=1"), Reason::kFits);
  snapshot.PutPod(WithHold("owner nvidia.com/gpu=2 cpu=1", {.until_s = 100}));
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=1"), Reason::kFits) << "an update is no new hold";
  snapshot.PutPod(WithHold("owner nvidia.com/gpu=2", {.until_s = 200}));
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=1"), Reason::kDevicesHeld);
}

TEST(HoldTest, EndsWithItsOwnerAndOnceThatIsBoundOrDeleted) {
  for (const bool is_bound : {false, true}) {
    Snapshot snapshot = SnapshotOf({WholeInventory("n", 2), WholeInventory("m", 2)});
    const Pod owner = WithHold("owner nvidia.com/gpu=2", {.until_s = 100});
    snapshot.PutPod(owner);
    if (is_bound) {
      snapshot.PutPod(PodFromText("owner nvidia.com/gpu=2 node=m"));
    } else {
      snapshot.RemovePod("uid-owner");
    }
    EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=2"), Reason::kFits);
    snapshot.PutPod(owner);
    Pod deleted = owner;
    deleted.is_terminating = true;
    snapshot.PutPod(deleted);
    EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=2"), Reason::kFits);
  }
}

// Others leave for the owner already; a hold with a date costs nobody.
TEST(HoldTest, StopsPreemptionUnlessItHasADate) {
  for (const HoldCause cause : {HoldCause::kReclaim, HoldCause::kDate}) {
    Snapshot snapshot = SnapshotOf({WholeInventory("n", 1), WholeInventory("m", 1)},
                                   {PodFromText("low nvidia.com/gpu=1 node=m")});
    const Pod owner = WithHold("owner nvidia.com/gpu=1 priority=5",
                               {.cause = cause, .until_s = 100, .victim_uids = {}, .devices = {}});
    snapshot.PutPod(owner);
    const std::vector<PreemptionCandidate> candidates = {{"m", {}}};
    const auto kept = Preempt(snapshot, owner, candidates, {}, kPrefilter, 0);
    EXPECT_EQ(kept.empty(), cause == HoldCause::kReclaim);
    snapshot.LapseHold("uid-owner");
    EXPECT_EQ(Preempt(snapshot, owner, candidates, {}, kPrefilter, 0).size(), 1U);
  }
}

// kube-scheduler has evicted others for the owner on m: it will go there.
TEST(HoldTest, RestsWhileItsOwnerIsNominatedToAnotherNode) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2), WholeInventory("m", 2)});
  snapshot.PutPod(WithHold("owner nvidia.com/gpu=2 nominated=m", {.until_s = 100}));
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=1"), Reason::kFits);
  EXPECT_NE(ReasonOn(snapshot, "p nvidia.com/gpu=1", "m"), Reason::kFits);
  snapshot.LapseNomination("uid-owner");
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=1"), Reason::kDevicesHeld);
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=1", "m"), Reason::kFits);
}

// red and blue have two GPUs together, and n and m have four. What is held for red on n is red's
// quota as well, or blue would borrow it back on m.
TEST(HoldTest, IsChargedToItsOwnersTenantOnce) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2), WholeInventory("m", 2)});
  snapshot.SetTenancy(std::make_shared<const Tenancy>(
      TenancyByName({{.name = "all", .parent = {}, .quotas = {}},
                     {.name = "red", .parent = "all", .quotas = {Gpus(1)}},
                     {.name = "blue", .parent = "all", .quotas = {Gpus(1)}}})));
  const Pod owner = WithHold("owner nvidia.com/gpu=1 namespace=red", {.until_s = 100});
  snapshot.PutPod(owner);
  EXPECT_EQ(ReasonOn(snapshot, "b nvidia.com/gpu=2 namespace=blue", "m"), Reason::kQuotaWait);
  EXPECT_EQ(ReasonOn(snapshot, "b nvidia.com/gpu=1 namespace=blue", "m"), Reason::kFits);
  // Its own claim, made by filter, is no second charge; when that ends, the hold's stays.
  snapshot.Claim(std::make_shared<const Pod>(owner), "n");
  EXPECT_EQ(ReasonOn(snapshot, "b nvidia.com/gpu=1 namespace=blue", "m"), Reason::kFits);
  snapshot.DropClaim("uid-owner");
  EXPECT_EQ(ReasonOn(snapshot, "b nvidia.com/gpu=2 namespace=blue", "m"), Reason::kQuotaWait);
  snapshot.LapseHold("uid-owner");
  EXPECT_EQ(ReasonOn(snapshot, "b nvidia.com/gpu=2 namespace=blue", "m"), Reason::kFits);
}

// Held until 1000 s: who must have ended by then may use it meanwhile.
TEST(DatedHoldTest, IsForThoseWhoEndBeforeIt) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2)});
  snapshot.PutPod(WithHold("owner nvidia.com/gpu=2",
                           {.cause = HoldCause::kDate, .until_s = 2000, .expected_s = 1000}));
  Pod pod = PodFromText("p nvidia.com/gpu=1");
  EXPECT_EQ(ReasonOn(snapshot, pod), Reason::kDevicesHeld);
  pod.run_s_max = 400;
  SetWouldEnd(pod, 600);
  EXPECT_EQ(ReasonOn(snapshot, pod), Reason::kFits);
  SetWouldEnd(pod, 601);
  EXPECT_EQ(ReasonOn(snapshot, pod), Reason::kDevicesHeld);
  EXPECT_EQ(ReasonOn(snapshot, "q nvidia.com/gpu=1 priority=1"), Reason::kFits);
}

}  // namespace
}  // namespace offcut::scheduler
