// The default strategy: least rise of the potential. For strategy.cc alone, like the types in
// baseline_pricing.h.
#pragma once

#include <cstdint>
#include <vector>

#include "binpack/potential.h"
#include "binpack/strategy.h"

namespace offcut::binpack {

// Costs are whole steps of ten milli of unusable GPU, rounded up: gains below that are ties, which
// keep to nodes that are in use.
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
