#include "binpack/strategy.h"

#include <algorithm>
#include <array>

#include "binpack/baseline_pricing.h"
#include "binpack/offcut_pricing.h"

namespace offcut::binpack {
namespace {

struct Best {
  Candidate candidate;
  std::int64_t rank = 0;
};

template <typename Pricing>
std::optional<Best> FindBest(const Pricing& pricing, const PricingInput& input) {
  std::optional<Best> best;
  ForEachCandidate(input.node, input.shape, [&](const Candidate& candidate) {
    const std::int64_t rank = pricing.Rank(candidate);
    if (!best) {
      best.emplace(candidate, rank);
    } else if (rank < best->rank) {
      best->candidate = candidate;
      best->rank = rank;
    }
  });
  return best;
}

int FillLevelPermille(const CompactNode& node, const Candidate& candidate) {
  if (node.total_units == 0) return 0;
  return static_cast<int>(1000 * (node.used_units + candidate.units_taken) / node.total_units);
}

bool OpensWholeNode(const PricingInput& input, const Candidate& candidate) {
  const WholeNodePrice& price = input.model.whole_nodes;
  return !candidate.changes.empty() &&
         candidate.units_taken < std::int64_t{price.gpus} * kGpuUnits &&
         price.IsFreeWhole(input.node.compact);
}

Price ToPrice(const PricingInput& input, const Candidate& candidate, std::int64_t cost) {
  return {.cost = cost,
          .fill_level_permille = FillLevelPermille(input.node.compact, candidate),
          .opens_whole_node = OpensWholeNode(input, candidate)};
}

template <typename Pricing>
std::optional<Price> PriceBy(const PricingInput& input) {
  const Pricing pricing(input);
  const std::optional<Best> best = FindBest(pricing, input);
  if (!best) return std::nullopt;
  return ToPrice(input, best->candidate, pricing.Cost(best->candidate));
}

template <typename Pricing>
std::optional<Choice> ChooseBy(const PricingInput& input) {
  const Pricing pricing(input);
  std::optional<Best> best = FindBest(pricing, input);
  if (!best) return std::nullopt;
  const Price price = ToPrice(input, best->candidate, pricing.Cost(best->candidate));
  std::vector<CostTerm> terms = pricing.Terms(best->candidate);
  return Choice{
      .placement = std::move(best->candidate.placement), .price = price, .terms = std::move(terms)};
}

template <typename Pricing>
constexpr Strategy Row(Strategy strategy) {
  strategy.price = PriceBy<Pricing>;
  strategy.choose = ChooseBy<Pricing>;
  return strategy;
}

constexpr std::array kStrategies = {
    Row<BestFitPricing>({.name = "best-fit", .is_offered = true}),
    Row<ClusteringPricing>({.name = "clustering"}),
    Row<DotProductPricing>({.name = "dot-product"}),
    Row<FgdPricing>({.name = "fgd", .is_offered = true, .reads_workload = true}),
    Row<FirstFitPricing>({.name = "first-fit", .is_offered = true}),
    Row<OffcutPricing>({.name = "offcut",
                        .is_offered = true,
                        .reads_workload = true,
                        .breaks_ties_by_name = true,
                        .prices_whole_nodes = true}),
    Row<PackingPricing>({.name = "packing"}),
    Row<PublishedPackingPricing>({.name = "packing-published"}),
    Row<RandomPricing>({.name = "random", .is_random = true}),
    Row<SpreadPricing>({.name = "spread", .is_offered = true}),
};

// The finaliser of SplitMix64: every bit of the input reaches every bit of the result.
std::uint64_t Mix(std::uint64_t x) {
  x += 0x9e37'79b9'7f4a'7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58'476d'1ce4'e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d0'49bb'1331'11ebU;
  return x ^ (x >> 31U);
}

std::uint64_t HashText(std::uint64_t seed, std::string_view text) {  // FNV-1a, then mixed
  std::uint64_t hash = Mix(seed) ^ 0xcbf2'9ce4'8422'2325U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x0000'0100'0000'01b3U;
  }
  return Mix(hash);
}

}  // namespace

std::span<const Strategy> Strategies() { return kStrategies; }

const Strategy* FindStrategy(std::string_view name) {
  const auto found = std::ranges::find(kStrategies, name, &Strategy::name);
  return found == kStrategies.end() ? nullptr : &*found;
}

std::optional<Choice> Choose(const PricingInput& input) {
  return input.model.strategy->choose(input);
}

std::optional<Price> PriceOf(const PricingInput& input) {
  return input.model.strategy->price(input);
}

std::uint64_t Draw(std::uint64_t seed, std::string_view decision, std::string_view node_name) {
  return HashText(HashText(seed, decision), node_name);
}

std::uint64_t NextDraw(std::uint64_t draw, std::uint64_t number) { return Mix(draw ^ Mix(number)); }

}  // namespace offcut::binpack
