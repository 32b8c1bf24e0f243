#include "binpack/strategy.h"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/testing/random_nodes.h"
#include "test/testing/worlds.h"

namespace offcut::binpack {
namespace {

using ::offcut::testing::FractionNode;
using ::offcut::testing::RandomNode;
using ::offcut::testing::RandomShape;
using ::offcut::testing::ToText;

// A share of `percent` of one GPU, with as much of its memory.
RequestShape Share(int percent, std::int64_t cpu_milli = 0) {
  return {.host = {.cpu_milli = cpu_milli},
          .fractions = {{.gpus = 1, .memory_percent = percent, .cores_percent = percent}}};
}

// One GPU an entry, that many percent of its cores used.
NodeState Shared(const std::vector<int>& percents, std::int64_t free_cpu_milli = 96'000) {
  std::vector<::offcut::testing::FractionUse> uses;
  for (const int percent : percents) {
    uses.push_back({.memory_mib = 100 * percent, .cores_percent = percent, .sharers = percent > 0});
  }
  NodeState node = FractionNode(10'000, uses);
  node.used.cpu_milli = node.allocatable.cpu_milli - free_cpu_milli;
  return node;
}

struct Priced {
  std::int64_t cost = 0;
  std::string placement;
};

Priced PricedBy(std::string_view strategy, const NodeState& node, const RequestShape& shape,
                TargetWorkload workload = {}, std::uint32_t request_kinds = 0) {
  const auto model = PreparePacking(strategy, {}, std::move(workload));
  CompactNode compact = Compact(node);
  compact.request_kinds = request_kinds;
  const auto choice = Choose({.model = *model, .node = {node, compact}, .shape = shape});
  return {choice->price.cost, ToText(node, choice->placement)};
}

// One of the three free GPUs is taken, 2 of the norm of 8 are left: 25 %. 90 of the norm of 128
// CPUs are left: 70.3 %. The mean is 47.7 %, and the published score floor(52.3) = 52.
TEST(BestFitTest, CostsWhatIsLeftOfCpuAndGpuInPercentRoundedUp) {
  EXPECT_EQ(PricedBy("best-fit", Shared({100, 0, 0, 0}, 96'000), Share(100, 6'000)).cost, 100 - 52);
}

// 30 % fit on the GPUs with 40, 50 and 100 % free; 40 is the tightest.
TEST(BestFitTest, TakesTheGpuOnWhichLeastStaysFree) {
  EXPECT_EQ(PricedBy("best-fit", Shared({80, 50, 60, 0}), Share(30)).placement, "2");
}

// CPU 64 of 128 free and 32 asked, GPU 4 of 8 free and 1 asked:
// (0.5 * 0.25 + 0.5 * 0.125) / 2 = 9.375 %, rounded up.
TEST(DotProductTest, CostsTheAlignmentOfRequestAndRoom) {
  EXPECT_EQ(PricedBy("dot-product", Shared({0, 0, 0, 0}, 64'000), Share(100, 32'000)).cost, 10);
}

// Kinds: bit 0 a share, bit 1 one GPU. 4 of 8 GPUs free give floor(25 * 4 / 8) = 12.
TEST(ClusteringTest, PrefersNodesOfTheSameKindThenMixedThenEmptyThenOther) {
  const NodeState node = Shared({0, 0, 0, 0});
  EXPECT_EQ(PricedBy("clustering", node, Share(50), {}, 0b01).cost, 100 - 75 - 12);
  EXPECT_EQ(PricedBy("clustering", node, Share(50), {}, 0b11).cost, 100 - 50 - 12);
  EXPECT_EQ(PricedBy("clustering", node, Share(50), {}, 0b00).cost, 100 - 25 - 12);
  EXPECT_EQ(PricedBy("clustering", node, Share(50), {}, 0b10).cost, 100 - 0 - 12);
  EXPECT_EQ(PricedBy("clustering", node, {.host = {.cpu_milli = 1}}, {}, 0b01).cost, 100);
}

// Idle node of two: max(33 - 2, 2) = 31. A GPU in use with 40 % free: 100 - floor(40 / 10) = 96.
// One idle GPU of a node in use: 50 - 1 = 49.
TEST(PackingTest, PrefersGpusInUseThenNodesInUse) {
  EXPECT_EQ(PricedBy("packing", Shared({0, 0}), Share(30)).cost, 100 - 31);
  EXPECT_EQ(PricedBy("packing", Shared({60, 0}), Share(30)).cost, 100 - 96);
  EXPECT_EQ(PricedBy("packing", Shared({60, 0}), Share(50)).cost, 100 - 49);
}

TEST(PackingTest, SendsAPodWithoutGpusToANodeInUseButNotAsPublished) {
  const RequestShape cpu_only{.host = {.cpu_milli = 1'000}};
  EXPECT_EQ(PricedBy("packing", Shared({60, 0}), cpu_only).cost, 0);
  EXPECT_EQ(PricedBy("packing", Shared({0, 0}), cpu_only).cost, 100 - 31);
  EXPECT_EQ(PricedBy("packing-published", Shared({60, 0}), cpu_only).cost, 100);
  EXPECT_EQ(PricedBy("packing-published", Shared({0, 0}), cpu_only).cost, 100);
}

// 60 and 30 % used of two GPUs: 45 %; with 20 % more of one, 55 %.
TEST(SpreadTest, CostsHowFullTheNodeWouldBeAndTakesTheEmptiestGpu) {
  const Priced priced = PricedBy("spread", Shared({60, 30}), Share(20));
  EXPECT_EQ(priced.cost, 550);
  EXPECT_EQ(priced.placement, "1");
}

TargetWorkload Halves() {
  const ExpectedRequest half{.kind = DemandKind::kShare, .gpus = 1, .share_units = 700};
  return {.classes = {{half, 2}}};
}

// All expected requests are halves. F before: 0 on an idle GPU, 420 of the 30 % free are of no use.
// A 30 % share on the idle GPU leaves 70 %, of use: F stays 420. On the one with 30 % free, F falls
// to 0: d = 420 / 1400 = 0.3, floor(100 / (1 + exp(-0.3))) = floor(57.4) = 57.
TEST(FgdTest, TakesThePlacementAfterWhichLeastIsUseless) {
  const Priced priced = PricedBy("fgd", Shared({0, 70}), Share(30), Halves());
  EXPECT_EQ(priced.placement, "1");
  EXPECT_EQ(priced.cost, 100 - 57);
}

// d = 0 scores floor(50) = 50, and of equal scores the first GPU counts.
TEST(FgdTest, TakesTheFirstGpuOfEqualScores) {
  const Priced priced = PricedBy("fgd", Shared({0, 0}), Share(50), Halves());
  EXPECT_EQ(priced.placement, "0");
  EXPECT_EQ(priced.cost, 50);
}

// ln(51 / 49) = 0.0400 GPUs: from there on the score is 51. 14 units are 0.01 GPUs.
TEST(FgdTest, RoundsAChangeOfFragmentationToSteps) {
  const auto model = PreparePacking("fgd", {}, Halves());
  const std::int64_t count = 2;
  EXPECT_EQ(model->gradient.ScoreOf(0), 50);
  EXPECT_EQ(model->gradient.ScoreOf(-1), 49);
  EXPECT_EQ(model->gradient.ScoreOf(count * 56), 50);
  EXPECT_EQ(model->gradient.ScoreOf(count * 57), 51);
  EXPECT_EQ(model->gradient.ScoreOf(count * 1400 * 100), 99);
  EXPECT_EQ(model->gradient.ScoreOf(-count * 1400 * 100), 0);
}

TEST(FirstFitTest, CostsNothingAndTakesTheFirstGpu) {
  const Priced priced = PricedBy("first-fit", Shared({80, 50, 60, 0}), Share(30));
  EXPECT_EQ(priced.cost, 0);
  EXPECT_EQ(priced.placement, "1");
}

TEST(RandomTest, DrawsFromSeedDecisionAndNodeAlone) {
  EXPECT_EQ(Draw(1, "pod", "node"), Draw(1, "pod", "node"));
  EXPECT_NE(Draw(1, "pod", "node"), Draw(2, "pod", "node"));
  EXPECT_NE(Draw(1, "pod", "node"), Draw(1, "pod-2", "node"));
  EXPECT_NE(Draw(1, "pod", "node"), Draw(1, "pod", "node-2"));
}

// 1,200 draws over three GPUs that fit: 400 each, give or take 60 (3.6 standard deviations).
TEST(RandomTest, TakesEachGpuThatFitsAboutEquallyOften) {
  const auto model = PreparePacking("random");
  const NodeState node = Shared({10, 20, 90, 30});
  const CompactNode compact = Compact(node);
  std::vector<int> counts(4);
  for (int i = 0; i < 1'200; ++i) {
    const auto choice = Choose({.model = *model,
                                .node = {node, compact},
                                .shape = Share(50),
                                .draw = Draw(7, std::to_string(i), "node")});
    ++counts[static_cast<std::size_t>(choice->placement.pieces.front().gpu)];
  }
  EXPECT_EQ(counts[2], 0);
  for (const int gpu : {0, 1, 3}) EXPECT_NEAR(counts[static_cast<std::size_t>(gpu)], 400, 60);
}

// The three idle ones are one candidate: it is to be taken three times in four, 900 of 1,200 draws,
// give or take 60 (4 standard deviations), and the one in use the other 300.
TEST(RandomTest, TakesOneOfManyAlikeAsOftenAsThereAre) {
  const auto model = PreparePacking("random");
  const NodeState node = Shared({0, 40, 0, 0});
  const CompactNode compact = Compact(node);
  int in_use = 0;
  for (int i = 0; i < 1'200; ++i) {
    const auto choice = Choose({.model = *model,
                                .node = {node, compact},
                                .shape = Share(50),
                                .draw = Draw(7, std::to_string(i), "node")});
    if (choice->placement.pieces.front().gpu == 1) ++in_use;
  }
  EXPECT_NEAR(in_use, 300, 60);
}

TEST(StrategyTest, HasNoPlacementWhereTheShapeDoesNotFit) {
  const auto model = PreparePacking("fgd", {}, Halves());
  const NodeState node = Shared({60});
  const CompactNode compact = Compact(node);
  EXPECT_EQ(PriceOf({.model = *model, .node = {node, compact}, .shape = Share(50)}), std::nullopt);
}

TEST(StrategyTest, IsNotPreparedUnderANameThatNoneHas) {
  EXPECT_EQ(PreparePacking("worst-fit"), nullptr);
}

TargetWorkload RandomWorkload(std::mt19937& random) {
  std::vector<ExpectedRequest> requests;
  for (int i = 0; i < 40; ++i) {
    ExpectedRequest request{.cpu_milli = 1'000 * static_cast<int>(random() % 9)};
    request.kind = static_cast<DemandKind>(random() % 4);
    if (request.kind != DemandKind::kHostOnly) request.gpus = 1 + static_cast<int>(random() % 2);
    if (request.kind == DemandKind::kShare)
      request.share_units = 140 * (1 + static_cast<int>(random() % 10));
    if (request.kind == DemandKind::kInstance)
      request.profile = random() % 2 == 0 ? "1g.5gb" : "3g.20gb";
    if (random() % 5 == 0) request.models = {"A30*"};
    requests.push_back(request);
  }
  return DeriveTargetWorkload(requests);
}

// Beside a share of no GPU, a request is none of those that are enumerated without copying the
// node: the generic search must come to the same choice, by every strategy.
TEST(StrategyTest, ChoosesWithoutCopyingTheNodeAsTheSearchChooses) {
  int compared = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const NodeState node = RandomNode(random);
    const RequestShape shape = RandomShape(random, node);
    if (node.picker == DevicePicker::kKubelet) continue;
    const CompactNode compact = Compact(node);
    RequestShape searched = shape;
    searched.fractions.push_back({.gpus = 0});
    const TargetWorkload workload = RandomWorkload(random);
    for (const Strategy& strategy : Strategies()) {
      SCOPED_TRACE(strategy.name);
      const auto model = PreparePacking(strategy.name, {}, workload);
      const PricingInput input{*model, {node, compact}, shape, seed};
      const PricingInput searched_input{*model, {node, compact}, searched, seed};
      const auto choice = Choose(input);
      const auto by_search = Choose(searched_input);
      ASSERT_EQ(choice.has_value(), by_search.has_value());
      if (!choice) continue;
      EXPECT_EQ(choice->placement, by_search->placement);
      EXPECT_EQ(choice->price.cost, by_search->price.cost);
      EXPECT_EQ(choice->price.fill_level_permille, by_search->price.fill_level_permille);
      EXPECT_EQ(PriceOf(input)->cost, choice->price.cost);
      ++compared;
    }
  }
  EXPECT_GT(compared, 500);
}

// The definition, by placing each class on the node and on each of its GPUs alone.
std::int64_t FragmentationByDefinition(const TargetWorkload& workload, const NodeState& node) {
  const CompactNode compact = Compact(node);
  std::int64_t sum = 0;
  for (const auto& [request, count] : workload.classes) {
    const int percent = request.share_units * 100 / kGpuUnits;
    RequestShape shape{
        .host = {.cpu_milli = request.cpu_milli},
        .fractions = {{.gpus = request.gpus, .memory_percent = percent, .cores_percent = percent}},
        .accepted = Accept(node, {.models_allowed = request.models})};
    std::int64_t useless = 0;
    for (std::size_t g = 0; g < node.gpus.size(); ++g) {
      NodeState alone = node;
      alone.gpus = {node.gpus[g]};
      RequestShape one = shape;
      one.host = {};
      one.accepted = Accept(alone, {.models_allowed = request.models});
      one.fractions.front().gpus = 1;
      if (FindObstacle(alone, one) != Obstacle::kNone) useless += compact.gpus[g].free_units;
    }
    const bool fits = request.gpus > 0 && FindObstacle(node, shape) == Obstacle::kNone;
    sum += count * (fits ? useless : compact.free_units);
  }
  return sum;
}

TEST(FragmentationTest, IsWhatTheDefinitionSaysForShares) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<int> percents;
    for (int i = 0; i < 1 + static_cast<int>(seed % 8); ++i) {
      percents.push_back(10 * static_cast<int>(random() % 11));
    }
    const NodeState node = Shared(percents, 1'000 * static_cast<int>(random() % 12));
    std::vector<ExpectedRequest> requests;
    for (int i = 0; i < 30; ++i) {
      const int gpus = static_cast<int>(random() % 4);
      const int units = gpus > 1 ? kGpuUnits : 140 * (1 + static_cast<int>(random() % 10));
      requests.push_back({.cpu_milli = 1'000 * static_cast<int>(random() % 9),
                          .kind = gpus == 0 ? DemandKind::kHostOnly : DemandKind::kShare,
                          .gpus = gpus,
                          .share_units = gpus == 0 ? 0 : units,
                          .models = random() % 5 == 0 ? std::vector<std::string>{"T4"}
                                                      : std::vector<std::string>{}});
    }
    const TargetWorkload workload = DeriveTargetWorkload(requests);
    EXPECT_EQ(Fragmentation(MakeClassTable(workload), {node, Compact(node)}),
              FragmentationByDefinition(workload, node));
  }
}

}  // namespace
}  // namespace offcut::binpack
