#include "binpack/offcut_pricing.h"

#include "binpack/integer_division.h"

namespace offcut::binpack {
namespace {

// Of a cost: a tenth of a milli.
constexpr std::int64_t kCostUnit = NodePotential::kUnit / 10;

// Differences smaller than a step are none, but for instances that we place: what a layout costs is
// exact, and often little.
std::int64_t ToCost(std::int64_t potential, const RequestShape& shape) {
  constexpr std::int64_t step = OffcutPricing::kStepUnits;
  if (!shape.profiles.empty()) return CeilDiv(potential, kCostUnit);
  return step * CeilDiv(potential, step * kCostUnit);
}

}  // namespace

OffcutPricing::OffcutPricing(const PricingInput& input)
    : input_(input), potential_(input.model.potential, input.node), before_(potential_.Value()) {}

std::int64_t OffcutPricing::Cost(const Candidate& candidate) const {
  const std::int64_t after = potential_.ValueAfter(
      candidate, input_.node.compact.free_cpu_milli - input_.shape.host.cpu_milli);
  return ToCost(after - before_ + potential_.ScarcityOf(candidate.changes), input_.shape);
}

std::vector<CostTerm> OffcutPricing::Terms(const Candidate& candidate) const {
  const std::int64_t scarce = ToCost(potential_.ScarcityOf(candidate.changes), input_.shape);
  return {{"unusable", Cost(candidate) - scarce}, {"scarce_model", scarce}};
}

}  // namespace offcut::binpack
