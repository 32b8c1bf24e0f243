#include "binpack/offcut_pricing.h"

namespace offcut::binpack {
namespace {

constexpr std::int64_t kStep = 10 * NodePotential::kUnit;

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

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
