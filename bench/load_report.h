// What a load test found, as a table, as JSON, and beside that of another run. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <iosfwd>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/error.h"

namespace offcut::bench {

// Of one server in one case. Percentiles in ms, each the median of the rounds' nearest ranks, but
// p99.9 is one of all rounds' calls together.
struct LoadFigures {
  std::string server;  // "offcut", "echo", "go", "against"
  std::size_t calls = 0;
  double p50_ms = 0;
  double p90_ms = 0;
  double p99_ms = 0;
  double p999_ms = 0;
  double calls_hz = 0;
  double cpu_ms = 0;  // of the server's processor time, a call
  std::int64_t resident_peak_kib = 0;
  // Medians of the rounds' ratios: this server's by Offcut's. Of Offcut itself 1.
  double p50_by_offcut = 1;
  double p99_by_offcut = 1;
};

struct LoadCase {
  std::string name;  // "filter, 5000 names"
  std::size_t request_bytes_max = 0;
  std::size_t answer_bytes_max = 0;  // Offcut's
  std::vector<LoadFigures> servers;  // Offcut first
};

struct LoadReport {
  int rounds = 0;
  int connections = 1;
  double rate_hz = 0;
  std::uint64_t seed = 0;
  std::vector<LoadCase> cases;
};

nlohmann::ordered_json ToJson(const LoadReport& report);

// As ToJson() wrote it. Error: what is missing or of another kind.
std::expected<LoadReport, api::Error> ParseLoadReport(const std::string& text);

void PrintLoadReport(const LoadReport& report, std::ostream& out);

// What differs between two runs by more than `percent`: p50, p99 and processor time of Offcut, and
// ratios to the others. Absolute figures of two machines differ, ratios hardly.
void PrintComparison(const LoadReport& before, const LoadReport& after, double percent,
                     std::ostream& out);

}  // namespace offcut::bench
