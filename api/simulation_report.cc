#include "api/simulation_report.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api/number_text.h"
#include "binpack/node_state.h"
#include "scheduler/demand.h"

namespace offcut::api {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kTableStep = 10;  // percent of arrived load between two lines of the table
constexpr int kTableLinesMost = 30;

double Rounded(double value) { return std::round(value * 1000) / 1000; }

double Gpus(std::int64_t units) { return static_cast<double>(units) / binpack::kGpuUnits; }

// "1 GPU", "6212 GPUs": to the nearest.
std::string GpusText(std::int64_t units) { return NumberOf(std::llround(Gpus(units)), "GPU"); }

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
  out["pods_before"] = report.pods_before;
  out["gpus_before"] = Rounded(Gpus(report.units_before));
  out["arrived"] = report.arrived;
  out["placed"] = report.arrived - report.failed;
  out["failed_pods"] = report.failed;
  out["failed_by_class"] = Json::object();
  for (const auto& [name, count] : report.failed_by_class) out["failed_by_class"][name] = count;
  out["gpus"] = Rounded(Gpus(report.capacity_units));
  out["arrived_gpus"] = Rounded(Gpus(report.arrived_units));
  out["placed_gpus"] = Rounded(Gpus(report.used_units - report.units_before));
  out["allocated_gpus"] = Rounded(Gpus(report.used_units));
  out["closed_gpus"] = Rounded(Gpus(report.closed_units));
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

// The percentages with a record, which ascend; of many the first of each step, and the last of all.
std::vector<int> TableLines(const std::vector<int>& percentages) {
  if (std::ssize(percentages) <= kTableLinesMost) return percentages;
  std::vector<int> lines;
  const int steps = percentages.back() / kTableStep + 1;
  const int step = kTableStep * ((steps + kTableLinesMost - 1) / kTableLinesMost);
  for (const int percent : percentages) {
    if (lines.empty() || percent / step != lines.back() / step) lines.push_back(percent);
  }
  if (lines.back() != percentages.back()) lines.push_back(percentages.back());
  return lines;
}

std::string PrintTable(const SimulationReport& report) {
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "strategy      {}, ties {}, seed {}\n", report.strategy, report.ties,
                 report.seed);
  if (report.pods_before > 0) {
    fmt::format_to(out, "before        {}, on {:.1f} GPUs\n", NumberOf(report.pods_before, "pod"),
                   Gpus(report.units_before));
  }
  fmt::format_to(out, "arrived       {}, asking for {:.1f} GPUs\n", NumberOf(report.arrived, "pod"),
                 Gpus(report.arrived_units));
  fmt::format_to(out, "placed        {}, on {:.1f} GPUs\n",
                 NumberOf(report.arrived - report.failed, "pod"),
                 Gpus(report.used_units - report.units_before));
  fmt::format_to(out, "failed        {}", NumberOf(report.failed, "pod"));
  std::string_view before = ": ";
  for (const auto& [name, count] : report.failed_by_class) {
    fmt::format_to(out, "{}{} ({})", before, name, count);
    before = ", ";
  }
  text += "\n";
  if (std::ranges::any_of(report.failed_by_class,
                          [](const auto& each) { return each.first == scheduler::kUnplaceable; })) {
    text += kUnplaceableLine;
  }
  fmt::format_to(out, "allocated     {:.1f} of {}; unallocated {:.2f} %\n", Gpus(report.used_units),
                 GpusText(report.capacity_units), 100 - report.end.allocated_percent);
  text += ClosedLine(report.closed_units);
  fmt::format_to(out, "fragmented    {:.2f} % of the GPUs, {:.1f} % of what is free\n",
                 report.end.fragmentation_percent, report.end.fragmentation_rate_percent);
  fmt::format_to(out, "decisions     {:.1f} s, {:.0f} us each, {:.0f} us at most\n\n",
                 report.decisions.seconds, report.decisions.MeanUs(), report.decisions.slowest_us);
  text += "ARRIVED %  ALLOCATED %  FRAGMENTED %  OF FREE %\n";
  for (const int percent : TableLines(report.curve.Percentages())) {
    const auto point = *report.curve.At(percent);
    fmt::format_to(out, "{:>9}  {:>11.2f}  {:>12.2f}  {:>9.1f}\n", percent, point.allocated_percent,
                   point.fragmentation_percent, point.fragmentation_rate_percent);
  }
  return text;
}

}  // namespace

std::string ClosedLine(std::int64_t closed_units) {
  if (closed_units <= 0) return {};
  return fmt::format("closed        {:.1f} GPUs that are unhealthy or on nodes that take no pod\n",
                     Gpus(closed_units));
}

std::string PrintReport(const SimulationReport& report, std::string_view output) {
  if (output == "json") return PrintJson(report);
  return output == "csv" ? PrintCsv(report) : PrintTable(report);
}

}  // namespace offcut::api
