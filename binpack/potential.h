// What of a node's free capacity the expected pods will not be able to use: the potential that the
// strategy `offcut` keeps low. Two estimates of what can still be used, and their weighted sum:
//   the best mix   the free GPUs cut up as the prices of the cutting-stock program say, with a
//   price
//                  for CPU beside them (a Lagrangian bound: the cheapest of some prices of CPU)
//   MIG layouts    where we choose them, are priced by tables of their own (mig_prices.h) instead
//   copies         as many pods of one class as fit, averaged over the classes; a class counts more
//                  the scarcer the GPUs are that it may use, and the more GPUs it wants at once
// The first sees which sizes share a GPU well, the second CPU that runs out, whole nodes, and kinds
// of devices that have no sizes. Beside it a unit of a scarce model costs something by itself:
// otherwise pods that could go anywhere would sit on it.
// The potential of a cluster is the sum over its nodes: a function of their states, of the workload
// and of the models' capacities alone.
// Units: thousandths of a GPU ("milli"), thousandths of a CPU. Pure; tables are immutable once
// made.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "binpack/candidate.h"
#include "binpack/potential_tables.h"

namespace offcut::binpack {

// The potential of one node, kept so that a changed GPU costs one pass over the classes.
class NodePotential {
 public:
  // How much the best mix weighs against copies. Source: a search on a part of the traces; the
  // results stand in bench/README.md.
  static constexpr std::int64_t kMixWeight = 20;
  // Values are in parts of a milli that the best mix cannot use: so many make one.
  static constexpr std::int64_t kUnit = kMixWeight * PotentialTables::kWeightsSum;

  // All outlive the object.
  NodePotential(const PotentialTables& tables, const NodeView& node);

  std::int64_t Value() const;
  std::int64_t ValueAfter(const Candidate& candidate, std::int64_t free_cpu_milli) const;

  // What the taken milli cost because their models are scarce; in kUnit parts of a milli.
  std::int64_t ScarcityOf(std::span<const GpuChange> changes) const;

 private:
  struct Sums {
    std::int64_t free_milli = 0;
    std::int64_t mixed_milli = 0;  // of them, those that the best mix prices
    std::int64_t missed = 0;       // by the prices of MIG layouts: millionths of a GPU
    std::array<std::int64_t, PotentialTables::kCpuPrices.size()> mix{};
    std::array<std::int32_t, kWorkloadClassesMax> copies{};  // without regard to CPU
  };

  void Add(std::size_t gpu, const CompactGpu& state, std::int32_t sign, Sums& sums) const;
  void AddInstances(std::size_t gpu, const CompactGpu& state, std::int32_t sign, Sums& sums) const;
  void AddPool(std::size_t pool, std::int32_t units, Sums& sums) const;
  std::int64_t Weighted(const Sums& sums, std::int64_t free_cpu_milli) const;

  const PotentialTables& tables_;
  const NodeView node_;
  std::vector<const PotentialTables::Model*> models_;  // by GPU
  Sums sums_;
};

}  // namespace offcut::binpack
