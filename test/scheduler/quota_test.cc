// What quota does to the decisions. Pools, amounts and the arithmetic of trees are test/quota's.
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "scheduler/state_store.h"
#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using binpack::Sharing;
using ::offcut::testing::PodFromText;
using ::offcut::testing::RedAndBlue;
using ::offcut::testing::SharedInventory;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kWire = Prefilter::kByKubeScheduler;
constexpr std::int64_t kNowS = 1'000;

Snapshot WorldOf(std::vector<Inventory> nodes, const std::vector<std::string>& pods = {},
                 std::shared_ptr<const Tenancy> tenancy = RedAndBlue()) {
  std::vector<Pod> all;
  all.reserve(pods.size());
  for (const std::string& pod : pods) all.push_back(PodFromText(pod));
  Snapshot snapshot = SnapshotOf(std::move(nodes), std::move(all));
  snapshot.SetTenancy(std::move(tenancy));
  return snapshot;
}

Reason ReasonOn(const Snapshot& snapshot, const std::string& pod, const std::string& node = "n") {
  const std::vector<std::string> names = {node};
  const Reason reason = Filter(snapshot, PodFromText(pod), names, {}, kWire)[0].reason;
  const Policy policy;
  EvaluationCache cache(policy, kWire);
  EXPECT_EQ(Filter(snapshot, PodFromText(pod), names, cache)[0].reason, reason);
  return reason;
}

std::int64_t GpusOf(const Snapshot& snapshot, const std::string& tenant) {
  const quota::Ledger& ledger = snapshot.accounts()->charged();
  const int cell = quota::FindCell(ledger.tree(), "default", "devices");
  return ledger.Own(quota::FindTenant(ledger.tree(), tenant), cell) / 1400;
}

TEST(QuotaTest, FreeDevicesAreNotForATenantThatHasUsedUpItsQuota) {
  const Snapshot snapshot =
      WorldOf({WholeInventory("n", 16)}, {"a nvidia.com/gpu=4 node=n namespace=red"});
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=2 namespace=red"), Reason::kFits);  // borrowed
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=3 namespace=red"), Reason::kQuotaWait);
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=4 namespace=blue"), Reason::kFits);
}

TEST(QuotaTest, MoreThanATenantMayEverUseIsRefusedForEver) {
  const Snapshot snapshot = WorldOf({WholeInventory("n", 16)});
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=6 namespace=red"), Reason::kFits);
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=7 namespace=red"), Reason::kQuotaNever);
}

TEST(QuotaTest, PodWithoutTenantIsChargedToNobody) {
  Snapshot snapshot = WorldOf({WholeInventory("n", 16)});
  EXPECT_TRUE(Reserve(snapshot, PodFromText("p nvidia.com/gpu=9"), "n", {}, kWire).verdict.fits());
  EXPECT_EQ(ReasonOn(snapshot, "q nvidia.com/gpu=4 namespace=red"), Reason::kFits);
  EXPECT_EQ(ReasonOn(snapshot, "q nvidia.com/gpu=8"), Reason::kGpusTaken);
}

TEST(QuotaTest, WhatANodeCannotServeIsNoMatterOfQuota) {
  const Snapshot snapshot = WorldOf({WholeInventory("n", 2)});
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=7 namespace=red"), Reason::kExceedsNode);
}

// blue holds all four GPUs of the node, and red all that it may: that GPUs are taken would send its
// owner to the wrong door.
TEST(QuotaTest, GoesBeforeDevicesThatAreTaken) {
  const Snapshot snapshot = WorldOf(
      {WholeInventory("m", 8), WholeInventory("n", 4)},
      {"a nvidia.com/gpu=6 node=m namespace=red", "b nvidia.com/gpu=4 node=n namespace=blue"});
  EXPECT_EQ(ReasonOn(snapshot, "p nvidia.com/gpu=1 namespace=red"), Reason::kQuotaWait);
}

TEST(QuotaTest, ReservationIsChargedAndOnRecord) {
  Snapshot snapshot = WorldOf({WholeInventory("n", 16)});
  const auto first =
      Reserve(snapshot, PodFromText("a nvidia.com/gpu=5 namespace=red"), "n", {}, kWire);
  ASSERT_TRUE(first.verdict.fits());
  EXPECT_EQ(first.record.tenant, "red");
  EXPECT_EQ(first.record.charge.devices, 5 * 1400);
  EXPECT_EQ(GpusOf(snapshot, "red"), 5);
  const auto second =
      Reserve(snapshot, PodFromText("b nvidia.com/gpu=2 namespace=red"), "n", {}, kWire);
  EXPECT_EQ(second.verdict.reason, Reason::kQuotaWait);
  snapshot.Unreserve("uid-a");
  EXPECT_EQ(GpusOf(snapshot, "red"), 0);
}

// A guarantee of one GPU holds three slots of 467, 467 and 466.
TEST(QuotaTest, GuaranteeOfOneGpuHoldsAllOfItsSlots) {
  Snapshot snapshot =
      WorldOf({SharedInventory("n", Sharing::kTimeSlicing, 1, 3)}, {}, RedAndBlue(1, 0));
  for (const char* pod : {"a nvidia.com/gpu=1 namespace=red", "b nvidia.com/gpu=1 namespace=red",
                          "c nvidia.com/gpu=1 namespace=red"}) {
    EXPECT_EQ(ReasonOn(snapshot, pod), Reason::kFits) << pod;
    EXPECT_TRUE(Reserve(snapshot, PodFromText(pod), "n", {}, kWire).verdict.fits()) << pod;
  }
}

// 1400 / 48 = 29.17: eight slots are charged 30, forty 29, and none is free for a tenant of
// nothing.
TEST(QuotaTest, NoSlotIsFree) {
  Snapshot snapshot = WorldOf({SharedInventory("n", Sharing::kMps, 1, 48)}, {}, RedAndBlue(1, 0));
  for (int i = 0; i < 47; ++i) {
    const std::string pod = "p" + std::to_string(i) + " nvidia.com/gpu=1 namespace=red";
    ASSERT_TRUE(Reserve(snapshot, PodFromText(pod), "n", {}, kWire).verdict.fits()) << i;
  }
  snapshot.SetTenancy(RedAndBlue(0, 0));
  EXPECT_EQ(ReasonOn(snapshot, "q nvidia.com/gpu=1 namespace=red"), Reason::kQuotaNever);
}

TEST(QuotaTest, ClaimOfAnotherPodCountsForFilterAndNotForBind) {
  Snapshot snapshot = WorldOf({WholeInventory("n", 16)});
  const auto claimed = std::make_shared<const Pod>(PodFromText("a nvidia.com/gpu=6 namespace=red"));
  snapshot.Claim(claimed, "n");
  EXPECT_EQ(ReasonOn(snapshot, "b nvidia.com/gpu=1 namespace=red"), Reason::kQuotaWait);
  EXPECT_EQ(ReasonOn(snapshot, "a nvidia.com/gpu=6 namespace=red"), Reason::kFits);
  Snapshot bound = snapshot;
  EXPECT_TRUE(Reserve(bound, PodFromText("b nvidia.com/gpu=1 namespace=red"), "n", {}, kWire)
                  .verdict.fits());
  snapshot.DropClaim("uid-a");
  EXPECT_EQ(ReasonOn(snapshot, "b nvidia.com/gpu=1 namespace=red"), Reason::kFits);
}

// The victims are blue's: red has the devices then, and still no quota. Those of red's own lower
// priorities give back both.
TEST(QuotaTest, NobodyIsEvictedForAPodThatQuotaWouldRefuseStill) {
  const Snapshot snapshot = WorldOf(
      {WholeInventory("m", 6), WholeInventory("n", 4)},
      {"r nvidia.com/gpu=6 node=m namespace=red", "b nvidia.com/gpu=4 node=n namespace=blue"});
  const Pod pod = PodFromText("p nvidia.com/gpu=2 namespace=red priority=9");
  const std::vector<PreemptionCandidate> candidates = {{"m", {"uid-r"}}, {"n", {"uid-b"}}};
  const auto kept = Preempt(snapshot, pod, candidates, {}, kWire, kNowS);
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_EQ(kept[0].node_name, "m");
}

// red may use six: with its own four gone from m it has two left beside a claim of four, wherever
// that is, and for nobody who claims five. Its own claim is no matter.
TEST(QuotaTest, NobodyIsEvictedForAPodThatClaimsOfOthersWouldRefuseStill) {
  const Snapshot snapshot = WorldOf({WholeInventory("m", 8), WholeInventory("n", 8)},
                                    {"r nvidia.com/gpu=6 node=m namespace=red"});
  const Pod pod = PodFromText("p nvidia.com/gpu=2 namespace=red priority=9");
  const std::vector<PreemptionCandidate> candidates = {{"m", {"uid-r"}}};
  const auto is_kept = [&](const std::string& claimed, const std::string& node) {
    Snapshot next = snapshot;
    next.Claim(std::make_shared<const Pod>(PodFromText(claimed)), node);
    return !Preempt(next, pod, candidates, {}, kWire, kNowS).empty();
  };
  for (const char* node : {"m", "n"}) {
    EXPECT_TRUE(is_kept("c nvidia.com/gpu=4 namespace=red", node)) << node;
    EXPECT_FALSE(is_kept("c nvidia.com/gpu=5 namespace=red", node)) << node;
    EXPECT_TRUE(is_kept("p nvidia.com/gpu=2 namespace=red", node)) << node;
  }
}

// Nobody names memory and cores, and devices are short, not quota: blue borrows, and gives back.
TEST(QuotaTest, BorrowersGiveWayWhereDevicesAloneAreShort) {
  Tenancy tenancy = offcut::testing::TenancyOf(
      {{.name = "all", .quotas = {offcut::testing::Gpus(6)}},
       {.name = "red", .parent = "all", .quotas = {offcut::testing::Gpus(3)}},
       {.name = "blue", .parent = "all", .quotas = {offcut::testing::Gpus(0)}}});
  for (const char* name : {"red", "blue"}) {
    tenancy.by_namespace[name] = quota::FindTenant(*tenancy.tree, name);
  }
  const Snapshot snapshot = WorldOf(
      {WholeInventory("n", 3)},
      {"r nvidia.com/gpu=1 node=n namespace=red", "b0 nvidia.com/gpu=1 node=n namespace=blue",
       "b1 nvidia.com/gpu=1 node=n namespace=blue priority=1"},
      std::make_shared<const Tenancy>(std::move(tenancy)));
  const std::vector<PreemptionCandidate> candidates = {{"n", {}}};
  const auto kept = Preempt(snapshot, PodFromText("p nvidia.com/gpu=1 namespace=red priority=9"),
                            candidates, {}, kWire, kNowS);
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_THAT(kept[0].victim_uids, ElementsAre("uid-b0"));
}

// red may use two GPUs. w leaves n for boss, who needs both; its owner replaces it at once by x,
// which would find 2 - 1 free beside w, and take from boss what w gives back, for ever.
TEST(QuotaTest, WhatIsFreedForANomineeIsNotForWhoReplacesItsVictims) {
  Snapshot snapshot =
      WorldOf({WholeInventory("m", 2), WholeInventory("n", 2)},
              {"boss nvidia.com/gpu=2 namespace=red priority=5 nominated=n"}, RedAndBlue(2, 0));
  Pod w = PodFromText("w nvidia.com/gpu=1 node=n namespace=red");
  w.is_terminating = true;
  snapshot.PutPod(w);
  const std::string x = "x nvidia.com/gpu=1 namespace=red";
  for (const char* node : {"m", "n"}) {
    EXPECT_EQ(ReasonOn(snapshot, x, node), Reason::kQuotaWait) << node;
  }
  snapshot.RemovePod("uid-w");
  EXPECT_EQ(ReasonOn(snapshot, x, "m"), Reason::kQuotaWait);
  EXPECT_EQ(ReasonOn(snapshot, x + " priority=6", "m"), Reason::kFits);
  EXPECT_EQ(ReasonOn(snapshot, "b nvidia.com/gpu=1 namespace=blue", "m"), Reason::kFits);
  EXPECT_EQ(ReasonOn(snapshot, "boss nvidia.com/gpu=2 namespace=red priority=5 nominated=n"),
            Reason::kFits);
  snapshot.LapseNomination("uid-boss");
  EXPECT_EQ(ReasonOn(snapshot, x, "m"), Reason::kFits);
}

// red may use four. w holds two and leaves for boss, who needs two: 4 - max(2, 2) are left.
TEST(QuotaTest, ANomineeAndWhoLeavesForItCountOnce) {
  Snapshot snapshot =
      WorldOf({WholeInventory("m", 4), WholeInventory("n", 2)},
              {"boss nvidia.com/gpu=2 namespace=red priority=5 nominated=n"}, RedAndBlue(4, 0));
  Pod w = PodFromText("w nvidia.com/gpu=2 node=n namespace=red");
  w.is_terminating = true;
  snapshot.PutPod(w);
  EXPECT_EQ(ReasonOn(snapshot, "x nvidia.com/gpu=2 namespace=red", "m"), Reason::kFits);
  EXPECT_EQ(ReasonOn(snapshot, "x nvidia.com/gpu=3 namespace=red", "m"), Reason::kQuotaWait);
  snapshot.RemovePod("uid-w");
  snapshot.Claim(
      std::make_shared<const Pod>(PodFromText("boss nvidia.com/gpu=2 namespace=red priority=5")),
      "n");
  EXPECT_EQ(ReasonOn(snapshot, "x nvidia.com/gpu=2 namespace=red", "m"), Reason::kFits);
}

// red may use two, and both are nominated for two: were each to wait for the other, both would for
// ever.
TEST(QuotaTest, OfEqualNomineesOnTwoNodesTheEarlierGoesFirst) {
  const std::string a = "a nvidia.com/gpu=2 namespace=red priority=5 created=1 nominated=n";
  const std::string b = "b nvidia.com/gpu=2 namespace=red priority=5 created=2 nominated=m";
  const Snapshot snapshot =
      WorldOf({WholeInventory("m", 2), WholeInventory("n", 2)}, {a, b}, RedAndBlue(2, 0));
  EXPECT_EQ(ReasonOn(snapshot, a, "n"), Reason::kFits);
  EXPECT_EQ(ReasonOn(snapshot, b, "m"), Reason::kQuotaWait);
}

// red may use three: r has one, two are meant for boss on n. p finds a GPU on m, and no quota.
TEST(QuotaTest, PreemptCountsNomineesWhoseVictimsHaveLeft) {
  const Snapshot snapshot = WorldOf({WholeInventory("m", 2), WholeInventory("n", 2)},
                                    {"boss nvidia.com/gpu=2 namespace=red priority=5 nominated=n",
                                     "r nvidia.com/gpu=1 node=m namespace=red"},
                                    RedAndBlue(3, 0));
  const std::vector<PreemptionCandidate> candidates = {{"m", {}}};
  const auto kept = Preempt(snapshot, PodFromText("p nvidia.com/gpu=1 namespace=red priority=3"),
                            candidates, {}, kWire, kNowS);
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_THAT(kept[0].victim_uids, ElementsAre("uid-r"));
}

TEST(QuotaTest, OtherQuotasTakeNothingFromAnybody) {
  Snapshot snapshot =
      WorldOf({WholeInventory("n", 16)}, {"a nvidia.com/gpu=5 node=n namespace=red"});
  snapshot.SetTenancy(RedAndBlue(2, 0));
  EXPECT_EQ(GpusOf(snapshot, "red"), 5);
  EXPECT_EQ(ReasonOn(snapshot, "b nvidia.com/gpu=1 namespace=red"), Reason::kQuotaWait);
  snapshot.RemovePod("uid-a");
  EXPECT_EQ(ReasonOn(snapshot, "b nvidia.com/gpu=2 namespace=red"), Reason::kFits);
  snapshot.SetTenancy(nullptr);
  EXPECT_EQ(ReasonOn(snapshot, "b nvidia.com/gpu=16 namespace=red"), Reason::kFits);
}

TEST(QuotaTest, PodThatChangesItsTenantIsChargedToTheOther) {
  Tenancy tenancy = *RedAndBlue();
  const int blue = quota::FindTenant(*tenancy.tree, "blue");
  tenancy.by_label_in["red"] = {blue};
  Snapshot snapshot = WorldOf({WholeInventory("n", 4)}, {"a nvidia.com/gpu=1 node=n namespace=red"},
                              std::make_shared<const Tenancy>(std::move(tenancy)));
  Pod pod = PodFromText("a nvidia.com/gpu=1 node=n namespace=red");
  pod.tenant_label = "blue";
  snapshot.PutPod(pod);
  EXPECT_EQ(GpusOf(snapshot, "red"), 0);
  EXPECT_EQ(GpusOf(snapshot, "blue"), 1);
}

// A node that is gone frees what stood on it: its pods are gone with it, or will be.
TEST(QuotaTest, NodeThatIsGoneIsNotCharged) {
  Snapshot snapshot =
      WorldOf({WholeInventory("n", 4)}, {"a nvidia.com/gpu=4 node=n namespace=red"});
  snapshot.RemoveNode("n");
  EXPECT_EQ(GpusOf(snapshot, "red"), 0);
  snapshot.PutNode(WholeInventory("n", 4));
  EXPECT_EQ(GpusOf(snapshot, "red"), 4);
}

// After any events the accounts are those that a rebuild from the state gives; and once no claim is
// left, what is expected is what is charged.
class RandomEvents : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomEvents, LeaveTheAccountsThatARebuildGives) {
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  std::mt19937 random(GetParam());
  const std::vector<Inventory> nodes = {WholeInventory("a", 8),
                                        SharedInventory("b", Sharing::kTimeSlicing, 2, 3)};
  Snapshot snapshot = WorldOf(nodes);
  for (int i = 0; i < 120; ++i) {
    const std::string name = "p" + std::to_string(random() % 14);
    const std::string tenant = " namespace=" + std::string(random() % 3 == 0 ? "blue" : "red");
    const std::string node = random() % 2 == 0 ? "a" : "b";
    const std::string text = name + " nvidia.com/gpu=1" + tenant;
    switch (random() % 7) {
      case 0:
        snapshot.PutPod(PodFromText(text + " node=" + node));
        break;
      case 1:
        snapshot.RemovePod("uid-" + name);
        break;
      case 2:
        snapshot.Unreserve("uid-" + name);
        break;
      case 3:
        snapshot.Claim(std::make_shared<const Pod>(PodFromText(text)), node);
        break;
      case 4:
        snapshot.SetTenancy(RedAndBlue(random() % 6, random() % 4));
        break;
      case 5:
        snapshot.RemoveNode(nodes[random() % 2].name);
        for (const Inventory& each : nodes) snapshot.PutNode(each);
        break;
      default:
        Reserve(snapshot, PodFromText(text), node, {}, kWire);
        break;
    }
    Snapshot rebuilt = snapshot;
    rebuilt.SetTenancy(std::make_shared<const Tenancy>(snapshot.accounts()->tenancy()));
    ASSERT_EQ(rebuilt.accounts()->charged(), snapshot.accounts()->charged()) << "event " << i;
  }
  for (int i = 0; i < 14; ++i) snapshot.DropClaim("uid-p" + std::to_string(i));
  EXPECT_EQ(snapshot.accounts()->ExpectedBut(""), snapshot.accounts()->charged());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomEvents, ::testing::Range(1U, 31U));

// Four threads bind what filter lets pass on a state that may be old by then, and free some again:
// no state that is ever published has a tenant beyond its limit.
TEST(QuotaThreadsTest, NoTenantIsEverAdmittedBeyondItsLimit) {
  StateStore store;
  store.Update([](Snapshot& next) { next = WorldOf({WholeInventory("n", 16)}); });
  std::atomic<bool> is_over = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> admitted = 0;
  std::thread reader([&] {
    while (!is_over) {
      const auto snapshot = store.Read();
      if (GpusOf(*snapshot, "red") > 6 || GpusOf(*snapshot, "blue") > 4 ||
          GpusOf(*snapshot, "red") + GpusOf(*snapshot, "blue") > 8) {
        ++wrong;
      }
    }
  });
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&, w] {
      const std::string tenant = w % 2 == 0 ? "red" : "blue";
      for (int i = 0; i < 60; ++i) {
        const std::string name = "p" + std::to_string(w) + "-" + std::to_string(i % 8);
        const Pod pod = PodFromText(name + " nvidia.com/gpu=1 namespace=" + tenant);
        const std::vector<std::string> names = {"n"};
        if (Filter(*store.Read(), pod, names, {}, kWire)[0].fits()) {
          const bool fits = store.Update(
              [&](Snapshot& next) { return Reserve(next, pod, "n", {}, kWire).verdict.fits(); });
          if (fits) ++admitted;
        }
        if (i % 3 == 2) store.Update([&](Snapshot& next) { next.RemovePod("uid-" + name); });
      }
    });
  }
  for (auto& writer : writers) writer.join();
  is_over = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(admitted, 8);
}

}  // namespace
}  // namespace offcut::scheduler
