#include "api/simulate_command.h"

#include <map>
#include <ostream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <unistd.h>

#include "api/churn_report.h"
#include "api/churn_simulation.h"
#include "api/printable.h"
#include "api/simulation_policy.h"
#include "api/simulation_report.h"
#include "scheduler/demand.h"
#include "scheduler/simulation.h"

namespace offcut::api {
namespace {

scheduler::ArrivalRecord RecordOf(const scheduler::ClusterTotals& totals,
                                  std::int64_t arrived_units, std::int64_t requests) {
  return {.arrived_units = arrived_units,
          .used_units = totals.used_units,
          .capacity_units = totals.capacity_units,
          .fragmented_units = scheduler::FragmentedUnits(totals, requests),
          .free_units = totals.free_units};
}

}  // namespace

std::expected<SimulationReport, Error> RunSimulation(const SimulationInput& input,
                                                     const SimulateSettings& settings,
                                                     const Progress& progress) {
  const auto policy = SimulationPolicy(settings.strategy, settings.ties, settings.seed, input);
  if (!policy) return std::unexpected(policy.error());
  scheduler::Simulation simulation(input.start, *policy);
  if (simulation.totals().capacity_units == 0) {
    return std::unexpected(Error{ErrorKind::kBadRequest, "the nodes have no GPU"});
  }
  SimulationReport report{.strategy = settings.strategy,
                          .ties = settings.ties,
                          .seed = settings.seed,
                          .pods_before = scheduler::CountHolders(input.start),
                          .units_before = simulation.totals().used_units};
  std::map<std::string, std::int64_t> failed_by_class;
  const std::int64_t requests = policy->packing->classes.total_count;
  for (const std::size_t index : input.order) {
    const SimulatedPod& arriving = input.pods[index];
    scheduler::Pod pod = arriving.pod;
    pod.uid += fmt::format("#{}", report.arrived++);  // rows of the trace may come again
    const bool is_placed =
        report.decisions.Measure([&] { return !simulation.Arrive(pod).empty(); });
    if (!is_placed) {
      ++report.failed;
      ++failed_by_class[scheduler::ClassNameOf(arriving.demand)];
    }
    report.arrived_units += arriving.demand.units;
    report.curve.Add(RecordOf(simulation.totals(), report.arrived_units, requests));
    progress(static_cast<std::size_t>(report.arrived), input.order.size());
  }
  report.failed_by_class.assign(failed_by_class.begin(), failed_by_class.end());
  report.capacity_units = simulation.totals().capacity_units;
  report.used_units = simulation.totals().used_units;
  report.closed_units = simulation.totals().closed_units();
  report.end = PointOf(simulation.totals(), requests);
  return report;
}

int Simulate(const SimulateSettings& settings, std::ostream& out, std::ostream& err) {
  const auto fail = [&](const Error& error) {
    fmt::print(err, "offcut: {}\n", PrintableLines(error.message));
    return 1;
  };
  const auto input = ReadSimulationInput(settings.files, [&](std::string_view line) {
    fmt::print(err, "offcut: {}\n", Printable(line));
  });
  if (!input) return fail(input.error());
  constexpr std::size_t step = 500;
  const bool shows_progress = isatty(STDERR_FILENO) == 1;
  const Progress progress = [&](std::size_t arrived, std::size_t all) {
    if (!shows_progress || (arrived % step != 0 && arrived != all)) return;
    fmt::print(err, "\r{} of {} pods{}", arrived, all, arrived == all ? "\n" : "");
    err.flush();
  };
  if (settings.churn) {
    const auto report = RunChurn(*input, settings, progress);
    if (!report) return fail(report.error());
    out << PrintChurnReport(*report, settings.output);
    return 0;
  }
  const auto report = RunSimulation(*input, settings, progress);
  if (!report) return fail(report.error());
  out << PrintReport(*report, settings.output);
  return 0;
}

}  // namespace offcut::api
