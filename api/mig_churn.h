// A cluster of GPUs in MIG mode under churn: pods that each ask for one instance arrive, stay, and
// leave; one that finds no room is lost for good. How many are accepted is what strategies for MIG
// are compared by.
//
// Arrivals are a Poisson process, lives exponential with mean 1. GPUs start empty, so the first
// quarter of the arrivals is not counted. Strategies are compared on the same arrivals and lives.
// Units: mean lives; loads in thousandths of the slices there are. Randomness comes by seed alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "binpack/mig_table.h"

namespace offcut::api {

struct MigChurn {
  const binpack::GpuModel* model = nullptr;
  binpack::ProfileWeights weights;  // of arrivals
  int gpus = 100;
  int load_permille = 1000;  // arriving slices by mean life, of the slices of all GPUs
  int arrivals = 12'000;
  std::uint64_t seed = 1;
};

struct MigArrival {
  double at = 0;
  double life = 0;
  int profile = 0;  // index in the model's profiles
  bool operator==(const MigArrival&) const = default;
};

// In the order of time. Equal seeds give equal arrivals.
std::vector<MigArrival> DrawArrivals(const MigChurn& churn);

// Element i counts pods of the model's profile i, those of the first quarter left out.
struct MigChurnCounts {
  std::vector<std::int64_t> arrived;
  std::vector<std::int64_t> accepted;
  bool operator==(const MigChurnCounts&) const = default;
};

// Requires: `layouts` are of the churn's model, and know the profiles that arrive; the strategy is
// one over these layouts.
MigChurnCounts RunMigChurn(const MigChurn& churn, std::span<const MigArrival> arrivals,
                           const binpack::MigLayouts& layouts,
                           const binpack::MigStrategy& strategy);

// Percent of the pods that were accepted; of their slices; 100 where none arrived.
double AcceptedPercent(const MigChurnCounts& counts);
double AcceptedSlicesPercent(const MigChurnCounts& counts, const binpack::GpuModel& model);

}  // namespace offcut::api
