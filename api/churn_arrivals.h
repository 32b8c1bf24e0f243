// Who comes to a cluster under churn, when, and until when it would stay.
//
// Arrivals are a Poisson process. Its rate is such that, if nobody were refused, pods would hold as
// many GPUs on average as `load` times those of the cluster. They find it as it would be after a
// long time without refusals: pods of that many lives are there at time 0, those that stay long in
// the proportion in which one meets them, each with what is left of its life.
// Whether a pod is placed changes nothing here, so that strategies meet the same pods.
// Units: the mean life of all rows is 1. Randomness comes by seed alone. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace offcut::api {

// One pod that may come, any number of times.
struct ChurnRow {
  std::int64_t units = 0;      // kGpuUnits a GPU
  std::optional<double> life;  // not below 0; none: exponential, with the mean of those known
};

struct Churn {
  double load = 1;           // positive
  double duration = 1;       // mean lives, from time 0
  bool is_in_order = false;  // rows come as listed, and again from the first; else by chance
  std::uint64_t seed = 0;
};

struct ChurnArrival {
  double at = 0;  // 0 for those that are there at the start
  double leaves_at = 0;
  std::size_t row = 0;
  bool operator==(const ChurnArrival&) const = default;
};

// Of the lives known; nullopt where none is.
std::optional<double> MeanLife(std::span<const ChurnRow> rows);

// Arrivals in a mean life, and as many are there at the start. 0: no row holds a GPU for any time,
// so that no rate makes a load.
double ArrivalRate(std::span<const ChurnRow> rows, double load, std::int64_t capacity_units);

// In the order of time. Equal arguments give equal arrivals. Requires: ArrivalRate() is positive.
std::vector<ChurnArrival> DrawChurn(std::span<const ChurnRow> rows, std::int64_t capacity_units,
                                    const Churn& churn);

}  // namespace offcut::api
