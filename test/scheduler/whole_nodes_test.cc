#include "scheduler/whole_nodes.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "scheduler/explain.h"
#include "scheduler/packing.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::PodFromText;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;

constexpr auto kPrefilter = Prefilter::kNone;

// So many pods of one GPU and of eight are expected.
Policy PolicyFor(std::int64_t ones, std::int64_t eights) {
  const auto whole = [](int gpus) {
    return binpack::ExpectedRequest{
        .kind = binpack::DemandKind::kShare, .gpus = gpus, .share_units = binpack::kGpuUnits};
  };
  Policy policy;
  policy.target_workload = binpack::TargetWorkload{{{whole(1), ones}, {whole(8), eights}}};
  return policy;
}

// `b` has seven free GPUs and `c` one, `a` and `d` all eight.
Snapshot FourNodes(const Policy& policy) {
  Snapshot snapshot = SnapshotOf(
      {WholeInventory("a", 8), WholeInventory("b", 8), WholeInventory("c", 8),
       WholeInventory("d", 8)},
      {PodFromText("one nvidia.com/gpu=1 node=b"), PodFromText("seven nvidia.com/gpu=7 node=c")});
  snapshot.SetPacking(RenewedPacking(snapshot, policy));
  return snapshot;
}

using Scores = std::map<std::string, std::int64_t>;

Scores ScoresOf(const Snapshot& snapshot, const Pod& pod, std::vector<std::string> names,
                EvaluationCache& cache) {
  const auto scores = Score(snapshot, pod, names, cache);
  Scores by_name;
  for (std::size_t i = 0; i < names.size(); ++i) by_name[names[i]] = scores[i];
  return by_name;
}

std::vector<std::string> NamesOf(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const auto& node : snapshot.nodes()) names.push_back(node->name());
  return names;
}

std::string PlaceOf(const Snapshot& snapshot, const std::string& pod, const Policy& policy) {
  EvaluationCache cache(policy, kPrefilter);
  const Scores scores = ScoresOf(snapshot, PodFromText(pod), NamesOf(snapshot), cache);
  const auto best = std::ranges::max_element(scores, {}, &Scores::value_type::second);
  return best->second == 0 ? "" : best->first;
}

std::int64_t OpeningCost(const Snapshot& snapshot) {
  return snapshot.packing()->whole_nodes.CostAt(
      CountFreeWhole(snapshot.nodes(), *snapshot.packing()));
}

// 720 of 730 GPUs are for jobs of eight: of 32 that are 31.6, or 4 nodes, and 2 are free. A
// free GPU is worth the same on b and on c.
TEST(WholeNodesTest, SmallPodsCloseHolesWhileFewerNodesAreWholeThanExpected) {
  const Policy policy = PolicyFor(10, 90);
  const Snapshot snapshot = FourNodes(policy);
  ASSERT_EQ(snapshot.packing()->whole_nodes.expected, 4);
  EXPECT_EQ(PlaceOf(snapshot, "p nvidia.com/gpu=1", policy), "c");
  EXPECT_EQ(PlaceOf(snapshot, "p nvidia.com/gpu=2", policy), "b");
  EXPECT_EQ(PlaceOf(snapshot, "p nvidia.com/gpu=8", policy), "a");
}

// 80 of 170 GPUs, of 32: 15 GPUs, 2 nodes, and 2 are free. The name decides, as without a price.
TEST(WholeNodesTest, TiesAreThePolicysOnceAsManyNodesAreWholeAsExpected) {
  const Policy policy = PolicyFor(90, 10);
  const Snapshot snapshot = FourNodes(policy);
  ASSERT_EQ(snapshot.packing()->whole_nodes.expected, 2);
  ASSERT_EQ(OpeningCost(snapshot), 0);
  EXPECT_EQ(PlaceOf(snapshot, "p nvidia.com/gpu=1", policy), "b");
}

// 300 and 400 are one step of 400, 401 is two. A node that is opened costs 100 more: 400.
TEST(WholeNodesTest, CostsCountInCoarseStepsWhileWholeNodesHaveAPrice) {
  const Policy policy;
  const Pod pod;
  const auto comes_first = [&](const Evaluation& a, const Evaluation& b, std::int64_t opening) {
    return IsCheaper(a, "a", b, "b", pod, policy, opening);
  };
  const Evaluation many{.free_gpus = 5, .fill_level_permille = 0, .cost = 300};
  EXPECT_FALSE(comes_first(many, {.free_gpus = 1, .fill_level_permille = 0, .cost = 400}, 100));
  EXPECT_TRUE(comes_first(many, {.free_gpus = 1, .fill_level_permille = 0, .cost = 400}, 0));
  EXPECT_TRUE(comes_first(many, {.free_gpus = 1, .fill_level_permille = 0, .cost = 401}, 100));
  EXPECT_TRUE(comes_first(many, {.free_gpus = 5, .fill_level_permille = 0, .cost = 400}, 100));
  const Evaluation whole{
      .opens_whole_node = true, .free_gpus = 8, .fill_level_permille = 0, .cost = 300};
  EXPECT_TRUE(comes_first(whole, {.free_gpus = 8, .fill_level_permille = 0, .cost = 400}, 100));
  EXPECT_FALSE(comes_first(whole, {.free_gpus = 8, .fill_level_permille = 0, .cost = 400}, 101));
}

TEST(WholeNodesTest, NobodyCountsOnANodeThatIsClosedIncompleteOrOfAnotherSize) {
  const Policy policy = PolicyFor(10, 90);
  Snapshot snapshot = FourNodes(policy);
  EXPECT_EQ(CountFreeWhole(snapshot.nodes(), *snapshot.packing()), 2);
  Inventory cordoned = WholeInventory("e", 8);
  cordoned.closed = Reason::kNodeCordoned;
  snapshot.PutNode(cordoned);
  Inventory ill = WholeInventory("f", 8);
  ill.devices.gpus.front().health = binpack::GpuHealth::kUnhealthy;
  snapshot.PutNode(ill);
  snapshot.PutNode(WholeInventory("g", 4));
  EXPECT_EQ(CountFreeWhole(snapshot.nodes(), *snapshot.packing()), 2);
  snapshot.PutNode(WholeInventory("h", 8));
  EXPECT_EQ(CountFreeWhole(snapshot.nodes(), *snapshot.packing()), 3);
}

// 4 nodes are expected and 2 free: 50 steps times 2 / 4.
TEST(WholeNodesTest, AnExplanationCountsThePriceAmongItsTerms) {
  const Policy policy = PolicyFor(10, 90);
  Snapshot snapshot = FourNodes(policy);
  snapshot.PutPod(PodFromText("p nvidia.com/gpu=1"));
  const Explanation explanation = Explain(snapshot, "uid-p", policy);
  EXPECT_EQ(explanation.node_name, "c");
  EXPECT_EQ(explanation.free_whole_nodes, 2);
  EXPECT_EQ(explanation.opening_cost, 2'500);
  ASSERT_EQ(explanation.nodes.size(), 4U);
  for (const NodeExplanation& node : explanation.nodes) {
    std::int64_t sum = 0;
    for (const binpack::CostTerm& term : node.cost.terms) sum += term.value;
    EXPECT_EQ(node.cost.cost, sum) << node.node->name();
    EXPECT_GE(node.cost.cost, explanation.nodes[2].cost.cost) << node.node->name();
  }
  EXPECT_THAT(explanation.nodes[0].cost.terms,
              Contains(AllOf(Field(&binpack::CostTerm::name, "whole_node"),
                             Field(&binpack::CostTerm::value, 2'500))));
}

// A cluster reached by many ways: its scores are those of a cache that knows nothing of them.
TEST(WholeNodesTest, ScoresAreAFunctionOfTheStateAndNotOfOrderOrHistory) {
  const Policy policy = PolicyFor(10, 90);
  int priced = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Snapshot snapshot = FourNodes(policy);
    EvaluationCache old_cache(policy, kPrefilter);
    for (int step = 0; step < 60; ++step) {
      std::vector<std::string> names = NamesOf(snapshot);
      const std::string pod = "p" + std::to_string(random() % 12);
      if (random() % 3 == 0) {
        snapshot.RemovePod("uid-" + pod);
      } else {
        const std::string text = pod + " nvidia.com/gpu=" + std::to_string(1 + random() % 4);
        Reserve(snapshot, PodFromText(text), names[random() % names.size()], policy, kPrefilter);
      }
      if (random() % 10 == 0) snapshot.RemoveNode("d");
      if (random() % 10 == 0) snapshot.PutNode(WholeInventory("d", 8));
      names = NamesOf(snapshot);
      const Pod asked = PodFromText("q nvidia.com/gpu=" + std::to_string(1 + random() % 3));
      const Scores expected = ScoresOf(snapshot, asked, names, old_cache);
      EXPECT_EQ(old_cache.opening_cost(), OpeningCost(snapshot));
      std::ranges::shuffle(names, random);
      EvaluationCache new_cache(policy, kPrefilter);
      EXPECT_EQ(ScoresOf(snapshot, asked, names, new_cache), expected);
      priced += OpeningCost(snapshot) > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(priced, 300);
}

}  // namespace
}  // namespace offcut::scheduler
