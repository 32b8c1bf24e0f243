#include "binpack/strategy.h"

#include <algorithm>
#include <array>
#include <limits>

namespace offcut::binpack {
namespace {

// The norms of the published comparison: what counts as 1000 thousandths of leftover.
constexpr std::int64_t kCpuMilliNorm = 128'000;
constexpr std::int64_t kGpuUnitsNorm = std::int64_t{8} * kGpuUnits;

std::int64_t UnitsOf(const NodeState& node, const Placement& placement) {
  NodeState with = node;
  Occupy(with, placement);
  return UsedUnits(with) - UsedUnits(node);
}

// What best fit leaves on the node: weighted thousandths of CPU and of GPU capacity.
// Source: "BestFit" of the FGD comparison, with the two dimensions' weights as a setting.
std::vector<CostTerm> LeftoverTerms(const NodeState& node, const RequestShape& shape,
                                    const Placement& placement, CostWeights weights) {
  const std::int64_t gpu_left = TotalUnits(node) - UsedUnits(node) - UnitsOf(node, placement);
  const std::int64_t cpu_left =
      node.allocatable.cpu_milli - node.used.cpu_milli - shape.host.cpu_milli;
  return {{"gpu_left", weights.gpu * (1000 * gpu_left / kGpuUnitsNorm)},
          {"cpu_left", weights.cpu * (1000 * cpu_left / kCpuMilliNorm)}};
}

// What stays free on the GPUs that the placement touches: the tightest fit leaves the least.
std::int64_t LeftOnTouched(const NodeState& node, const Placement& placement) {
  NodeState with = node;
  Occupy(with, placement);
  std::int64_t left = 0;
  for (std::size_t g = 0; g < with.gpus.size(); ++g) {
    const bool is_touched = std::ranges::any_of(
        placement.pieces, [&](const Piece& piece) { return piece.gpu == static_cast<int>(g); });
    if (is_touched) left += kGpuUnits - UsedUnits(with.gpus[g]);
  }
  return left;
}

std::optional<Placement> TightestPlacement(const NodeState& node, const RequestShape& shape) {
  std::optional<Placement> best;
  std::int64_t best_left = std::numeric_limits<std::int64_t>::max();
  ForEachPlacement(node, shape, [&](const Placement& placement) {
    const std::int64_t left = LeftOnTouched(node, placement);
    if (left < best_left) {
      best_left = left;
      best = placement;
    }
    return true;
  });
  return best ? best : FindPlacement(node, shape);  // the enumeration is bounded, the search exact
}

Choice Priced(Placement placement, std::vector<CostTerm> terms) {
  Choice choice{.placement = std::move(placement), .cost = 0, .terms = std::move(terms)};
  for (const CostTerm& term : choice.terms) choice.cost += term.value;
  return choice;
}

// The first placement of the first node: every node costs the same.
std::optional<Choice> ChooseFirstFit(const NodeState& node, const RequestShape& shape,
                                     CostWeights) {
  std::optional<Placement> placement = node.picker == DevicePicker::kKubelet
                                           ? KubeletPlacement(node, shape)
                                           : FindPlacement(node, shape);
  if (!placement) return std::nullopt;
  return Priced(*std::move(placement), {});
}

std::optional<Choice> ChooseBestFit(const NodeState& node, const RequestShape& shape,
                                    CostWeights weights) {
  std::optional<Placement> placement = node.picker == DevicePicker::kKubelet
                                           ? KubeletPlacement(node, shape)
                                           : TightestPlacement(node, shape);
  if (!placement) return std::nullopt;
  std::vector<CostTerm> terms = LeftoverTerms(node, shape, *placement, weights);
  return Priced(*std::move(placement), std::move(terms));
}

constexpr std::array kStrategies = {
    Strategy{"best-fit", ChooseBestFit},
    Strategy{"first-fit", ChooseFirstFit},
};

}  // namespace

std::span<const Strategy> Strategies() { return kStrategies; }

const Strategy* FindStrategy(std::string_view name) {
  const auto found = std::ranges::find(kStrategies, name, &Strategy::name);
  return found == kStrategies.end() ? nullptr : &*found;
}

int FillLevelPermille(const NodeState& node, const Placement& placement) {
  const std::int64_t total = TotalUnits(node);
  if (total == 0) return 0;
  return static_cast<int>(1000 * (UsedUnits(node) + UnitsOf(node, placement)) / total);
}

}  // namespace offcut::binpack
