#include "bench/load_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <ostream>
#include <random>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/echo_server.h"
#include "bench/http_bench.h"
#include "bench/kube_scheduler_player.h"
#include "bench/load_client.h"
#include "bench/server_process.h"
#include "bench/synthetic_cluster.h"

namespace offcut::bench {
namespace {

using api::Error;
using api::ErrorKind;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;
template <typename T>
using Expected = std::expected<T, Error>;

constexpr std::size_t kPods = 16;    // that are asked about in turn
constexpr int kFullConnections = 4;  // of the case that is about memory
constexpr std::string_view kOffcut = "offcut";
constexpr std::string_view kOffcutTls = "offcut, TLS";
constexpr std::string_view kEcho = "echo";
constexpr std::string_view kGo = "go";
constexpr std::string_view kAgainst = "against";

// A call to make, and how long Offcut's answer was: the echo's is as long.
struct Call {
  std::string target;
  std::string body;
  std::size_t answer_bytes = 0;
};

struct MeasuredServer {
  std::string_view name;
  ServerProcess process;
  std::vector<LoadClient> clients;
  // Of each round: ascending durations.
  std::vector<std::vector<double>> rounds_ms;
  std::chrono::nanoseconds cpu{0};
  Milliseconds wall{0};
};

// How a case is played.
struct Pace {
  int rounds = 1;
  int calls = 1;
  int connections = 1;
  double rate_hz = 0;
};

class SnapshotFile {
 public:
  explicit SnapshotFile(const SyntheticCluster& cluster)
      : path_(
            (std::filesystem::temp_directory_path() / fmt::format("offcut-load-{}.json", getpid()))
                .string()) {
    std::ofstream(path_) << PrintSnapshot(cluster);
  }
  ~SnapshotFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  SnapshotFile(const SnapshotFile&) = delete;
  SnapshotFile& operator=(const SnapshotFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string TargetFor(const MeasuredServer& server, const Call& call) {
  return server.name == kEcho ? EchoTarget(call.answer_bytes) : call.target;
}

class Measurement {
 public:
  Measurement(const LoadSettings& settings, std::ostream& progress)
      : settings_(settings), progress_(progress), random_(settings.seed) {}

  Expected<LoadReport> Run() {
    LoadReport report{.rounds = settings_.rounds,
                      .connections = settings_.connections,
                      .rate_hz = settings_.rate_hz,
                      .seed = settings_.seed,
                      .cases = {}};
    for (const std::size_t nodes : settings_.nodes) {
      if (nodes == 0) continue;
      if (const auto done = MeasureNames(nodes, report); !done) {
        return std::unexpected(done.error());
      }
    }
    for (const std::size_t nodes : settings_.full_nodes) {
      if (nodes == 0) continue;
      if (const auto done = MeasureFull(nodes, report); !done) {
        return std::unexpected(done.error());
      }
    }
    return report;
  }

 private:
  Expected<void> MeasureNames(std::size_t nodes, LoadReport& report) {
    const SyntheticCluster cluster = MakeSyntheticCluster(nodes, kPods, settings_.seed);
    const SnapshotFile snapshot(cluster);
    const Pace pace{.rounds = settings_.rounds,
                    .calls = settings_.calls,
                    .connections = settings_.connections,
                    .rate_hz = settings_.rate_hz};
    auto servers = StartServers(snapshot.path(), !settings_.tls_cert_file.empty());
    if (!servers) return std::unexpected(servers.error());
    for (const std::string_view verb : {"filter", "prioritize"}) {
      std::vector<Call> calls;
      calls.reserve(cluster.waiting.size());
      for (const auto& pod : cluster.waiting) {
        calls.push_back(
            {.target = fmt::format("/v1/{}", verb), .body = PrintArgs(pod, cluster.node_names)});
      }
      auto measured = MeasureCase(fmt::format("{}, {} names", verb, nodes), calls, pace, *servers);
      if (!measured) return std::unexpected(measured.error());
      report.cases.push_back(*std::move(measured));
    }
    return {};
  }

  // One after the other, and then several at once: what memory that takes.
  Expected<void> MeasureFull(std::size_t nodes, LoadReport& report) {
    const SyntheticCluster cluster = MakeSyntheticCluster(nodes, 1, settings_.seed);
    const SnapshotFile snapshot(cluster);
    for (const int connections : {1, kFullConnections}) {
      auto servers = StartServers(snapshot.path(), false);
      if (!servers) return std::unexpected(servers.error());
      std::vector<Call> calls = {
          {.target = "/v1/filter",
           .body = PrintFullNodesArgs(cluster.waiting.front(), cluster.nodes, nodes)}};
      const Pace pace{.rounds = settings_.rounds,
                      .calls = settings_.full_calls * connections,
                      .connections = connections};
      const std::string name =
          connections == 1 ? fmt::format("filter, {} full nodes", nodes)
                           : fmt::format("filter, {} full nodes, {} at once", nodes, connections);
      auto measured = MeasureCase(name, calls, pace, *servers);
      if (!measured) return std::unexpected(measured.error());
      report.cases.push_back(*std::move(measured));
    }
    return {};
  }

  Expected<std::vector<MeasuredServer>> StartServers(const std::string& snapshot, bool with_tls) {
    std::vector<MeasuredServer> servers;
    Expected<void> started;
    const auto add = [&](std::string_view name, Expected<ServerProcess> process) {
      if (!started) return;
      if (!process) {
        started = std::unexpected(process.error());
        return;
      }
      servers.push_back(
          {.name = name, .process = *std::move(process), .clients = {}, .rounds_ms = {}});
    };
    add(kOffcut, ServerProcess::StartOffcut(settings_.offcut, {snapshot}, {"-v", "0"}));
    if (with_tls) {
      add(kOffcutTls,
          ServerProcess::StartOffcut(settings_.offcut, {snapshot},
                                     {"-v", "0", "--tls-cert-file", settings_.tls_cert_file,
                                      "--tls-private-key-file", settings_.tls_private_key_file}));
    }
    add(kEcho, ServerProcess::Start({settings_.self, "echo"}));
    if (!settings_.go_baseline.empty()) {
      add(kGo, ServerProcess::Start({settings_.go_baseline, "-snapshot", snapshot}));
    }
    if (!settings_.against.empty()) {
      setenv("OFFCUT_SNAPSHOT", snapshot.c_str(), 1);
      add(kAgainst, ServerProcess::Start({"/bin/sh", "-c", settings_.against}));
    }
    if (!started) return std::unexpected(started.error());
    return servers;
  }

  Expected<LoadCase> MeasureCase(const std::string& name, std::vector<Call>& calls,
                                 const Pace& pace, std::vector<MeasuredServer>& servers) {
    progress_ << name << ": warm-up" << std::flush;
    for (MeasuredServer& server : servers) {
      if (const auto warm = WarmUp(server, calls, pace); !warm) {
        return std::unexpected(warm.error());
      }
    }
    std::vector<std::size_t> order(servers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (int round = 1; round <= pace.rounds; ++round) {
      progress_ << ", round " << round << std::flush;
      std::ranges::shuffle(order, random_);
      for (const std::size_t i : order) {
        if (const auto played = PlayRound(servers[i], calls, pace); !played) {
          return std::unexpected(played.error());
        }
      }
    }
    progress_ << "\n";
    return ToCase(name, calls, servers);
  }

  // Every body once, on a connection of its own for each that will ask at once. Offcut comes first:
  // the echo answers as many bytes as it.
  static Expected<void> WarmUp(MeasuredServer& server, std::vector<Call>& calls, const Pace& pace) {
    server.clients.clear();
    server.rounds_ms.clear();
    server.cpu = {};
    server.wall = {};
    for (int i = 0; i < pace.connections; ++i) {
      auto client = LoadClient::Connect(server.process.ExtenderPort(), server.name == kOffcutTls);
      if (!client) return Of(server, client.error());
      server.clients.push_back(*std::move(client));
    }
    for (int time = 0; time < 2; ++time) {
      for (Call& call : calls) {
        const auto answer = server.clients.front().Post(TargetFor(server, call), call.body);
        if (!answer) return Of(server, answer.error());
        if (server.name == kOffcut) call.answer_bytes = answer->size();
      }
    }
    return {};
  }

  static std::unexpected<Error> Of(const MeasuredServer& server, const Error& error) {
    return std::unexpected(Error{error.kind, fmt::format("{}: {}", server.name, error.message)});
  }

  Expected<void> PlayRound(MeasuredServer& server, const std::vector<Call>& calls,
                           const Pace& pace) const {
    const auto count = static_cast<std::size_t>(pace.connections);
    std::vector<std::vector<double>> durations(count);
    std::vector<Expected<void>> results(count);
    const auto cpu_before = server.process.ReadCpuTime();
    const auto start = Clock::now();
    const auto play = [&](std::size_t i) {
      results[i] = Play(server, calls, pace, i, start, durations[i]);
    };
    if (count == 1) {
      play(0);
    } else {
      std::vector<std::jthread> threads;
      threads.reserve(count);
      for (std::size_t i = 0; i < count; ++i) threads.emplace_back(play, i);
    }
    server.wall += Clock::now() - start;
    server.cpu += server.process.ReadCpuTime() - cpu_before;
    std::vector<double>& all = server.rounds_ms.emplace_back();
    for (std::size_t i = 0; i < count; ++i) {
      if (!results[i]) return Of(server, results[i].error());
      all.insert(all.end(), durations[i].begin(), durations[i].end());
    }
    std::ranges::sort(all);
    return {};
  }

  // Every `connections`-th call, on connection `which`. At a rate a call lasts from when it was
  // due, whether or not the connection was free by then: who only asks when it was answered does
  // not see what a stall does to those that come meanwhile.
  static Expected<void> Play(MeasuredServer& server, const std::vector<Call>& calls,
                             const Pace& pace, std::size_t which, Clock::time_point start,
                             std::vector<double>& durations_ms) {
    const auto step = static_cast<std::size_t>(pace.connections);
    for (std::size_t k = which; k < static_cast<std::size_t>(pace.calls); k += step) {
      auto from = Clock::now();
      if (pace.rate_hz > 0) {
        const auto due = std::chrono::duration<double>(static_cast<double>(k) / pace.rate_hz);
        from = start + std::chrono::duration_cast<Clock::duration>(due);
        std::this_thread::sleep_until(from);
      }
      const Call& call = calls[k % calls.size()];
      const auto answer = server.clients[which].Post(TargetFor(server, call), call.body);
      if (!answer) return std::unexpected(answer.error());
      durations_ms.push_back(Milliseconds(Clock::now() - from).count());
    }
    return {};
  }

  static LoadCase ToCase(const std::string& name, const std::vector<Call>& calls,
                         std::vector<MeasuredServer>& servers) {
    LoadCase result{.name = name, .servers = {}};
    for (const Call& call : calls) {
      result.request_bytes_max = std::max(result.request_bytes_max, call.body.size());
      result.answer_bytes_max = std::max(result.answer_bytes_max, call.answer_bytes);
    }
    for (const MeasuredServer& server : servers) {
      result.servers.push_back(FiguresOf(server, servers.front()));
    }
    return result;
  }

  static double MedianOf(std::vector<double> values) {
    std::ranges::sort(values);
    return Percentile(values, 50);
  }

  static LoadFigures FiguresOf(const MeasuredServer& server, const MeasuredServer& offcut) {
    LoadFigures figures{.server = std::string(server.name)};
    std::vector<double> all;
    for (const auto& round : server.rounds_ms) all.insert(all.end(), round.begin(), round.end());
    std::ranges::sort(all);
    const auto median = [&](int percent) {
      std::vector<double> values;
      values.reserve(server.rounds_ms.size());
      for (const auto& round : server.rounds_ms) values.push_back(Percentile(round, percent));
      return MedianOf(std::move(values));
    };
    const auto by_offcut = [&](int percent) {
      std::vector<double> ratios;
      ratios.reserve(server.rounds_ms.size());
      for (std::size_t i = 0; i < server.rounds_ms.size(); ++i) {
        ratios.push_back(Percentile(server.rounds_ms[i], percent) /
                         Percentile(offcut.rounds_ms[i], percent));
      }
      return MedianOf(std::move(ratios));
    };
    figures.calls = all.size();
    const auto calls = static_cast<double>(all.size());
    figures.p50_ms = median(50);
    figures.p90_ms = median(90);
    figures.p99_ms = median(99);
    figures.p999_ms = all[std::min(all.size() - 1, (all.size() * 999 + 999) / 1000 - 1)];
    figures.calls_hz = calls / std::chrono::duration<double>(server.wall).count();
    figures.cpu_ms = Milliseconds(server.cpu).count() / calls;
    figures.resident_peak_kib = server.process.ReadMemory().resident_peak_kib;
    figures.p50_by_offcut = by_offcut(50);
    figures.p99_by_offcut = by_offcut(99);
    return figures;
  }

  const LoadSettings& settings_;
  std::ostream& progress_;
  std::mt19937_64 random_;
};

}  // namespace

std::expected<LoadReport, Error> MeasureLoad(const LoadSettings& settings, std::ostream& progress) {
  return Measurement(settings, progress).Run();
}

}  // namespace offcut::bench
