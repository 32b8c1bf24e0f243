#include "bench/load_report.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

#include <fmt/format.h>

namespace offcut::bench {
namespace {

using api::Error;
using api::ErrorKind;
using nlohmann::json;
using nlohmann::ordered_json;

ordered_json ToJson(const LoadFigures& figures) {
  return {{"server", figures.server},
          {"calls", figures.calls},
          {"p50Ms", figures.p50_ms},
          {"p90Ms", figures.p90_ms},
          {"p99Ms", figures.p99_ms},
          {"p999Ms", figures.p999_ms},
          {"callsHz", figures.calls_hz},
          {"cpuMs", figures.cpu_ms},
          {"residentPeakKiB", figures.resident_peak_kib},
          {"p50ByOffcut", figures.p50_by_offcut},
          {"p99ByOffcut", figures.p99_by_offcut}};
}

// Throws what json::at() and get_to() throw.
LoadFigures ParseFigures(const json& value) {
  LoadFigures figures;
  value.at("server").get_to(figures.server);
  value.at("calls").get_to(figures.calls);
  value.at("p50Ms").get_to(figures.p50_ms);
  value.at("p90Ms").get_to(figures.p90_ms);
  value.at("p99Ms").get_to(figures.p99_ms);
  value.at("p999Ms").get_to(figures.p999_ms);
  value.at("callsHz").get_to(figures.calls_hz);
  value.at("cpuMs").get_to(figures.cpu_ms);
  value.at("residentPeakKiB").get_to(figures.resident_peak_kib);
  value.at("p50ByOffcut").get_to(figures.p50_by_offcut);
  value.at("p99ByOffcut").get_to(figures.p99_by_offcut);
  return figures;
}

const LoadFigures* FiguresOf(const LoadReport& report, const std::string& name,
                             const std::string& server) {
  const auto found = std::ranges::find(report.cases, name, &LoadCase::name);
  if (found == report.cases.end()) return nullptr;
  const auto figures = std::ranges::find(found->servers, server, &LoadFigures::server);
  return figures == found->servers.end() ? nullptr : &*figures;
}

}  // namespace

ordered_json ToJson(const LoadReport& report) {
  ordered_json cases = ordered_json::array();
  for (const LoadCase& each : report.cases) {
    ordered_json servers = ordered_json::array();
    for (const LoadFigures& figures : each.servers) servers.push_back(ToJson(figures));
    cases.push_back({{"case", each.name},
                     {"requestBytesMax", each.request_bytes_max},
                     {"answerBytesMax", each.answer_bytes_max},
                     {"servers", std::move(servers)}});
  }
  return {{"rounds", report.rounds},
          {"connections", report.connections},
          {"rateHz", report.rate_hz},
          {"seed", report.seed},
          {"cases", std::move(cases)}};
}

std::expected<LoadReport, Error> ParseLoadReport(const std::string& text) {
  try {
    const json value = json::parse(text);
    LoadReport report;
    value.at("rounds").get_to(report.rounds);
    value.at("connections").get_to(report.connections);
    value.at("rateHz").get_to(report.rate_hz);
    value.at("seed").get_to(report.seed);
    for (const json& each : value.at("cases")) {
      LoadCase& to = report.cases.emplace_back();
      each.at("case").get_to(to.name);
      each.at("requestBytesMax").get_to(to.request_bytes_max);
      each.at("answerBytesMax").get_to(to.answer_bytes_max);
      for (const json& server : each.at("servers")) to.servers.push_back(ParseFigures(server));
    }
    return report;
  } catch (const json::exception& exception) {
    return std::unexpected(Error{ErrorKind::kBadRequest, exception.what()});
  }
}

void PrintLoadReport(const LoadReport& report, std::ostream& out) {
  out << fmt::format("{} rounds, {} at once, {}, seed {}\n", report.rounds, report.connections,
                     report.rate_hz > 0 ? fmt::format("{} calls/s", report.rate_hz)
                                        : std::string("each when it was answered"),
                     report.seed);
  for (const LoadCase& each : report.cases) {
    out << fmt::format("\n{}   (request {} B, answer {} B)\n", each.name, each.request_bytes_max,
                       each.answer_bytes_max);
    out << fmt::format("{:<12} {:>7} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n",
                       "SERVER", "CALLS", "P50 ms", "P90 ms", "P99 ms", "P99.9 ms", "CALLS/s",
                       "CPU ms", "PEAK MiB", "P50 BY US", "P99 BY US");
    for (const LoadFigures& figures : each.servers) {
      out << fmt::format(
          "{:<12} {:>7} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.0f} {:>9.3f} {:>9} {:>9.2f} "
          "{:>9.2f}\n",
          figures.server, figures.calls, figures.p50_ms, figures.p90_ms, figures.p99_ms,
          figures.p999_ms, figures.calls_hz, figures.cpu_ms, figures.resident_peak_kib / 1024,
          figures.p50_by_offcut, figures.p99_by_offcut);
    }
  }
}

void PrintComparison(const LoadReport& before, const LoadReport& after, double percent,
                     std::ostream& out) {
  int changes = 0;
  const auto compare = [&](const LoadCase& where, const LoadFigures& now, const char* what,
                           double from, double to) {
    if (from <= 0 || std::abs(to - from) * 100 <= percent * from) return;
    ++changes;
    out << fmt::format("{:<40} {:<12} {:<22} {:>9.3f} -> {:>9.3f}  {:+.0f} %\n", where.name,
                       now.server, what, from, to, (to - from) / from * 100);
  };
  for (const LoadCase& each : after.cases) {
    for (const LoadFigures& now : each.servers) {
      const LoadFigures* then = FiguresOf(before, each.name, now.server);
      if (then == nullptr) continue;
      compare(each, now, "p50 ms", then->p50_ms, now.p50_ms);
      compare(each, now, "p99 ms", then->p99_ms, now.p99_ms);
      compare(each, now, "processor ms a call", then->cpu_ms, now.cpu_ms);
      compare(each, now, "p50 by ours", then->p50_by_offcut, now.p50_by_offcut);
      compare(each, now, "p99 by ours", then->p99_by_offcut, now.p99_by_offcut);
    }
  }
  if (changes == 0) out << fmt::format("nothing differs by more than {} %\n", percent);
}

}  // namespace offcut::bench
