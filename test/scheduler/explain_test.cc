#include "scheduler/explain.h"

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using testing::PodFromText;
using testing::SnapshotOf;
using testing::TenancyOf;
using testing::WholeInventory;

// The spot node is the fullest, and the tenant may not have it: of the others c is fuller than b.
TEST(ExplainTest, ScoresTheNodesThatFilterLetsPass) {
  Inventory spot = WholeInventory("a", 2);
  spot.is_spot = true;
  Snapshot snapshot = SnapshotOf(
      {spot, WholeInventory("b", 8), WholeInventory("c", 8)},
      {PodFromText("x nvidia.com/gpu=1 node=a"), PodFromText("y nvidia.com/gpu=6 node=c"),
       PodFromText("p nvidia.com/gpu=1 namespace=red")});
  Tenancy tenancy = TenancyOf({{.name = "red"}});
  tenancy.by_namespace = {{"red", 0}};
  tenancy.rules[0].spot = SpotUse::kNever;
  snapshot.SetTenancy(std::make_shared<const Tenancy>(std::move(tenancy)));
  Policy policy;
  policy.packing = binpack::PreparePacking("best-fit");
  const Explanation explanation = Explain(snapshot, "uid-p", policy);
  EXPECT_EQ(explanation.node_name, "c");
  EXPECT_EQ(explanation.nodes[0].score, 0);
  EXPECT_EQ(explanation.nodes[1].score, 0);
  EXPECT_EQ(explanation.nodes[2].score, kScoreMax);
}

}  // namespace
}  // namespace offcut::scheduler
