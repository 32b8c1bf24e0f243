#include "binpack/potential.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "binpack/packing_model.h"
#include "binpack/strategy.h"
#include "test/testing/random_nodes.h"
#include "test/testing/worlds.h"

namespace offcut::binpack {
namespace {

using ::offcut::testing::FractionNode;
using ::offcut::testing::RandomNode;
using ::offcut::testing::RandomShape;

ExpectedRequest Part(int percent, std::int64_t cpu_milli = 1'000) {
  return {.cpu_milli = cpu_milli,
          .kind = DemandKind::kShare,
          .gpus = 1,
          .share_units = percent * kGpuUnits / 100};
}
ExpectedRequest Gpus(int count) {
  return {.cpu_milli = 1'000 * count,
          .kind = DemandKind::kShare,
          .gpus = count,
          .share_units = kGpuUnits};
}

RequestShape Share(int percent) {
  return {.host = {.cpu_milli = 1'000},
          .fractions = {{.gpus = 1, .memory_percent = percent, .cores_percent = percent}}};
}

// One GPU an entry, that many percent of its cores used; CPU for all.
NodeState Shared(const std::vector<int>& percents, const std::string& product = "A") {
  std::vector<::offcut::testing::FractionUse> uses;
  for (const int percent : percents) {
    uses.push_back({.memory_mib = 100 * percent, .cores_percent = percent, .sharers = percent > 0});
  }
  NodeState node = FractionNode(10'000, uses);
  for (Gpu& gpu : node.gpus) gpu.product = product;
  return node;
}

Outlook OutlookOf(std::vector<WorkloadClass> classes, const std::vector<NodeState>& nodes) {
  Outlook outlook{.workload = {.classes = std::move(classes)}};
  for (const NodeState& node : nodes) {
    outlook.capacities.push_back({.gpu = node.gpus.front(), .count = std::ssize(node.gpus)});
  }
  return outlook;
}

std::int64_t CostOf(const Outlook& outlook, const NodeState& node, const RequestShape& shape) {
  const auto model = PreparePacking("offcut", {}, {}, 0, outlook);
  const CompactNode compact = Compact(node);
  return PriceOf({.model = *model, .node = {node, compact}, .shape = shape})->cost;
}

// A free GPU less 30 % takes no 81 % any more; one that has less free than that already loses
// nothing.
TEST(OffcutPricingTest, PutsAFillerWhereNothingElseFits) {
  const Outlook outlook =
      OutlookOf({{Part(81), 50}, {Part(30), 10}}, {Shared({0, 0}), Shared({0, 0})});
  EXPECT_LT(CostOf(outlook, Shared({30}), Share(30)), CostOf(outlook, Shared({0}), Share(30)));
}

// The last free GPUs of a node of eight are what a job of eight waits for.
TEST(OffcutPricingTest, KeepsWholeNodesForJobsThatWantThem) {
  const NodeState free = Shared(std::vector<int>(8, 0));
  const NodeState used = Shared({100, 0, 0, 0, 0, 0, 0, 0});
  const Outlook outlook = OutlookOf({{Gpus(1), 90}, {Gpus(8), 10}}, {free});
  EXPECT_LT(CostOf(outlook, used, Share(100)), CostOf(outlook, free, Share(100)));
}

// Half of what is asked for can only go to the scarce model, which is a tenth of the GPUs.
TEST(OffcutPricingTest, KeepsAScarceModelForThoseWhoNeedIt) {
  const NodeState scarce = Shared({0}, "scarce");
  const NodeState common = Shared(std::vector<int>(9, 0), "common");
  ExpectedRequest tied = Gpus(1);
  tied.models = {"scarce"};
  const Outlook outlook = OutlookOf({{tied, 50}, {Gpus(1), 50}}, {scarce, common});
  EXPECT_LT(CostOf(outlook, Shared({0}, "common"), Share(100)),
            CostOf(outlook, scarce, Share(100)));
  const Outlook untied = OutlookOf({{Gpus(1), 100}}, {scarce, common});
  EXPECT_EQ(CostOf(untied, Shared({0}, "common"), Share(100)), CostOf(untied, scarce, Share(100)));
}

TEST(PotentialTest, OfAStateIsTheSameHoweverItCameAbout) {
  int compared = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const NodeState node = RandomNode(random);
    const RequestShape shape = RandomShape(random, node);
    const Outlook outlook =
        OutlookOf({{Part(30), 5},
                   {Part(81), 9},
                   {Gpus(1), 7},
                   {Gpus(4), 2},
                   {Gpus(8), 1},
                   {{.kind = DemandKind::kSlot, .gpus = 2}, 3},
                   {{.kind = DemandKind::kInstance, .gpus = 1, .profile = "1g.5gb"}, 4}},
                  {node});
    const PotentialTables tables = MakePotentialTables(outlook.workload, outlook.capacities);
    const CompactNode compact = Compact(node);
    const NodeView view{node, compact};
    const NodePotential potential(tables, view);
    ForEachCandidate(view, shape, [&](const Candidate& candidate) {
      NodeState with = node;
      Occupy(with, candidate.placement);
      const CompactNode compact_with = Compact(with);
      EXPECT_EQ(potential.ValueAfter(candidate, compact.free_cpu_milli),
                NodePotential(tables, {with, compact_with}).Value());
      ++compared;
    });
  }
  EXPECT_GT(compared, 300);
}

TEST(PotentialTest, OfANodeWithoutRoomIsNothing) {
  const Outlook outlook = OutlookOf({{Part(30), 5}, {Gpus(1), 7}}, {Shared({100, 100})});
  const PotentialTables tables = MakePotentialTables(outlook.workload, outlook.capacities);
  const NodeState node = Shared({100, 100});
  const CompactNode compact = Compact(node);
  EXPECT_EQ(NodePotential(tables, {node, compact}).Value(), 0);
}

}  // namespace
}  // namespace offcut::binpack
