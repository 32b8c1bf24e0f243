// `offcut simulate`, less the command line: pods arrive one by one at a cluster that holds nothing
// but what its files say, and the server's own decision code places them.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/decision_times.h"
#include "api/error.h"
#include "api/simulation_input.h"
#include "scheduler/arrival_curve.h"

namespace offcut::api {

// Pods leave again: see api/churn_simulation.h.
struct ChurnSettings {
  double load = 1;              // GPUs that they would hold if none was refused, of those there are
  std::string lives = "trace";  // as the trace says, where it does; or "exponential"
  int warm_up = 1;              // mean lives that are not counted
  int duration = 2;             // mean lives that are; positive
};

struct SimulateSettings {
  SimulationFiles files;
  std::string strategy = "best-fit";
  std::string ties = "strict";  // or "name", "random"
  std::uint64_t seed = 42;
  std::optional<ChurnSettings> churn;  // none: nobody leaves
  std::string output = "table";        // or "json", "csv"
};

struct SimulationReport {
  std::string strategy;
  std::string ties;
  std::uint64_t seed = 0;
  std::int64_t pods_before = 0;   // that held GPUs before the first one arrived
  std::int64_t units_before = 0;  // which they held; kGpuUnits a GPU
  std::int64_t arrived = 0;       // pods
  std::int64_t failed = 0;
  std::vector<std::pair<std::string, std::int64_t>> failed_by_class;  // those that failed, by name
  std::int64_t capacity_units = 0;                                    // kGpuUnits a GPU
  std::int64_t arrived_units = 0;
  std::int64_t used_units = 0;    // by all, those before among them
  std::int64_t closed_units = 0;  // that nobody can have
  scheduler::CurvePoint end;      // after the last pod
  scheduler::ArrivalCurve curve;
  DecisionTimes decisions;
};

// Called after every pod with how many of how many have arrived.
using Progress = std::function<void(std::size_t arrived, std::size_t all)>;

// Error: the strategy, ties or a cluster without GPUs. Only the times in it depend on a clock.
std::expected<SimulationReport, Error> RunSimulation(const SimulationInput& input,
                                                     const SimulateSettings& settings,
                                                     const Progress& progress);

// Reads the files, runs, prints. Progress goes to `err` where that is a terminal. Returns the exit
// code: 0; 1 where a file cannot be read.
int Simulate(const SimulateSettings& settings, std::ostream& out, std::ostream& err);

}  // namespace offcut::api
