// The default strategy: least rise of the potential. For strategy.cc alone, like the types in
// baseline_pricing.h.
#pragma once

#include <cstdint>
#include <vector>

#include "binpack/potential.h"
#include "binpack/strategy.h"

namespace offcut::binpack {

// Costs are ten-thousandths of a GPU that becomes unusable, in steps of a hundred, rounded up:
// gains below that are ties. Where we place MIG instances there are no steps.
class OffcutPricing {
 public:
  explicit OffcutPricing(const PricingInput& input);
  std::int64_t Rank(const Candidate& candidate) const { return Cost(candidate); }
  std::int64_t Cost(const Candidate& candidate) const;
  std::vector<CostTerm> Terms(const Candidate& candidate) const;

 private:
  const PricingInput& input_;
  NodePotential potential_;
  std::int64_t before_ = 0;
};

}  // namespace offcut::binpack
