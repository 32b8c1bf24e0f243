#include "binpack/baseline_pricing.h"

#include <algorithm>

#include "binpack/integer_division.h"

namespace offcut::binpack {
namespace {

// Beyond this every node has enough CPU, and products of two stay within an int64.
constexpr std::int64_t kCpuMilliMax = 10'000'000;

std::int64_t Bounded(std::int64_t cpu_milli) {
  return std::clamp(cpu_milli, -kCpuMilliMax, kCpuMilliMax);
}

std::int64_t FreeGpus(const CompactNode& node) {
  return std::ranges::count(node.gpus, kGpuUnits, &CompactGpu::free_units);
}

}  // namespace

std::int64_t FreeAfter(const Candidate& candidate) {
  std::int64_t free = 0;
  for (const GpuChange& change : candidate.changes) free += change.after.free_units;
  return free;
}

std::int64_t FreeBefore(const CompactNode& node, const Candidate& candidate) {
  std::int64_t free = 0;
  for (const GpuChange& change : candidate.changes) free += node.gpus[change.gpu].free_units;
  return free;
}

bool RandomPricing::IsLike(std::size_t gpu, std::size_t other) const {
  const NodeView& node = input_.node;
  return input_.shape.accepted.Of(gpu) == Acceptance::kAccepted &&
         node.compact.gpus[gpu] == node.compact.gpus[other] &&
         (node.compact.gpus[gpu].kind != GpuKind::kMig ||
          Interchangeable(node.state.gpus[gpu], node.state.gpus[other]));
}

std::int64_t RandomPricing::Rank(const Candidate& candidate) const {
  std::uint64_t draw = input_.draw;
  if (candidate.changes.size() == 1) {
    const std::size_t taken = candidate.changes.front().gpu;
    draw = NextDraw(input_.draw, taken);
    for (std::size_t gpu = 0; gpu < input_.node.compact.gpus.size(); ++gpu) {
      if (IsLike(gpu, taken)) draw = std::min(draw, NextDraw(input_.draw, gpu));
    }
  } else {
    for (const GpuChange& change : candidate.changes) draw = NextDraw(draw, change.gpu);
  }
  return static_cast<std::int64_t>(draw >> 1U);
}

// 100 (w_c c/C + w_g r/G) / (w_c + w_g), rounded up: the published score is 100 less this.
std::int64_t BestFitPricing::Percent(const Candidate& candidate, bool with_cpu) const {
  const auto& [gpu_weight, cpu_weight] = input_.model.weights;
  const std::int64_t gpu_left = node_.free_units - candidate.units_taken;
  const std::int64_t cpu_left = Bounded(node_.free_cpu_milli - input_.shape.host.cpu_milli);
  const std::int64_t weighted = gpu_weight * gpu_left * kCpuMilliNorm +
                                (with_cpu ? cpu_weight * cpu_left * kGpuUnitsNorm : 0);
  return CeilDiv(100 * weighted, kCpuMilliNorm * kGpuUnitsNorm * (gpu_weight + cpu_weight));
}

std::int64_t BestFitPricing::Cost(const Candidate& candidate) const {
  return Percent(candidate, true);
}

std::vector<CostTerm> BestFitPricing::Terms(const Candidate& candidate) const {
  const std::int64_t gpu = Percent(candidate, false);
  return {{"gpu_left", gpu}, {"cpu_left", Cost(candidate) - gpu}};
}

// 50 (c_n c_m / C^2 + R g / G^2), rounded up. The two denominators have the least common multiple
// L = 2^20 5^6 7^2: C^2 = 2^20 5^6 and G^2 = 2^12 5^4 7^2.
std::int64_t DotProductPricing::Cost(const Candidate& candidate) const {
  constexpr std::int64_t cpu_factor = 49;
  constexpr std::int64_t gpu_factor = 6'400;
  constexpr std::int64_t denominator = kCpuMilliNorm * kCpuMilliNorm * cpu_factor;
  static_assert(denominator == kGpuUnitsNorm * kGpuUnitsNorm * gpu_factor);
  const std::int64_t cpu = Bounded(node_.free_cpu_milli) * Bounded(input_.shape.host.cpu_milli);
  const std::int64_t gpu = node_.free_units * candidate.units_taken;
  return CeilDiv(50 * (cpu_factor * cpu + gpu_factor * gpu), denominator);
}

std::int64_t ClusteringPricing::Cost(const Candidate& candidate) const {
  if (!AsksForDevices(candidate)) return 100;
  const std::uint32_t kind = 1U << static_cast<unsigned>(RequestKindOf(candidate.placement));
  std::int64_t base = 0;
  if (node_.request_kinds == kind) {
    base = 75;
  } else if ((node_.request_kinds & kind) != 0) {
    base = 50;
  } else if (node_.request_kinds == 0) {
    base = 25;
  }
  return 100 - base - FloorDiv(25 * (kGpuUnitsNorm - node_.free_units), kGpuUnitsNorm);
}

std::int64_t PackingPricing::Cost(const Candidate& candidate) const {
  const std::int64_t free_gpus = FreeGpus(node_);
  if (free_gpus == std::ssize(node_.gpus)) return 100 - std::max(33 - free_gpus, free_gpus);
  if (!AsksForDevices(candidate)) return 0;
  std::int64_t untouched = 0;  // of the GPUs that it takes
  std::int64_t free_percent = 0;
  for (const GpuChange& change : candidate.changes) {
    const std::int64_t free = node_.gpus[change.gpu].free_units;
    untouched += free == kGpuUnits ? 1 : 0;
    free_percent += 100 * free / kGpuUnits;
  }
  if (untouched > 0) return 100 - std::max<std::int64_t>(50 - untouched, 33);
  return 100 - std::max<std::int64_t>(100 - free_percent / 10, 50);
}

std::int64_t PublishedPackingPricing::Cost(const Candidate& candidate) const {
  return AsksForDevices(candidate) ? PackingPricing::Cost(candidate) : 100;
}

std::int64_t SpreadPricing::Cost(const Candidate& candidate) const {
  if (node_.total_units == 0) return 0;
  return 1000 * (node_.used_units + candidate.units_taken) / node_.total_units;
}

FgdPricing::FgdPricing(const PricingInput& input)
    : input_(input), fragments_(input.model.classes, input.node), before_(fragments_.Sum()) {}

std::int64_t FgdPricing::Cost(const Candidate& candidate) const {
  const std::int64_t after = fragments_.SumAfter(
      candidate.changes, input_.node.compact.free_cpu_milli - input_.shape.host.cpu_milli);
  return 100 - input_.model.gradient.ScoreOf(before_ - after);
}

}  // namespace offcut::binpack
