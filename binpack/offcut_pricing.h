// The default strategy: least rise of the potential of one node. What it costs the cluster that one
// entirely free node fewer is left is added where nodes are compared; see whole_node_price.h. For
// binpack's own files alone, like the types in baseline_pricing.h.
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
  static constexpr std::int64_t kStepUnits = 100;

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
