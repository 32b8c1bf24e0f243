// `offcut simulate`, less the command line: pods arrive one by one at a cluster that holds nothing
// but what its files say, and the server's own decision code places them.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "api/error.h"
#include "api/simulation_input.h"
#include "scheduler/arrival_curve.h"
#include "scheduler/policy.h"

namespace offcut::api {

struct SimulateSettings {
  SimulationFiles files;
  std::string strategy = "best-fit";
  std::string ties = "strict";  // or "name", "random"
  std::uint64_t seed = 42;
  std::string output = "table";  // or "json", "csv"
};

struct SimulationReport {
  std::string strategy;
  std::string ties;
  std::uint64_t seed = 0;
  std::int64_t arrived = 0;  // pods
  std::int64_t failed = 0;
  std::vector<std::pair<std::string, std::int64_t>> failed_by_class;  // those that failed, by name
  std::int64_t capacity_units = 0;                                    // kGpuUnits a GPU
  std::int64_t arrived_units = 0;
  std::int64_t used_units = 0;
  scheduler::CurvePoint end;  // after the last pod
  scheduler::ArrivalCurve curve;
  double seconds = 0;  // of decisions, reservations included
  double slowest_decision_us = 0;
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
