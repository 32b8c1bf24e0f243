// What of a node's free capacity the expected pods will not be able to use: the potential that the
// strategy `offcut` keeps low. Two estimates of what can still be used, and their weighted sum:
//   the best mix   the free GPUs cut up as the prices of the cutting-stock program say, with a
//   price
//                  for CPU beside them (a Lagrangian bound: the cheapest of some prices of CPU)
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
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "binpack/candidate.h"
#include "binpack/fragmentation.h"
#include "binpack/target_workload.h"

namespace offcut::binpack {

// How many GPUs of one model and product the cluster has.
struct GpuCapacity {
  Gpu gpu;  // of that kind, nothing taken
  std::int64_t count = 0;
};

struct PotentialTables {
  static constexpr std::size_t kPercents = 101;  // 0..100 of a GPU
  // What a CPU might be worth, in milli of a GPU. Source: as the bench found; 384 is beyond what a
  // CPU of any published trace is worth, and steps of a third do not matter.
  static constexpr std::array<std::int64_t, 12> kCpuPrices = {0,  8,  16,  24,  32,  48,
                                                              64, 96, 128, 192, 256, 384};
  using ByClass = std::array<std::uint8_t, kWorkloadClassesMax>;
  using ByCpuPrice = std::array<std::int32_t, kCpuPrices.size()>;

  // Of the classes that ask for devices.
  std::size_t size = 0;
  std::array<std::int64_t, kWorkloadClassesMax> value{};  // weight times milli of one copy
  std::array<std::uint32_t, kWorkloadClassesMax> cpu_milli{};
  std::array<std::int32_t, kWorkloadClassesMax> gpus{};  // at once
  std::int64_t weight = 0;                               // of all
  std::vector<ByClass>
      fraction_copies;     // [percent free][class]: shares that a fraction's GPU takes
  ByClass whole_copies{};  // likewise, a free whole GPU
  ByClass slot_copies{};   // 1: of this class one slot takes a share
  std::vector<ClassTable::InstanceClass> instances;

  struct Model {
    GpuCapacity capacity;
    ByClass serves{};                    // 1: pods of the class accept it
    std::vector<ByCpuPrice> best_mix;    // [percent free]: worth of the rest of a fraction's GPU
    ByCpuPrice whole_mix{};              // of a free whole GPU
    std::int64_t scarcity_permille = 0;  // of its capacity: demand that can go nowhere else
  };
  std::vector<Model> models;  // the last one: any other

  const Model& Of(const Gpu& gpu) const;
};

PotentialTables MakePotentialTables(const TargetWorkload& workload,
                                    std::span<const GpuCapacity> capacities);

// The potential of one node, kept so that a changed GPU costs one pass over the classes.
class NodePotential {
 public:
  // In kUnit parts of a milli.
  static constexpr std::int64_t kUnit = std::int64_t{20} * 65'536;

  // All outlive the object.
  NodePotential(const PotentialTables& tables, const NodeView& node);

  std::int64_t Value() const;
  std::int64_t ValueAfter(std::span<const GpuChange> changes, std::int64_t free_cpu_milli) const;

  // What the taken milli cost because their models are scarce; in kUnit parts of a milli.
  std::int64_t ScarcityOf(std::span<const GpuChange> changes) const;

 private:
  struct Sums {
    std::int64_t free_milli = 0;
    std::int64_t mixed_milli = 0;  // of them, those that the best mix prices
    std::array<std::int64_t, PotentialTables::kCpuPrices.size()> mix{};
    std::array<std::int32_t, kWorkloadClassesMax> copies{};  // without regard to CPU
  };

  void Add(std::size_t gpu, const CompactGpu& state, std::int32_t sign, Sums& sums) const;
  void AddInstances(std::size_t gpu, const CompactGpu& state, std::int32_t sign, Sums& sums) const;
  std::int64_t Weighted(const Sums& sums, std::int64_t free_cpu_milli) const;

  const PotentialTables& tables_;
  const NodeView node_;
  std::vector<const PotentialTables::Model*> models_;  // by GPU
  Sums sums_;
};

}  // namespace offcut::binpack
