// How long Offcut takes to answer over HTTP, as kube-scheduler would ask: one request at a time,
// one connection that stays open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <ostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/error.h"
#include "bench/cluster_objects.h"

namespace offcut::bench {

inline constexpr std::size_t kBenchPodsMax = 100'000;
inline constexpr int kBenchRoundsMax = 1'000;
inline constexpr std::size_t kFullNodesMax = 20'000;

struct HttpBenchSettings {
  std::string offcut;             // the program
  std::string snapshot;           // file of nodes and of the pods that are asked about
  std::size_t pods = 500;         // the first so many that wait
  int rounds = 5;                 // how often each is asked about
  std::size_t full_nodes = 5000;  // of the body with whole Node objects; 0: leave it out
  bool prints_json = false;
};

// Posts filter and prioritize for every pod with the names of all nodes; a first round warms up and
// is not counted. Then one filter body of whole nodes, if asked for. Errors: a call that failed.
std::expected<void, api::Error> RunHttpBench(const HttpBenchSettings& settings, std::ostream& out);

// Of one sort of call. Percentiles are nearest ranks: a duration that was measured.
struct CallFigures {
  std::string call;
  std::size_t calls = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  double max_ms = 0;
  std::size_t request_bytes_max = 0;
  std::size_t response_bytes_max = 0;
};

// The smallest duration that at least `percent` of all do not exceed. Requires: `durations_ms` is
// ascending and not empty, 0 < percent <= 100.
double Percentile(const std::vector<double>& durations_ms, int percent);

// A filter body of `count` whole nodes, made from those of the cluster under names of their own
// where there are too few, and filled up with labels to the size that real nodes have on the wire.
// Requires: `nodes` is not empty.
std::string PrintFullNodesArgs(const nlohmann::json& pod, const std::vector<nlohmann::json>& nodes,
                               std::size_t count);

}  // namespace offcut::bench
