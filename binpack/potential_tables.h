// What the potential of a node (potential.h) reads: prices and counts that depend on the expected
// requests and on the capacity of each model alone. Made when either changes.
// Units: thousandths of a GPU ("milli"), thousandths of a CPU. Pure; immutable once made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "binpack/fragmentation.h"
#include "binpack/mig_prices.h"
#include "binpack/target_workload.h"

namespace offcut::binpack {

// How many GPUs of one model and product the cluster has.
struct GpuCapacity {
  Gpu gpu;  // of that kind, nothing taken
  std::int64_t count = 0;
  // Of the slices of those in MIG mode whose layout we choose, how many are in use; negative: none
  // is, and it needs no prices of layouts.
  int mig_fill_permille = -1;
};

// Whether both are of one model and product; models of one name, made for two nodes, are one.
bool IsOneModel(const Gpu& a, const Gpu& b);

constexpr std::int64_t MilliOf(std::int64_t units) { return units * 1000 / kGpuUnits; }

struct PotentialTables {
  static constexpr std::size_t kPercents = 101;  // 0..100 of a GPU
  static constexpr int kPercentUnits = kGpuUnits / 100;
  static constexpr std::int64_t kWeightsSum = 65'536;  // about what the classes' weights add up to
  static constexpr std::int64_t kCpuMilliMax = 10'000'000;  // beyond it every node has enough
  // What a CPU might be worth, in milli of a GPU: the cheapest of them bounds the best mix.
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
  // [percent free][class]: shares that the GPU of a fraction takes.
  std::vector<ByClass> fraction_copies;
  ByClass whole_copies{};  // likewise, a free whole GPU
  ByClass slot_copies{};   // 1: of this class one slot takes a share
  std::vector<ClassTable::InstanceClass> instances;

  struct Model {
    GpuCapacity capacity;
    ByClass serves{};                      // 1: pods of the class accept it
    std::vector<ByCpuPrice> best_mix;      // [percent free]: worth of the rest of a fraction's GPU
    ByCpuPrice whole_mix{};                // of a free whole GPU
    std::int64_t scarcity_permille = 0;    // of its capacity: demand that can go nowhere else
    std::shared_ptr<const MigPrices> mig;  // null: no layout has a price
    const MigPrices::Level* mig_level = nullptr;  // of them
  };
  std::vector<Model> models;  // the last one: any other

  const Model& Of(const Gpu& gpu) const;
};

// Takes the prices of MIG layouts from `before` where they are of the same model and weights: they
// are the one costly part.
PotentialTables MakePotentialTables(const TargetWorkload& workload,
                                    std::span<const GpuCapacity> capacities,
                                    const PotentialTables* before = nullptr);

}  // namespace offcut::binpack
