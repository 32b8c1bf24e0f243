// The load test: Offcut and other servers asked the same over HTTP, in turn, in one run.
//
// Machines that are shared drift by a factor of two within minutes. So a round asks every server
// before the next round begins, in an order that changes, and what is compared is the ratio of two
// servers' figures of one round; of the rounds the median counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <iosfwd>
#include <string>
#include <vector>

#include "api/error.h"
#include "bench/load_report.h"

namespace offcut::bench {

inline constexpr int kLoadRoundsMax = 1'000;
inline constexpr int kLoadCallsMax = 1'000'000;
inline constexpr int kLoadConnectionsMax = 256;
inline constexpr double kLoadRateMax = 1e6;

struct LoadSettings {
  std::string offcut;       // the program
  std::string self;         // offcut-bench, which is the echo, too
  std::string go_baseline;  // program of bench/baseline; empty: without it
  std::string against;      // a shell's command that starts another server; empty: none
  std::vector<std::size_t> nodes = {100, 1000, 5000, 15'000};  // 0: none
  std::vector<std::size_t> full_nodes = {1000, 5000};
  std::string tls_cert_file;  // of a certificate; empty: no TLS is measured
  std::string tls_private_key_file;
  int rounds = 5;
  int calls = 200;      // of each kind and server in a round, with names
  int full_calls = 3;   // the same with whole nodes
  int connections = 1;  // that ask at once; kube-scheduler is one
  double rate_hz = 0;   // of all connections together; 0: each asks when it was answered
  std::uint64_t seed = 1;
  bool prints_json = false;
};

// Errors: a server that does not start, a call that fails.
std::expected<LoadReport, api::Error> MeasureLoad(const LoadSettings& settings,
                                                  std::ostream& progress);

}  // namespace offcut::bench
