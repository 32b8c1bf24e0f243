#include "binpack/packing_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "binpack/strategy.h"

namespace offcut::binpack {
namespace {

// s(d) >= i / 100 iff d >= ln(i / (100 - i)). But for i = 50 that is no rational number, so no sum
// of integers meets it exactly and a rounding error of the logarithm decides nothing.
GradientScale MakeGradientScale(std::int64_t total_count) {
  GradientScale scale;
  for (int i = 1; i <= GradientScale::kScoreMax; ++i) {
    const double gpus = std::log(static_cast<double>(i) / (100 - i));
    scale.least[static_cast<std::size_t>(i - 1)] =
        std::llround(std::ceil(gpus * kGpuUnits * static_cast<double>(total_count)));
  }
  return scale;
}

std::int64_t GpusOf(std::span<const GpuCapacity> capacities) {
  std::int64_t gpus = 0;
  for (const GpuCapacity& each : capacities) gpus += each.count;
  return gpus;
}

}  // namespace

int GradientScale::ScoreOf(std::int64_t decrease) const {
  return static_cast<int>(std::ranges::upper_bound(least, decrease) - least.begin());
}

std::shared_ptr<const PackingModel> PreparePacking(std::string_view strategy_name,
                                                   CostWeights weights, TargetWorkload workload,
                                                   std::uint64_t seed, const Outlook& outlook,
                                                   const PackingModel* before) {
  const Strategy* strategy = FindStrategy(strategy_name);
  if (strategy == nullptr) return nullptr;
  ClassTable classes = MakeClassTable(workload);
  const std::uint64_t workload_hash = HashOf(workload);
  const WholeNodePrice whole_nodes =
      strategy->prices_whole_nodes
          ? MakeWholeNodePrice(outlook.workload, outlook.node_sizes, GpusOf(outlook.capacities))
          : WholeNodePrice{};
  const GradientScale gradient = MakeGradientScale(classes.total_count);
  return std::make_shared<const PackingModel>(PackingModel{
      .strategy = strategy,
      .weights = weights,
      .seed = seed,
      .workload = std::move(workload),
      .workload_hash = workload_hash,
      .capacities = outlook.capacities,
      .node_sizes = outlook.node_sizes,
      .classes = std::move(classes),
      .gradient = gradient,
      .potential = MakePotentialTables(outlook.workload, outlook.capacities,
                                       before == nullptr ? nullptr : &before->potential),
      .whole_nodes = whole_nodes});
}

}  // namespace offcut::binpack
