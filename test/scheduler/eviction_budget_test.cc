#include "scheduler/eviction_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::PodFromText;
using ::offcut::testing::RedAndBlue;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

Pod Owned(std::string_view text, std::string owner) {
  Pod pod = PodFromText(text);
  pod.owner_uid = std::move(owner);
  return pod;
}

// Of one owner two pods go within 100 s, and no third: it would be one that has come again.
TEST(EvictionBudgetTest, SparesAWorkloadThatHasLostEnough) {
  const Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 8)}, {Owned("c nvidia.com/gpu=1 node=n", "set"),
                                            PodFromText("other nvidia.com/gpu=1 node=n"),
                                            Owned("waits nvidia.com/gpu=1", "set")});
  EvictionBudget budget({.window_s = 100, .evictions_per_workload_max = 2});
  EXPECT_THAT(budget.Spared(snapshot, 0), IsEmpty());
  budget.Count(snapshot, Owned("a", "set"), 10);
  EXPECT_THAT(budget.Spared(snapshot, 10), IsEmpty());
  budget.Count(snapshot, Owned("b", "set"), 50);
  EXPECT_THAT(budget.Spared(snapshot, 109), UnorderedElementsAre("uid-c"));
  EXPECT_THAT(budget.Spared(snapshot, 110), IsEmpty()) << "the first is as old as the window";
}

TEST(EvictionBudgetTest, SparesATenantThatHasLostEnough) {
  Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 8)}, {PodFromText("r nvidia.com/gpu=1 node=n namespace=red"),
                                            PodFromText("b nvidia.com/gpu=1 node=n namespace=blue"),
                                            PodFromText("nobodys nvidia.com/gpu=1 node=n")});
  snapshot.SetTenancy(RedAndBlue());
  EvictionBudget budget({.window_s = 100, .evictions_per_tenant_max = 1});
  budget.Count(snapshot, PodFromText("x namespace=red"), 10);
  budget.Count(snapshot, PodFromText("y"), 10);
  EXPECT_THAT(budget.Spared(snapshot, 10), UnorderedElementsAre("uid-r"));
}

TEST(EvictionBudgetTest, CountsThoseWhoWouldGoTogether) {
  const Snapshot snapshot;
  EvictionBudget budget({.window_s = 100, .evictions_per_workload_max = 2});
  const std::vector<std::shared_ptr<const Pod>> three(
      3, std::make_shared<const Pod>(Owned("a", "set")));
  EXPECT_TRUE(budget.Allows(snapshot, std::span(three).first(2), 0));
  EXPECT_FALSE(budget.Allows(snapshot, three, 0));
  budget.Count(snapshot, *three[0], 0);
  EXPECT_FALSE(budget.Allows(snapshot, std::span(three).first(2), 0));
}

}  // namespace
}  // namespace offcut::scheduler
