#include "api/simulation_report.h"

#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "binpack/node_state.h"

namespace offcut::api {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kTableStep = 10;  // percent of arrived load between two lines of the table
constexpr int kTableFrom = 50;

double Rounded(double value) { return std::round(value * 1000) / 1000; }

double Gpus(std::int64_t units) { return static_cast<double>(units) / binpack::kGpuUnits; }

Json ToJson(const scheduler::CurvePoint& point) {
  return {{"allocated_percent", Rounded(point.allocated_percent)},
          {"fragmentation_percent", Rounded(point.fragmentation_percent)},
          {"fragmentation_rate_percent", Rounded(point.fragmentation_rate_percent)}};
}

std::string PrintJson(const SimulationReport& report) {
  Json out;
  out["strategy"] = report.strategy;
  out["ties"] = report.ties;
  out["seed"] = report.seed;
  out["arrived"] = report.arrived;
  out["allocated"] = report.arrived - report.failed;
  out["failed_pods"] = report.failed;
  out["failed_by_class"] = Json::object();
  for (const auto& [name, count] : report.failed_by_class) out["failed_by_class"][name] = count;
  out["gpus"] = Rounded(Gpus(report.capacity_units));
  out["arrived_gpus"] = Rounded(Gpus(report.arrived_units));
  out["allocated_gpus"] = Rounded(Gpus(report.used_units));
  out["unallocated_percent"] = Rounded(100 - report.end.allocated_percent);
  out["end"] = ToJson(report.end);
  out["at"] = Json::object();
  for (const int percent : report.curve.Percentages()) {
    out["at"][std::to_string(percent)] = ToJson(*report.curve.At(percent));
  }
  out["seconds"] = Rounded(report.decisions.seconds);
  out["decision_us"] = {{"mean", Rounded(report.decisions.MeanUs())},
                        {"max", Rounded(report.decisions.slowest_us)}};
  return out.dump(2) + "\n";
}

std::string PrintCsv(const SimulationReport& report) {
  std::string text =
      "strategy,seed,arrived_percent,allocated_percent,fragmentation_percent,"
      "fragmentation_rate_percent\n";
  for (const int percent : report.curve.Percentages()) {
    const auto point = *report.curve.At(percent);
    fmt::format_to(std::back_inserter(text), "{},{},{},{:.3f},{:.3f},{:.3f}\n", report.strategy,
                   report.seed, percent, point.allocated_percent, point.fragmentation_percent,
                   point.fragmentation_rate_percent);
  }
  return text;
}

std::string PrintTable(const SimulationReport& report) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "strategy      {}, ties {}, seed {}\n", report.strategy, report.ties,
                 report.seed);
  fmt::format_to(out, "arrived       {} pods, {:.1f} of {:.0f} GPUs\n", report.arrived,
                 Gpus(report.arrived_units), Gpus(report.capacity_units));
  fmt::format_to(out, "allocated     {} pods, {:.1f} GPUs; unallocated {:.2f} %\n",
                 report.arrived - report.failed, Gpus(report.used_units),
                 100 - report.end.allocated_percent);
  fmt::format_to(out, "fragmented    {:.2f} % of the GPUs, {:.1f} % of what is free\n",
                 report.end.fragmentation_percent, report.end.fragmentation_rate_percent);
  fmt::format_to(out, "failed        {} pods", report.failed);
  std::string_view before = ": ";
  for (const auto& [name, count] : report.failed_by_class) {
    fmt::format_to(out, "{}{} {}", before, count, name);
    before = ", ";
  }
  fmt::format_to(out, "\ndecisions     {:.1f} s, {:.0f} us each, {:.0f} us at most\n\n",
                 report.decisions.seconds, report.decisions.MeanUs(), report.decisions.slowest_us);
  text += "ARRIVED %  ALLOCATED %  FRAGMENTED %  OF FREE %\n";
  for (const int percent : report.curve.Percentages()) {
    if (percent < kTableFrom || percent % kTableStep != 0) continue;
    const auto point = *report.curve.At(percent);
    fmt::format_to(out, "{:>9}  {:>11.2f}  {:>12.2f}  {:>9.1f}\n", percent, point.allocated_percent,
                   point.fragmentation_percent, point.fragmentation_rate_percent);
  }
  return text;
}

}  // namespace

std::string PrintReport(const SimulationReport& report, std::string_view output) {
  if (output == "json") return PrintJson(report);
  return output == "csv" ? PrintCsv(report) : PrintTable(report);
}

}  // namespace offcut::api
