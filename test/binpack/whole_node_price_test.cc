#include "binpack/whole_node_price.h"

#include <array>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "binpack/integer_division.h"
#include "binpack/packing_model.h"
#include "binpack/strategy.h"
#include "test/testing/worlds.h"

namespace offcut::binpack {
namespace {

using ::offcut::testing::MigNode;
using ::offcut::testing::WholeNode;

ExpectedRequest Gpus(int count) {
  return {.kind = DemandKind::kShare, .gpus = count, .share_units = kGpuUnits};
}

constexpr std::array kSizes = {1, 2, 4, 8};

// 90 x 1, 10 x 2 and 5 x 8 ask for 150 GPUs, 40 of them by jobs of eight: of 600 GPUs that is 160,
// or 20 nodes.
TEST(WholeNodePriceTest, IsOfTheLargestNodesThatPodsWantWhole) {
  const TargetWorkload workload{{{Gpus(1), 90}, {Gpus(2), 10}, {Gpus(8), 5}}};
  const WholeNodePrice price = MakeWholeNodePrice(workload, kSizes, 600);
  EXPECT_EQ(price.gpus, 8);
  EXPECT_EQ(price.expected, 20);
}

TEST(WholeNodePriceTest, IsNothingWhereNoPodWantsMoreThanOneGpu) {
  const ExpectedRequest half{.kind = DemandKind::kShare, .gpus = 8, .share_units = kGpuUnits / 2};
  for (const TargetWorkload& workload :
       {TargetWorkload{}, TargetWorkload{{{Gpus(1), 90}}}, TargetWorkload{{{half, 3}}},
        TargetWorkload{{{ExpectedRequest{.cpu_milli = 5}, 7}}}}) {
    const WholeNodePrice price = MakeWholeNodePrice(workload, kSizes, 600);
    EXPECT_EQ(price.gpus, 0);
    EXPECT_EQ(price.CostAt(0), 0);
  }
}

// Jobs of eight have no node of their size: 10 x 4 of 120 GPUs, of 90 GPUs 30 / 4 = 7.5 nodes.
TEST(WholeNodePriceTest, IsOfNodesThatThereAre) {
  const TargetWorkload workload{{{Gpus(8), 10}, {Gpus(4), 10}}};
  constexpr std::array sizes = {4, 16};
  const WholeNodePrice price = MakeWholeNodePrice(workload, sizes, 90);
  EXPECT_EQ(price.gpus, 4);
  EXPECT_EQ(price.expected, 8);
  EXPECT_EQ(MakeWholeNodePrice(workload, {}, 90).gpus, 0);
}

// 16 GPUs of 1,616 are 0.99 %; of 1,600 exactly one percent.
TEST(WholeNodePriceTest, IsNotOfNodesThatHardlyAnybodyWants) {
  constexpr std::array sizes = {8, 16};
  EXPECT_EQ(MakeWholeNodePrice({{{Gpus(8), 200}, {Gpus(16), 1}}}, sizes, 800).gpus, 8);
  EXPECT_EQ(MakeWholeNodePrice({{{Gpus(8), 198}, {Gpus(16), 1}}}, sizes, 800).gpus, 16);
}

// 50 steps of a hundred ten-thousandths times (20 - F) / 20, rounded up to steps: 50, 37.5, 2.5.
TEST(WholeNodePriceTest, RisesToHalfAGpuAsWholeNodesRunOut) {
  const WholeNodePrice price{.gpus = 8, .expected = 20};
  EXPECT_EQ(price.CostAt(0), 5'000);
  EXPECT_EQ(price.CostAt(5), 3'800);
  EXPECT_EQ(price.CostAt(19), 300);
  EXPECT_EQ(price.CostAt(20), 0);
  EXPECT_EQ(price.CostAt(1'000), 0);
}

// A pod of one GPU on nodes of eight. What wants the whole node pays no price for it.
TEST(WholeNodePriceTest, IsPaidByWhoTakesAPartOfAnEntirelyFreeNode) {
  Outlook outlook{.workload = {{{Gpus(1), 10}, {Gpus(8), 10}}}, .node_sizes = {4, 8}};
  outlook.capacities = {{.gpu = WholeNode(".").gpus.front(), .count = 80}};
  const auto model = PreparePacking("offcut", {}, {}, 0, outlook);
  const auto opens = [&](const NodeState& node, int gpus) {
    const CompactNode compact = Compact(node);
    const RequestShape shape{.whole_gpus = gpus};
    return PriceOf({.model = *model, .node = {node, compact}, .shape = shape})->opens_whole_node;
  };
  EXPECT_TRUE(opens(WholeNode("........"), 1));
  EXPECT_TRUE(opens(WholeNode("........"), 7));
  EXPECT_FALSE(opens(WholeNode("........"), 8));
  EXPECT_FALSE(opens(WholeNode("........"), 0));
  EXPECT_FALSE(opens(WholeNode("X......."), 1));
  EXPECT_FALSE(opens(WholeNode("u......."), 1));
  EXPECT_FALSE(opens(WholeNode("...."), 1));
}

TEST(WholeNodePriceTest, IsPartOfTheStrategyOffcutAlone) {
  const Outlook outlook{.workload = {{{Gpus(8), 10}}},
                        .capacities = {{.gpu = WholeNode(".").gpus.front(), .count = 80}},
                        .node_sizes = {8}};
  for (const Strategy& strategy : Strategies()) {
    EXPECT_EQ(PreparePacking(strategy.name, {}, {}, 0, outlook)->whole_nodes.gpus,
              strategy.name == "offcut" ? 8 : 0)
        << strategy.name;
  }
}

struct Cluster {
  std::vector<NodeState> nodes;

  std::int64_t FreeWhole(const WholeNodePrice& price) const {
    std::int64_t count = 0;
    for (const NodeState& node : nodes) count += price.IsFreeWhole(Compact(node)) ? 1 : 0;
    return count;
  }
  // The sum over the nodes, in parts of a milli.
  std::int64_t OfNodes(const PotentialTables& tables) const {
    std::int64_t sum = 0;
    for (const NodeState& node : nodes) {
      const CompactNode compact = Compact(node);
      sum += NodePotential(tables, {node, compact}).Value();
    }
    return sum;
  }
};

// G(F), the price of each whole node that is missing.
std::int64_t OfMissingNodes(const WholeNodePrice& price, std::int64_t free_nodes) {
  std::int64_t sum = 0;
  for (std::int64_t f = free_nodes + 1; f <= price.expected; ++f) sum += price.CostAt(f);
  return sum;
}

// Costs round the nodes' part up to steps: a hundred ten-thousandths, or ten milli. All models are
// one, so none is scarce. Jobs of eight ask for half of 40 GPUs: 2.5 nodes, rounded to 3.
TEST(WholeNodePriceTest, MakesACostTheRiseOfThePotentialOfNodesAndOfMissingWholeNodes) {
  const Outlook outlook{.workload = {{{Gpus(1), 16}, {Gpus(8), 2}}},
                        .capacities = {{.gpu = WholeNode(".").gpus.front(), .count = 40}},
                        .node_sizes = {8}};
  const auto model = PreparePacking("offcut", {}, {}, 0, outlook);
  const WholeNodePrice& price = model->whole_nodes;
  ASSERT_EQ(price.expected, 3);
  constexpr std::int64_t step = 10 * NodePotential::kUnit;
  int opened = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Cluster cluster;
    for (int n = 0; n < 5; ++n) {
      std::string gpus(8, '.');
      for (char& gpu : gpus) gpu = n % 2 == 0 || random() % 2 == 0 ? '.' : 'X';
      cluster.nodes.push_back(WholeNode(gpus));
    }
    for (int pods = 0; pods < 8; ++pods) {
      NodeState& node = cluster.nodes[random() % cluster.nodes.size()];
      const CompactNode compact = Compact(node);
      const RequestShape shape{.whole_gpus = 1 + static_cast<int>(random() % 7)};
      const auto choice = Choose({.model = *model, .node = {node, compact}, .shape = shape});
      if (!choice) continue;
      const std::int64_t nodes_before = cluster.OfNodes(model->potential);
      const std::int64_t free_before = cluster.FreeWhole(price);
      Occupy(node, choice->placement);
      const std::int64_t rise =
          OfMissingNodes(price, cluster.FreeWhole(price)) - OfMissingNodes(price, free_before);
      const bool opens = choice->price.opens_whole_node;
      EXPECT_EQ(choice->price.cost + (opens ? price.CostAt(free_before) : 0),
                100 * CeilDiv(cluster.OfNodes(model->potential) - nodes_before, step) + rise);
      opened += rise > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(opened, 50);
}

}  // namespace
}  // namespace offcut::binpack
