#include "api/simulate_command.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <ostream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include "api/simulation_report.h"
#include "binpack/strategy.h"
#include "scheduler/simulation.h"

namespace offcut::api {
namespace {

using Clock = std::chrono::steady_clock;

std::expected<scheduler::Ties, Error> TiesOf(std::string_view name) {
  if (name == "strict") return scheduler::Ties::kStrict;
  if (name == "name") return scheduler::Ties::kName;
  if (name == "random") return scheduler::Ties::kRandom;
  return std::unexpected(Error{ErrorKind::kBadRequest, fmt::format("no ties {}", name)});
}

std::expected<scheduler::Policy, Error> PolicyOf(const SimulateSettings& settings,
                                                 const SimulationInput& input) {
  const auto ties = TiesOf(settings.ties);
  if (!ties) return std::unexpected(ties.error());
  scheduler::Policy policy;
  policy.ties = *ties;
  policy.packing =
      binpack::PreparePacking(settings.strategy, {}, input.workload, settings.seed, input.outlook);
  if (policy.packing == nullptr) {
    return std::unexpected(
        Error{ErrorKind::kBadRequest, fmt::format("no strategy {}", settings.strategy)});
  }
  return policy;
}

// "share", "1 GPU", "8 GPUs", "1 x 1g.5gb": the classes by which failures are told.
std::string ClassOf(const binpack::ExpectedRequest& request) {
  switch (request.kind) {
    case binpack::DemandKind::kHostOnly:
      return "no GPU";
    case binpack::DemandKind::kShare:
      if (request.gpus == 1 && request.share_units < binpack::kGpuUnits) return "share";
      return fmt::format("{} GPU{}", request.gpus, request.gpus == 1 ? "" : "s");
    case binpack::DemandKind::kSlot:
      return fmt::format("{} slot{}", request.gpus, request.gpus == 1 ? "" : "s");
    case binpack::DemandKind::kInstance:
      return fmt::format("{} x {}", request.gpus, request.profile);
  }
  return {};
}

scheduler::ArrivalRecord RecordOf(const scheduler::ClusterTotals& totals,
                                  std::int64_t arrived_units, std::int64_t workload_count) {
  return {.arrived_units = arrived_units,
          .used_units = totals.used_units,
          .capacity_units = totals.capacity_units,
          .fragmented_units = workload_count == 0 ? 0
                                                  : static_cast<double>(totals.weighted_fragments) /
                                                        static_cast<double>(workload_count),
          .free_units = totals.free_units};
}

scheduler::CurvePoint PointOf(const scheduler::ArrivalRecord& record) {
  scheduler::ArrivalCurve one;
  one.Add({.arrived_units = 0,
           .used_units = record.used_units,
           .capacity_units = record.capacity_units,
           .fragmented_units = record.fragmented_units,
           .free_units = record.free_units});
  return *one.At(0);
}

}  // namespace

std::expected<SimulationReport, Error> RunSimulation(const SimulationInput& input,
                                                     const SimulateSettings& settings,
                                                     const Progress& progress) {
  const auto policy = PolicyOf(settings, input);
  if (!policy) return std::unexpected(policy.error());
  scheduler::Simulation simulation(input.start, *policy);
  if (simulation.totals().capacity_units == 0) {
    return std::unexpected(Error{ErrorKind::kBadRequest, "the nodes have no GPU"});
  }
  SimulationReport report{
      .strategy = settings.strategy, .ties = settings.ties, .seed = settings.seed};
  std::map<std::string, std::int64_t> failed_by_class;
  scheduler::ArrivalRecord record;
  for (const std::size_t index : input.order) {
    const SimulatedPod& arriving = input.pods[index];
    scheduler::Pod pod = arriving.pod;
    pod.uid += fmt::format("#{}", report.arrived++);  // rows of the trace may come again
    const auto start = Clock::now();
    const bool is_placed = !simulation.Arrive(pod).empty();
    const std::chrono::duration<double> passed = Clock::now() - start;
    report.seconds += passed.count();
    report.slowest_decision_us = std::max(report.slowest_decision_us, passed.count() * 1e6);
    if (!is_placed) {
      ++report.failed;
      ++failed_by_class[ClassOf(arriving.demand.request)];
    }
    report.arrived_units += arriving.demand.units;
    record =
        RecordOf(simulation.totals(), report.arrived_units, policy->packing->classes.total_count);
    report.curve.Add(record);
    progress(static_cast<std::size_t>(report.arrived), input.order.size());
  }
  report.failed_by_class.assign(failed_by_class.begin(), failed_by_class.end());
  report.capacity_units = simulation.totals().capacity_units;
  report.used_units = simulation.totals().used_units;
  report.end = PointOf(
      RecordOf(simulation.totals(), report.arrived_units, policy->packing->classes.total_count));
  return report;
}

int Simulate(const SimulateSettings& settings, std::ostream& out, std::ostream& err) {
  const auto input = ReadSimulationInput(
      settings.files, [&](std::string_view line) { fmt::print(err, "offcut: {}\n", line); });
  if (!input) {
    fmt::print(err, "offcut: {}\n", input.error().message);
    return 1;
  }
  constexpr std::size_t step = 500;
  const bool shows_progress = isatty(STDERR_FILENO) == 1;
  const auto report = RunSimulation(*input, settings, [&](std::size_t arrived, std::size_t all) {
    if (!shows_progress || (arrived % step != 0 && arrived != all)) return;
    fmt::print(err, "\r{} of {} pods{}", arrived, all, arrived == all ? "\n" : "");
    err.flush();
  });
  if (!report) {
    fmt::print(err, "offcut: {}\n", report.error().message);
    return 1;
  }
  out << PrintReport(*report, settings.output);
  return 0;
}

}  // namespace offcut::api
