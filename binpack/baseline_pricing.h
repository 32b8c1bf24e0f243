// The strategies that others have published, as the FGD artifact defines them, and the two
// simplest. For strategy.cc alone.
//
// Each is a type P that strategy.cc takes through its steps:
//   P(input)           looks at the node once
//   Rank(candidate)    of the candidates on the node the lowest is taken, then the first
//   Cost(candidate)    of the one taken; 100 less the published score, where that is in percent
//   Terms(candidate)   what the cost is made of
// Norms and formulas: hkust-adsl/kubernetes-scheduler-simulator, the artifact of USENIX ATC 2023.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "binpack/strategy.h"

namespace offcut::binpack {

// The published scores take these as one: 128 CPUs and 8 GPUs.
inline constexpr std::int64_t kCpuMilliNorm = 128'000;
inline constexpr std::int64_t kGpuUnitsNorm = std::int64_t{8} * kGpuUnits;

// What stays free on the GPUs that the candidate touches, and what was free before.
std::int64_t FreeAfter(const Candidate& candidate);
std::int64_t FreeBefore(const CompactNode& node, const Candidate& candidate);

// The first placement; every node costs the same.
class FirstFitPricing {
 public:
  explicit FirstFitPricing(const PricingInput&) {}
  std::int64_t Rank(const Candidate&) const { return 0; }
  std::int64_t Cost(const Candidate&) const { return 0; }
  std::vector<CostTerm> Terms(const Candidate&) const { return {}; }
};

// A random node, and a random one of the GPUs that fit, each as likely as another. A candidate
// stands for all GPUs of the node that are like its own, so it has as many draws as there are.
class RandomPricing {
 public:
  explicit RandomPricing(const PricingInput& input) : input_(input) {}
  std::int64_t Rank(const Candidate& candidate) const;
  std::int64_t Cost(const Candidate&) const { return static_cast<std::int64_t>(input_.draw >> 1U); }
  std::vector<CostTerm> Terms(const Candidate& c) const { return {{"random", Cost(c)}}; }

 private:
  bool IsLike(std::size_t gpu, std::size_t other) const;

  const PricingInput& input_;
};

// Takes the GPU on which least stays free, as the published ones do but for FGD.
class TightestGpu {
 public:
  explicit TightestGpu(const PricingInput& input) : node_(input.node.compact), input_(input) {}
  std::int64_t Rank(const Candidate& candidate) const { return FreeAfter(candidate); }

 protected:
  bool AsksForDevices(const Candidate& candidate) const {
    return !candidate.placement.pieces.empty();
  }

  const CompactNode& node_;
  const PricingInput& input_;
};

// What is left of CPU and GPU on the node, each as a share of its norm, weighted.
class BestFitPricing : public TightestGpu {
 public:
  using TightestGpu::TightestGpu;
  std::int64_t Cost(const Candidate& candidate) const;
  std::vector<CostTerm> Terms(const Candidate& candidate) const;

 private:
  std::int64_t Percent(const Candidate& candidate, bool with_cpu) const;
};

// The alignment of what is asked for with what is free, both as vectors of CPU and GPU.
class DotProductPricing : public TightestGpu {
 public:
  using TightestGpu::TightestGpu;
  std::int64_t Cost(const Candidate& candidate) const;
  std::vector<CostTerm> Terms(const Candidate& c) const { return {{"alignment", Cost(c)}}; }
};

// Pods of one kind (a share, or the same number of GPUs) together, then the fuller node.
class ClusteringPricing : public TightestGpu {
 public:
  using TightestGpu::TightestGpu;
  std::int64_t Cost(const Candidate& candidate) const;
  std::vector<CostTerm> Terms(const Candidate& c) const { return {{"clustering", Cost(c)}}; }
};

// GPUs in use before free ones, nodes in use before idle ones. As the released code has it, a pod
// without GPUs goes to a node in use; the published figures seem to come from a version that scores
// such pods 0 everywhere.
class PackingPricing : public TightestGpu {
 public:
  using TightestGpu::TightestGpu;
  std::int64_t Cost(const Candidate& candidate) const;
  std::vector<CostTerm> Terms(const Candidate& c) const { return {{"packing", Cost(c)}}; }
};

class PublishedPackingPricing : public PackingPricing {
 public:
  using PackingPricing::PackingPricing;
  std::int64_t Cost(const Candidate& candidate) const;
  std::vector<CostTerm> Terms(const Candidate& c) const { return {{"packing", Cost(c)}}; }
};

// The emptiest node and the emptiest GPU. Not published: for those who want load spread.
class SpreadPricing {
 public:
  explicit SpreadPricing(const PricingInput& input) : node_(input.node.compact) {}
  std::int64_t Rank(const Candidate& candidate) const { return -FreeAfter(candidate); }
  std::int64_t Cost(const Candidate& candidate) const;
  std::vector<CostTerm> Terms(const Candidate& c) const { return {{"fill_level", Cost(c)}}; }

 private:
  const CompactNode& node_;
};

// Least rise of fragmentation, rounded as GradientScale says. Of equal scores the first GPU.
class FgdPricing {
 public:
  explicit FgdPricing(const PricingInput& input);
  std::int64_t Rank(const Candidate& candidate) const { return Cost(candidate); }
  std::int64_t Cost(const Candidate& candidate) const;
  std::vector<CostTerm> Terms(const Candidate& c) const { return {{"fragmentation", Cost(c)}}; }

 private:
  const PricingInput& input_;
  NodeFragments fragments_;
  std::int64_t before_ = 0;
};

}  // namespace offcut::binpack
