// What other systems got wrong in public, as far as quota alone decides it: the `regression`
// sketches of test/data/quota_vectors.json. Each test names the thread.
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quota/fair_order.h"
#include "quota/victims.h"
#include "test/quota/tenant_text.h"

namespace offcut::quota {
namespace {

using ::testing::ElementsAre;

// kueue 1561: nominal 4 and 8, no borrowing limit. No limit is not 0: a may use all 12.
TEST(QuotaRegressionTest, NoBorrowingLimitIsNoLimit) {
  OneCell world(R"(
    cohort
      a  h100/devices=4
      b  h100/devices=8)");
  EXPECT_EQ(world.Ask("a", 12), Answer::kFits);
}

// volcano 2547: cap 3, 2 run, 2 ask. With the 2 gone it fits: used - freed + request.
TEST(QuotaRegressionTest, WhatIsFreedCounts) {
  OneCell world("queue  h100/devices=3");
  world.Add("queue", 2);
  EXPECT_EQ(world.Ask("queue", 2), Answer::kWait);
  world.Remove("queue", 2);
  EXPECT_EQ(world.Ask("queue", 2), Answer::kFits);
}

// volcano 921: capability 2, 2 run, 2 wait, one ends: one more runs, not two.
// kubernetes 123434: hard 10, used 9, two creates at once.
TEST(QuotaRegressionTest, TwoThatFitAloneDoNotBothFit) {
  OneCell world("queue  h100/devices=2");
  world.Add("queue", 1);
  EXPECT_TRUE(world.Admit("queue", 1));
  EXPECT_FALSE(world.Admit("queue", 1));
}

// HAMi 893: gpumem 6000, one GPU with 7000 asked for.
TEST(QuotaRegressionTest, MemoryAloneRefuses) {
  const auto tree = TreeFromText("a  h100/memoryMiB=6000");
  Charge charge;
  AddToCharge(*tree, "h100", ChargeFraction(7'000, 40'960, 10), charge);
  EXPECT_EQ(Ledger(tree).Check(0, charge).answer, Answer::kNever);
}

// KAI 1847: 20450 of 40900 MiB are half a GPU.
TEST(QuotaRegressionTest, AFractionIsOfTheDevicesRealMemory) {
  EXPECT_EQ(ChargeFraction(20'450, 40'900, 50).devices, kWholeDevice / 2);
}

// KAI 987: a MIG pod was charged nothing.
TEST(QuotaRegressionTest, AnInstanceIsCharged) {
  EXPECT_EQ(ChargeInstance("3g.20gb", 4, 8, 3, 7, 19'968).devices, 700);
}

// KAI 416: 23 x 2000 MiB are on a GPU of 46068; a 24th would not fit, and is not charged less.
TEST(QuotaRegressionTest, FractionsOfAGpuStayWithinIt) {
  const Amount each = ChargeFraction(2'000, 46'068, 4);
  EXPECT_LE(23 * each.devices, kWholeDevice);
  EXPECT_LE(23 * each.memory_mib, 46'068);
  EXPECT_GT(24 * each.memory_mib, 46'068);
}

// KAI 1873: a count of 2^63 is refused for ever, and what others may use stays as it was.
TEST(QuotaRegressionTest, AHugeRequestHurtsNobody) {
  OneCell world(R"(
    cohort
      a  h100/devices=4
      b  h100/devices=4)");
  Charge huge;
  AddToCharge(world.cell(), std::numeric_limits<std::int64_t>::max(), huge);
  EXPECT_EQ(world.ledger().Check(world.Tenant("a"), huge).answer, Answer::kNever);
  world.ledger().Add(world.Tenant("a"), huge);  // somebody bound it all the same
  EXPECT_EQ(world.Ask("b", 1), Answer::kWait);
  world.ledger().Remove(world.Tenant("a"), huge);
  EXPECT_EQ(world.Available("b"), 8);
}

// volcano 4658: deserved a100 = 2; a100, cores and memory are asked for.
TEST(QuotaRegressionTest, WhatTheQuotaDoesNotNameDoesNotRefuse) {
  const std::vector<TenantSpec> specs = SpecsFromText("a  a100/devices=2800");
  const std::vector<std::string> pools = {"a100"};
  const auto tree = std::make_shared<const TenantTree>(*BuildTenantTree(specs, pools));
  Charge charge;
  AddToCharge(*tree, "a100", ChargeWholeGpu(81'920), charge);
  EXPECT_EQ(charge.size(), 3);
  EXPECT_EQ(Ledger(tree).Check(0, charge).answer, Answer::kFits);
}

// kueue 7393: a borrows GPUs, and has all of its memory left. Memory is what is short: b gives back
// the 2 that it borrows, whatever a has of GPUs.
TEST(QuotaRegressionTest, WhatIsNotContestedKeepsNobodyFromReclaiming) {
  const auto tree = TreeFromText(R"(
    cohort  h100/devices=9
      a     h100/devices=0 h100/memoryMiB=4
      b     h100/devices=0 h100/memoryMiB=2)");
  const int devices = FindCell(*tree, "h100", kDevices);
  const int memory = FindCell(*tree, "h100", kMemoryMib);
  const int a = FindTenant(*tree, "a");
  const int b = FindTenant(*tree, "b");
  Ledger ledger(tree);
  ledger.Add(a, Charge{{devices, 2}});
  std::vector<VictimCandidate> candidates;
  for (const char* uid : {"b1", "b2", "b3"}) {
    candidates.push_back({.tenant = b, .uid = uid, .charge = {{memory, 2}}});
    ledger.Add(b, candidates.back().charge);
  }
  const Newcomer newcomer{.tenant = a, .priority = 9, .charge = Charge{{devices, 1}, {memory, 4}}};
  const std::vector<int> contested = ContestedCells(ledger, a, newcomer.charge);
  EXPECT_THAT(contested, ElementsAre(memory));
  const FitsWithout fits = [](std::span<const std::size_t>) { return true; };
  const VictimSearch search{newcomer, candidates, contested, fits};
  const auto victims = FindVictims(ledger, search, {});
  ASSERT_TRUE(victims);
  EXPECT_EQ(victims->size(), 2);
  // Beside a loop that knows no priorities it does keep it: b could do the same to a, for ever.
  EXPECT_EQ(FindVictims(ledger, search, {.beside_any = true}), std::nullopt);
  EXPECT_EQ(FindVictims(ledger, search, {.from_borrowers = Taking::kAny}), std::nullopt);
}

// volcano 4658: the quota names GPUs alone; memory that the pod holds with them is no matter.
TEST(QuotaRegressionTest, WhatNoQuotaNamesKeepsNobodyFromReclaiming) {
  const auto tree = TreeFromText(R"(
    cohort
      a  h100/devices=1400
      b  h100/devices=1400)");
  Charge whole;
  AddToCharge(*tree, "h100", ChargeWholeGpu(81'920), whole);
  EXPECT_EQ(whole.size(), 1);
  const int b = FindTenant(*tree, "b");
  Ledger ledger(tree);
  const std::vector<VictimCandidate> candidates = {{.tenant = b, .uid = "b1", .charge = whole},
                                                   {.tenant = b, .uid = "b2", .charge = whole}};
  for (const VictimCandidate& each : candidates) ledger.Add(b, each.charge);
  const Newcomer newcomer{.tenant = FindTenant(*tree, "a"), .priority = 9, .charge = whole};
  const std::vector<int> contested = ContestedCells(ledger, newcomer.tenant, whole);
  const FitsWithout fits = [](std::span<const std::size_t>) { return true; };
  const auto victims = FindVictims(ledger, {newcomer, candidates, contested, fits}, {});
  ASSERT_TRUE(victims);
  EXPECT_EQ(victims->size(), 1);
}

// yunikorn 636, 639: a limit is no guarantee. Who is given nothing borrows whatever it uses.
TEST(QuotaRegressionTest, ALimitIsNoGuarantee) {
  OneCell world(R"(
    cohort
      victim  h100/devices=-:200
      other   h100/devices=300)");
  world.Add("victim", 100);
  const Standing victim = world.ledger().StandingOf(world.Tenant("victim"), world.cell());
  EXPECT_EQ(victim.guarantee, 0);
  EXPECT_EQ(victim.borrowed, 100);
}

// kueue 6947: nominal 3 and 0. b1 runs on what A lends; a4 can never fit, a3 can, once b1 is gone.
TEST(QuotaRegressionTest, WhatCanNeverFitDoesNotBlock) {
  OneCell world(R"(
    cohort
      A  h100/devices=3
      B  h100/devices=0)");
  world.Add("B", 1);
  EXPECT_EQ(world.Ask("A", 4), Answer::kNever);
  EXPECT_EQ(world.Ask("A", 3), Answer::kWait);
  world.Remove("B", 1);
  const int a = world.Tenant("A");
  const std::vector<Waiting> waiting = {{a, world.Of(4)}, {a, world.Of(3)}};
  EXPECT_THAT(FairOrder(world.ledger(), waiting), ElementsAre(1));
}

// kueue 4782: nominal 8 on a cluster of 4. Quota says yes; that there are 4 is said elsewhere, and
// the policy is told.
TEST(QuotaRegressionTest, QuotaBeyondTheClusterIsFoundAndNotMadeUp) {
  OneCell world("a  h100/devices=8");
  world.Add("a", 4);
  EXPECT_EQ(world.Ask("a", 4), Answer::kFits);
  const auto shortages = FindShortages(world.ledger().tree(), {{"h100", {.devices = 4}}});
  ASSERT_EQ(shortages.size(), 1);
  EXPECT_EQ(shortages[0].capacity, 4);
}

// kueue 14609: 3 x 16 run, two end, all three are there again: 48, for the pods say so.
// kueue 14811, 12232, HAMi 2923: all are gone: 0. kueue 10407: 50 times over.
TEST(QuotaRegressionTest, UsageIsWhatThePodsThatAreThereHold) {
  const auto tree = TreeFromText("a  h100/devices=64");
  const Holding pod{0, {{0, 16}}};
  Ledger ledger(tree, std::vector<Holding>(3, pod));
  ledger.Remove(0, pod.charge);
  ledger.Remove(0, pod.charge);
  EXPECT_EQ(ledger.Used(0, 0), 16);
  EXPECT_EQ(Ledger(tree, std::vector<Holding>(3, pod)).Used(0, 0), 48);
  EXPECT_EQ(Ledger(tree, {}).Used(0, 0), 0);
  for (int i = 0; i < 50; ++i) {
    ledger.Add(0, pod.charge);
    ledger.Remove(0, pod.charge);
  }
  EXPECT_EQ(ledger.Used(0, 0), 16);
}

// tensor-fusion 478: what was charged is released, though the pod would now be charged otherwise.
TEST(QuotaRegressionTest, TheRecordedChargeIsReleased) {
  const auto tree = TreeFromText("a  h100/devices=1400 h100/memoryMiB=40960");
  Ledger ledger(tree);
  Charge recorded;
  AddToCharge(*tree, "h100", ChargeFraction(10'000, 40'960, 30), recorded);
  ledger.Add(0, recorded);
  ledger.Remove(0, recorded);
  EXPECT_TRUE(ledger == Ledger(tree));
}

}  // namespace
}  // namespace offcut::quota
