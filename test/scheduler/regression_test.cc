// What other systems got wrong in public when they preempt, as far as nodes play a part: the
// `regression` sketches of test/data/quota_vectors.json. Each test names the thread;
// test/quota/regression_sketches.h says where the others are.
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "test/scheduler/played_cluster.h"
#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::Gpus;
using ::offcut::testing::PodFromText;
using ::offcut::testing::RedAndBlueOf;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::TenancyByName;
using ::offcut::testing::WholeInventory;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kWire = Prefilter::kByKubeScheduler;
constexpr std::int64_t kNowS = 1'000;

std::vector<Pod> PodsOf(const std::vector<std::string>& texts) {
  std::vector<Pod> pods;
  pods.reserve(texts.size());
  for (const std::string& text : texts) pods.push_back(PodFromText(text));
  return pods;
}

Snapshot WorldOf(std::vector<Inventory> nodes, const std::vector<std::string>& pods,
                 Tenancy tenancy) {
  Snapshot snapshot = SnapshotOf(std::move(nodes), PodsOf(pods));
  snapshot.SetTenancy(std::make_shared<const Tenancy>(std::move(tenancy)));
  return snapshot;
}

// On node n; empty: nobody, or it is no candidate.
std::vector<std::string> VictimsOf(const Snapshot& snapshot, const std::string& pod) {
  const std::vector<PreemptionCandidate> candidates = {{"n", {}}};
  const auto kept = Preempt(snapshot, PodFromText(pod), candidates, {}, kWire, kNowS);
  return kept.empty() ? std::vector<std::string>() : kept[0].victim_uids;
}

bool Fits(const Snapshot& snapshot, const std::string& pod) {
  const std::vector<std::string> names = {"n"};
  return Filter(snapshot, PodFromText(pod), names, {}, kWire)[0].fits();
}

// koordinator 2449: what belongs to nobody (an agent of the system) is nobody's to take.
TEST(RegressionTest, APodWithoutTenantIsNoVictim) {
  const auto world = [](const std::string& name_space) {
    return WorldOf({WholeInventory("n", 1)}, {"agent nvidia.com/gpu=1 node=n" + name_space},
                   RedAndBlueOf(Gpus(4), Gpus(4)));
  };
  const std::string pod = "p nvidia.com/gpu=1 priority=10 namespace=red";
  EXPECT_THAT(VictimsOf(world(""), pod), IsEmpty());
  EXPECT_THAT(VictimsOf(world(" namespace=red"), pod), ElementsAre("uid-agent"));
}

// volcano 5881: of 16 GPUs low has 12, guaranteed 10, and others 1; 3 are idle. Who asks for 5 gets
// the 3, and the 2 that low borrows: of 2 + 8 + 2 one job of 2.
TEST(RegressionTest, IdleAndLentTogetherSuffice) {
  const Snapshot snapshot = WorldOf(
      {WholeInventory("n", 16)},
      {"a nvidia.com/gpu=2 node=n namespace=low", "b nvidia.com/gpu=8 node=n namespace=low",
       "c nvidia.com/gpu=2 node=n namespace=low", "d nvidia.com/gpu=1 node=n namespace=default"},
      TenancyByName({{.name = "all"},
                     {.name = "low", .parent = "all", .quotas = {Gpus(10)}},
                     {.name = "high", .parent = "all", .quotas = {Gpus(10)}}}));
  EXPECT_THAT(VictimsOf(snapshot, "p nvidia.com/gpu=5 priority=10 namespace=high"),
              ElementsAre("uid-a"));
}

// kueue 4782: a quota of 8 on a node of 4. Quota has room, the node has not.
TEST(RegressionTest, PriorityCountsWhereQuotaIsMoreThanTheHardware) {
  const Snapshot snapshot =
      WorldOf({WholeInventory("n", 4)}, {"lo nvidia.com/gpu=4 node=n priority=1 namespace=red"},
              RedAndBlueOf(Gpus(8), Gpus(0)));
  EXPECT_THAT(VictimsOf(snapshot, "hi nvidia.com/gpu=4 priority=10 namespace=red"),
              ElementsAre("uid-lo"));
}

// kueue 13662: boss needs both GPUs. a leaves first: what it held is not a's to take back.
TEST(RegressionTest, AHoldOutlastsTheVictimThatLeavesFirst) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2)},
                                 PodsOf({"boss nvidia.com/gpu=2 priority=9 nominated=n"}));
  for (const char* text : {"a nvidia.com/gpu=1 node=n", "b nvidia.com/gpu=1 node=n"}) {
    Pod victim = PodFromText(text);
    victim.is_terminating = true;
    snapshot.PutPod(std::move(victim));
  }
  snapshot.RemovePod("uid-a");
  EXPECT_FALSE(Fits(snapshot, "again nvidia.com/gpu=1"));
  snapshot.RemovePod("uid-b");
  EXPECT_FALSE(Fits(snapshot, "again nvidia.com/gpu=1"));
  EXPECT_TRUE(Fits(snapshot, "boss nvidia.com/gpu=2 priority=9 nominated=n"));
}

// kueue 3779, in GPUs: g is guaranteed 6, and two that are guaranteed nothing use them: a 2 + 2, b
// 1 + 1. First 1 is asked back, then 2; those who are evicted come again at once, to a node with
// room and without quota as well.
TEST(RegressionTest, VictimsThatAreReplacedAtOnceTakeNothingBack) {
  Tenancy tenancy = TenancyByName({{.name = "all"},
                                   {.name = "g", .parent = "all", .quotas = {Gpus(6)}},
                                   {.name = "a", .parent = "all", .quotas = {Gpus(0)}},
                                   {.name = "b", .parent = "all", .quotas = {Gpus(0)}}});
  const Policy policy;
  PlayedCluster cluster(
      WorldOf({WholeInventory("m", 4), WholeInventory("n", 6)}, {}, std::move(tenancy)), policy,
      {.naming = Naming::kNobody, .grace = 2});
  for (const Pod& pod :
       PodsOf({"a1 nvidia.com/gpu=2 namespace=a", "a2 nvidia.com/gpu=2 namespace=a",
               "b1 nvidia.com/gpu=1 namespace=b", "b2 nvidia.com/gpu=1 namespace=b"})) {
    cluster.Arrive(pod);
  }
  ASSERT_TRUE(cluster.Run(20));
  for (const Pod& pod : PodsOf({"g1 nvidia.com/gpu=1 namespace=g priority=5",
                                "g2 nvidia.com/gpu=2 namespace=g priority=5"})) {
    cluster.Arrive(pod);
    EXPECT_TRUE(cluster.Run(20));
    EXPECT_EQ(cluster.PodOf(pod.name).phase, PodPhase::kBound) << pod.name;
  }
  for (const auto& [preemptor_and_victim, count] : cluster.evictions()) {
    EXPECT_LE(count, 1) << preemptor_and_victim.first << " and " << preemptor_and_victim.second;
  }
}

// volcano 5131: of a gang of four one fits, and three need a victim each. All four run in the end,
// and no fifth goes.
TEST(RegressionTest, AMemberThatFitsWaitsForNoVictimsOfOthers) {
  const Policy policy;
  PlayedCluster cluster(SnapshotOf({WholeInventory("n", 5)}), policy, {.grace = 1});
  for (int i = 0; i < 4; ++i) {
    cluster.Arrive(PodFromText("low" + std::to_string(i) + " nvidia.com/gpu=1"));
  }
  ASSERT_TRUE(cluster.Run(20));
  for (int i = 0; i < 4; ++i) {
    Pod member = PodFromText("m" + std::to_string(i) + " nvidia.com/gpu=1 priority=9");
    member.gang = "gang";
    member.gang_min_count = 4;
    cluster.Arrive(member);
  }
  EXPECT_TRUE(cluster.Run(20));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(cluster.PodOf("m" + std::to_string(i)).phase, PodPhase::kBound);
  }
  EXPECT_EQ(cluster.evictions().size(), 3);
}

}  // namespace
}  // namespace offcut::scheduler
