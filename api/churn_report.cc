#include "api/churn_report.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/number_text.h"
#include "api/simulation_report.h"
#include "binpack/node_state.h"
#include "scheduler/demand.h"

namespace offcut::api {
namespace {

using Json = nlohmann::ordered_json;
using scheduler::CurvePoint;
using scheduler::Period;

constexpr std::size_t kTableLines = 10;  // about as many periods are shown

double Rounded(double value) { return std::round(value * 1000) / 1000; }

double Gpus(std::int64_t units) { return static_cast<double>(units) / binpack::kGpuUnits; }

double AcceptedPercent(std::int64_t arrived, std::int64_t failed) {
  return arrived == 0 ? 100
                      : 100 * static_cast<double>(arrived - failed) / static_cast<double>(arrived);
}

double AcceptedPodsPercent(const Period& period) {
  return AcceptedPercent(period.arrived, period.failed);
}

double AcceptedGpusPercent(const Period& period) {
  return AcceptedPercent(period.arrived_units, period.failed_units);
}

// The end of period i, in percent of a mean life.
std::size_t EndPercent(std::size_t i) { return (i + 1) * kPeriodPercent; }

void AddFigures(const Period& period, Json& out) {
  const CurvePoint mean = period.Mean();
  out["arrived"] = period.arrived;
  out["failed_pods"] = period.failed;
  out["accepted_percent"] = Rounded(AcceptedPodsPercent(period));
  out["arrived_gpus"] = Rounded(Gpus(period.arrived_units));
  out["accepted_gpus"] = Rounded(Gpus(period.arrived_units - period.failed_units));
  out["accepted_gpus_percent"] = Rounded(AcceptedGpusPercent(period));
  out["allocated_percent"] = Rounded(mean.allocated_percent);
  out["fragmentation_percent"] = Rounded(mean.fragmentation_percent);
  out["fragmentation_rate_percent"] = Rounded(mean.fragmentation_rate_percent);
}

std::string PrintJson(const ChurnReport& report) {
  Json out;
  out["strategy"] = report.strategy;
  out["ties"] = report.ties;
  out["seed"] = report.seed;
  out["load"] = report.churn.load;
  out["lives"] = report.lives;
  out["mean_life_s"] = report.mean_life_s ? Json(Rounded(*report.mean_life_s)) : Json();
  out["warm_up"] = report.churn.warm_up;
  out["duration"] = report.churn.duration;
  out["pods_before"] = report.pods_before;
  out["gpus_before"] = Rounded(Gpus(report.units_before));
  out["there_at_start"] = report.there_at_start;
  out["refused_at_start"] = report.refused_at_start;
  out["gpus"] = Rounded(Gpus(report.capacity_units));
  out["closed_gpus"] = Rounded(Gpus(report.closed_units));
  AddFigures(report.counted, out);
  out["arrived_by_class"] = Json::object();
  out["failed_by_class"] = Json::object();
  for (const auto& [name, counts] : report.classes) {
    out["arrived_by_class"][name] = counts.arrived;
    if (counts.failed > 0) out["failed_by_class"][name] = counts.failed;
  }
  out["at"] = Json::object();
  const auto& periods = report.curve.periods();
  for (std::size_t i = 0; i < periods.size(); ++i) {
    AddFigures(periods[i], out["at"][std::to_string(EndPercent(i))]);
  }
  out["seconds"] = Rounded(report.decisions.seconds);
  out["decision_us"] = {{"mean", Rounded(report.decisions.MeanUs())},
                        {"max", Rounded(report.decisions.slowest_us)}};
  return out.dump(2) + "\n";
}

std::string PrintCsv(const ChurnReport& report) {
  std::string text =
      "strategy,seed,load,life_percent,arrived,failed_pods,accepted_percent,arrived_gpus,"
      "accepted_gpus_percent,allocated_percent,fragmentation_percent,"
      "fragmentation_rate_percent\n";
  const auto& periods = report.curve.periods();
  for (std::size_t i = 0; i < periods.size(); ++i) {
    const Period& period = periods[i];
    const CurvePoint mean = period.Mean();
    fmt::format_to(std::back_inserter(text),
                   "{},{},{},{},{},{},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f}\n", report.strategy,
                   report.seed, report.churn.load, EndPercent(i), period.arrived, period.failed,
                   AcceptedPodsPercent(period), Gpus(period.arrived_units),
                   AcceptedGpusPercent(period), mean.allocated_percent, mean.fragmentation_percent,
                   mean.fragmentation_rate_percent);
  }
  return text;
}

std::string LivesText(const ChurnReport& report) {
  if (!report.mean_life_s) return "exponential";
  return fmt::format("{}, {:.0f} s on average", report.lives, *report.mean_life_s);
}

std::string PrintTable(const ChurnReport& report) {
  std::string text;
  const auto out = std::back_inserter(text);
  const Period& counted = report.counted;
  const CurvePoint mean = counted.Mean();
  fmt::format_to(out, "strategy      {}, ties {}, seed {}\n", report.strategy, report.ties,
                 report.seed);
  fmt::format_to(out, "load          {} of {}, {} mean {} after a warm-up of {}\n",
                 report.churn.load, NumberOf(std::llround(Gpus(report.capacity_units)), "GPU"),
                 report.churn.duration, report.churn.duration == 1 ? "life" : "lives",
                 report.churn.warm_up);
  fmt::format_to(out, "lives         {}\n", LivesText(report));
  if (report.pods_before > 0) {
    fmt::format_to(out, "before        {}, on {:.1f} GPUs, which never leave\n",
                   NumberOf(report.pods_before, "pod"), Gpus(report.units_before));
  }
  fmt::format_to(out, "arrived       {}, asking for {:.1f} GPUs\n",
                 NumberOf(counted.arrived, "pod"), Gpus(counted.arrived_units));
  fmt::format_to(out,
                 "accepted      {:.2f} % of the pods, {:.2f} % of the GPUs that they ask for\n",
                 AcceptedPodsPercent(counted), AcceptedGpusPercent(counted));
  fmt::format_to(out, "allocated     {:.2f} % of the GPUs on average\n", mean.allocated_percent);
  text += ClosedLine(report.closed_units);
  fmt::format_to(out, "fragmented    {:.2f} % of the GPUs, {:.1f} % of what is free\n",
                 mean.fragmentation_percent, mean.fragmentation_rate_percent);
  fmt::format_to(out, "failed        {}", NumberOf(counted.failed, "pod"));
  std::string_view before = ": ";
  for (const auto& [name, counts] : report.classes) {
    if (counts.failed == 0) continue;
    fmt::format_to(out, "{}{} ({} of {})", before, name, counts.failed, counts.arrived);
    before = ", ";
  }
  text += "\n";
  if (report.classes.contains(std::string(scheduler::kUnplaceable))) text += kUnplaceableLine;
  fmt::format_to(out, "decisions     {:.1f} s, {:.0f} us each, {:.0f} us at most\n\n",
                 report.decisions.seconds, report.decisions.MeanUs(), report.decisions.slowest_us);
  text += "MEAN LIVES  ACCEPTED %  OF GPUS %  ALLOCATED %  FRAGMENTED %  OF FREE %\n";
  const auto& periods = report.curve.periods();
  const std::size_t step = std::max<std::size_t>(1, periods.size() / kTableLines);
  for (std::size_t i = step - 1; i < periods.size(); i += step) {
    const CurvePoint point = periods[i].Mean();
    fmt::format_to(out, "{:>10.1f}  {:>10.2f}  {:>9.2f}  {:>11.2f}  {:>12.2f}  {:>9.1f}\n",
                   static_cast<double>(EndPercent(i)) / 100, AcceptedPodsPercent(periods[i]),
                   AcceptedGpusPercent(periods[i]), point.allocated_percent,
                   point.fragmentation_percent, point.fragmentation_rate_percent);
  }
  return text;
}

}  // namespace

std::string PrintChurnReport(const ChurnReport& report, std::string_view output) {
  if (output == "json") return PrintJson(report);
  return output == "csv" ? PrintCsv(report) : PrintTable(report);
}

}  // namespace offcut::api
