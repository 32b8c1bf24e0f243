// `offcut simulate --load`: pods arrive at a cluster and leave it again. One that finds no room is
// refused at once and is lost: it never waits. One that leaves gives back all that it held.
//
// Who comes and when is api/churn_arrivals.h's. The pods that are there at the start are
// placed in the order drawn and count for nothing, nor does the warm-up.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/decision_times.h"
#include "api/simulate_command.h"
#include "scheduler/time_curve.h"

namespace offcut::api {

inline constexpr int kPeriodPercent = 10;  // of a mean life: a point of the curve

struct ClassCounts {
  std::int64_t arrived = 0;
  std::int64_t failed = 0;
  bool operator==(const ClassCounts&) const = default;
};

// Pods are counted after the warm-up.
struct ChurnReport {
  std::string strategy;
  std::string ties;
  std::uint64_t seed = 0;
  ChurnSettings churn;
  std::string_view lives;             // "trace", "exponential", or "mixed": some of the trace
  std::optional<double> mean_life_s;  // of the trace's
  std::int64_t there_at_start = 0;    // pods that were
  std::int64_t refused_at_start = 0;  // of them
  std::int64_t pods_before = 0;       // that hold GPUs before all others, and stay
  std::int64_t units_before = 0;      // which they hold
  std::int64_t capacity_units = 0;    // kGpuUnits a GPU
  std::int64_t closed_units = 0;      // that nobody can have
  scheduler::Period counted;
  std::map<std::string, ClassCounts> classes;  // that arrived, by name
  scheduler::TimeCurve curve{kPeriodPercent};  // percent of a mean life
  DecisionTimes decisions;
};

// Requires: settings.churn. Error: the strategy, ties, a cluster without GPUs, no pod that makes a
// load, or more arrivals than kArrivalsMax. Only the times in it depend on a clock.
std::expected<ChurnReport, Error> RunChurn(const SimulationInput& input,
                                           const SimulateSettings& settings,
                                           const Progress& progress);

}  // namespace offcut::api
