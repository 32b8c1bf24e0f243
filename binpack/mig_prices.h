// What the layouts of one model's GPUs in MIG mode cost the future, for the strategy `offcut`: the
// potentials of mig_mean_field.h, in parts of a GPU, so that they add up with those of other GPUs.
//
// A layout is told by which slices are used and where instances start. Media engines are left out:
// an instance that has some stands for the plain one on its slices.
// Units: millionths of a GPU. Pure; immutable once made.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "binpack/compact_node.h"
#include "binpack/gpu_model.h"
#include "binpack/mig_potential.h"

namespace offcut::binpack {

struct MigPrices {
  struct Level {
    int fill_permille = 0;  // of the slices that are in use at that load
    std::unordered_map<std::uint32_t, std::int64_t> unusable;  // by layout
  };

  std::shared_ptr<const GpuModel> model;
  ProfileWeights weights;
  std::vector<Level> levels;  // ascending

  // The level for a cluster that is so full: the nearest; the lower one of two.
  const Level& At(int fill_permille) const;
};

// What of the GPU, which is in MIG mode, will be missed; 0 for an empty one.
std::int64_t UnusableOf(const MigPrices::Level& level, const CompactGpu& gpu);

// Some 10 ms a level for a part of seven slices.
// Requires: the model has MIG; weights as ProfileWeights has them.
MigPrices MakeMigPrices(std::shared_ptr<const GpuModel> model, ProfileWeights weights);

}  // namespace offcut::binpack
