#include "binpack/offcut_pricing.h"

#include "binpack/integer_division.h"

namespace offcut::binpack {
namespace {

constexpr std::int64_t kStep = 10 * NodePotential::kUnit;

}  // namespace

OffcutPricing::OffcutPricing(const PricingInput& input)
    : input_(input), potential_(input.model.potential, input.node), before_(potential_.Value()) {}

std::int64_t OffcutPricing::Cost(const Candidate& candidate) const {
  const std::int64_t after = potential_.ValueAfter(
      candidate.changes, input_.node.compact.free_cpu_milli - input_.shape.host.cpu_milli);
  return CeilDiv(after - before_ + potential_.ScarcityOf(candidate.changes), kStep);
}

std::vector<CostTerm> OffcutPricing::Terms(const Candidate& candidate) const {
  const std::int64_t scarce = CeilDiv(potential_.ScarcityOf(candidate.changes), kStep);
  return {{"unusable", Cost(candidate) - scarce}, {"scarce_model", scarce}};
}

}  // namespace offcut::binpack
