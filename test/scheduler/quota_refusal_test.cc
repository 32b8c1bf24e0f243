#include "scheduler/quota_refusal.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/explain.h"
#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::Gpus;
using ::offcut::testing::PodFromText;
using ::offcut::testing::SharedInventory;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::TenancyByName;
using ::offcut::testing::WholeInventory;

// all: 9 GPUs. red may borrow two, blue as much as there is. `unit` may borrow nothing of
// others, and its team everything of it.
Snapshot WorldOf(std::vector<Inventory> nodes, const std::vector<std::string>& pods) {
  Tenancy tenancy = TenancyByName({{.name = "all"},
                                   {.name = "red", .parent = "all", .quotas = {Gpus(4, 2)}},
                                   {.name = "blue", .parent = "all", .quotas = {Gpus(4)}},
                                   {.name = "unit", .parent = "all", .quotas = {Gpus(1, 0)}},
                                   {.name = "team", .parent = "unit"}});
  std::vector<Pod> all;
  for (const std::string& pod : pods) all.push_back(PodFromText(pod));
  Snapshot snapshot = SnapshotOf(std::move(nodes), std::move(all));
  snapshot.SetTenancy(std::make_shared<const Tenancy>(std::move(tenancy)));
  return snapshot;
}

std::optional<QuotaRefusal> RefusalOn(const Snapshot& snapshot, const std::string& pod,
                                      const std::string& node = "n") {
  return RefusalByQuota(snapshot, PodFromText(pod), *snapshot.FindNode(node), {}, Prefilter::kNone);
}

TEST(QuotaRefusalTest, SaysWhatIsUsedAndWhoSetsTheLimit) {
  const Snapshot snapshot =
      WorldOf({WholeInventory("n", 16)}, {"a nvidia.com/gpu=6 node=n namespace=red"});
  const auto refusal = RefusalOn(snapshot, "p nvidia.com/gpu=1 namespace=red");
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, Reason::kQuotaWait);
  EXPECT_EQ(refusal->pool, "default");
  EXPECT_EQ(refusal->resource, "devices");
  EXPECT_EQ(refusal->asked, 1400);
  EXPECT_EQ(refusal->standing.used, 6 * 1400);
  EXPECT_EQ(refusal->standing.borrowed, 2 * 1400);
  EXPECT_EQ(refusal->borrowing_limit, 2 * 1400);
  EXPECT_TRUE(refusal->may_borrow);
  EXPECT_EQ(refusal->limited_by, "red");
  EXPECT_EQ(refusal->left_there, 0);
}

// red may use six. One leaves for boss, who needs six: who asks for one is refused by what is used
// then.
TEST(QuotaRefusalTest, CountsWhatIsMeantForANomineeInPlaceOfWhoLeavesForIt) {
  Snapshot snapshot = WorldOf({WholeInventory("m", 2), WholeInventory("n", 6)},
                              {"boss nvidia.com/gpu=6 namespace=red priority=5 nominated=n"});
  Pod leaving = PodFromText("w nvidia.com/gpu=1 node=n namespace=red");
  leaving.is_terminating = true;
  snapshot.PutPod(leaving);
  const auto refusal = RefusalOn(snapshot, "p nvidia.com/gpu=1 namespace=red", "m");
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, Reason::kQuotaWait);
  EXPECT_EQ(refusal->standing.used, 6 * 1400);
  EXPECT_EQ(refusal->left_there, 0);
}

// Of 9 all are used but one: blue may borrow without limit, and there is nothing.
TEST(QuotaRefusalTest, NamesTheTenantAboveThatHasNoMore) {
  const Snapshot snapshot = WorldOf(
      {WholeInventory("n", 16)},
      {"a nvidia.com/gpu=3 node=n namespace=red", "b nvidia.com/gpu=5 node=n namespace=blue"});
  const auto blue = RefusalOn(snapshot, "p nvidia.com/gpu=2 namespace=blue");
  ASSERT_TRUE(blue.has_value());
  EXPECT_EQ(blue->limited_by, "all");
  EXPECT_EQ(blue->left_there, 1400);
  const auto team = RefusalOn(snapshot, "p nvidia.com/gpu=2 namespace=team");
  ASSERT_TRUE(team.has_value());
  EXPECT_EQ(team->reason, Reason::kQuotaNever);
  EXPECT_EQ(team->standing.potential, 1400);
  EXPECT_EQ(team->limited_by, "unit");
}

TEST(QuotaRefusalTest, IsNoneWhereQuotaFitsOrThereIsNoTenant) {
  const Snapshot snapshot = WorldOf({WholeInventory("n", 16)}, {});
  EXPECT_EQ(RefusalOn(snapshot, "p nvidia.com/gpu=6 namespace=red"), std::nullopt);
  EXPECT_EQ(RefusalOn(snapshot, "p nvidia.com/gpu=16"), std::nullopt);
  EXPECT_EQ(RefusalOn(SnapshotOf({WholeInventory("n", 1)}), "p nvidia.com/gpu=1"), std::nullopt);
}

// m and n refuse alike, and are told once; a slot of four is a quarter, so s has room for it.
TEST(QuotaRefusalTest, IsCountedByWhatItSays) {
  const Snapshot snapshot =
      WorldOf({WholeInventory("m", 8), WholeInventory("n", 8),
               SharedInventory("s", binpack::Sharing::kTimeSlicing, 2, 4)},
              {"a nvidia.com/gpu=5 node=n namespace=red", "b nvidia.com/gpu=3 node=s namespace=red",
               "p nvidia.com/gpu=1 namespace=red"});
  const Explanation explanation = Explain(snapshot, "uid-p", {});
  EXPECT_EQ(explanation.tenant, "red");
  ASSERT_EQ(explanation.quota.size(), 1U);
  EXPECT_EQ(explanation.quota[0].nodes, 2);
  EXPECT_EQ(explanation.quota[0].refusal.asked, 1400);
  EXPECT_EQ(explanation.node_name, "s");
}

}  // namespace
}  // namespace offcut::scheduler
