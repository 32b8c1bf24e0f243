// offcut-bench: the demo, the import of the public trace, and the load test.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "api/number_text.h"
#include "bench/demo.h"
#include "bench/echo_server.h"
#include "bench/http_bench.h"
#include "bench/load_bench.h"
#include "bench/load_report.h"
#include "bench/openb_trace.h"
#include "bench/synthetic_cluster.h"

namespace offcut::bench {
namespace {

struct ImportSettings {
  std::string nodes;
  std::string pods;
  std::size_t pods_max = api::kTracePodsMax;
  std::string out;
};

int ExitStatusOf(const std::expected<void, api::Error>& result) {
  if (result) return EXIT_SUCCESS;
  std::cerr << "offcut-bench: " << result.error().message << "\n";
  return EXIT_FAILURE;
}

// Who asks for a snapshot goes on to use it, so that without one this has failed.
int Import(ImportSettings settings) {
  if (settings.nodes.empty() || settings.pods.empty()) {
    const auto traces = FindTraces();
    if (!traces) {
      std::cerr << TracesMissingText();
      return EXIT_FAILURE;
    }
    if (settings.nodes.empty()) settings.nodes = (*traces / kTraceNodesFile).string();
    if (settings.pods.empty()) settings.pods = (*traces / kTracePodsFile).string();
  }
  const auto counts =
      ImportOpenbFiles(settings.nodes, settings.pods, settings.pods_max, settings.out);
  if (!counts) return ExitStatusOf(std::unexpected(counts.error()));
  std::cout << fmt::format("{}: {}, {}, {}\n", settings.out, api::NumberOf(counts->nodes, "node"),
                           api::NumberOf(counts->gpus, "GPU"), api::NumberOf(counts->pods, "pod"));
  return EXIT_SUCCESS;
}

// Imports the trace for the time of the run where no snapshot is named. 0, with a message, where it
// is not there: a bench that cannot be run has not failed.
int Http(HttpBenchSettings settings) {
  if (!settings.snapshot.empty()) return ExitStatusOf(RunHttpBench(settings, std::cout));
  const auto traces = FindTraces();
  if (!traces) {
    std::cout << TracesMissingText();
    return EXIT_SUCCESS;
  }
  std::error_code ignored;
  settings.snapshot =
      (std::filesystem::temp_directory_path(ignored) / fmt::format("openb-{}.json", getpid()))
          .string();
  const auto counts =
      ImportOpenbFiles((*traces / kTraceNodesFile).string(), (*traces / kTracePodsFile).string(),
                       settings.pods, settings.snapshot);
  const int status = counts ? ExitStatusOf(RunHttpBench(settings, std::cout))
                            : ExitStatusOf(std::unexpected(counts.error()));
  std::filesystem::remove(settings.snapshot, ignored);
  return status;
}

// Progress goes to standard error, so that the report can be kept as it is.
int Load(LoadSettings settings) {
  std::error_code unknown;
  settings.self = std::filesystem::read_symlink("/proc/self/exe", unknown).string();
  const auto report = MeasureLoad(settings, std::cerr);
  if (!report) return ExitStatusOf(std::unexpected(report.error()));
  if (settings.prints_json) {
    std::cout << ToJson(*report).dump(2) << "\n";
  } else {
    PrintLoadReport(*report, std::cout);
  }
  return EXIT_SUCCESS;
}

struct CompareSettings {
  std::string before;
  std::string after;
  double percent = 20;
};

std::expected<LoadReport, api::Error> ReadLoadReport(const std::string& path) {
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  auto report = ParseLoadReport(text);
  if (!report) {
    return std::unexpected(
        api::Error{report.error().kind, fmt::format("{}: {}", path, report.error().message)});
  }
  return report;
}

int Compare(const CompareSettings& settings) {
  const auto before = ReadLoadReport(settings.before);
  if (!before) return ExitStatusOf(std::unexpected(before.error()));
  const auto after = ReadLoadReport(settings.after);
  if (!after) return ExitStatusOf(std::unexpected(after.error()));
  PrintComparison(*before, *after, settings.percent, std::cout);
  return EXIT_SUCCESS;
}

void AddDemo(CLI::App& app, DemoSettings& settings) {
  CLI::App* demo = app.add_subcommand("demo", "watch Offcut place pods on a small cluster");
  demo->add_option("--offcut", settings.offcut, "the offcut program")->required();
  demo->add_option("--cluster", settings.cluster, "nodes, and the pods that run on them")
      ->capture_default_str();
  demo->add_option("--pods", settings.pods, "pods that wait")->capture_default_str();
  demo->add_option("--scheduler-config", settings.scheduler_config,
                   "KubeSchedulerConfiguration whose first extender is Offcut")
      ->capture_default_str();
}

void AddImport(CLI::App& app, ImportSettings& settings) {
  CLI::App* import =
      app.add_subcommand("import-openb", "turn the Alibaba GPU trace of 2023 into a snapshot");
  import->add_option("--nodes", settings.nodes, "CSV of nodes (default: of OFFCUT_TRACES)");
  import->add_option("--pods", settings.pods, "CSV of pods (default: of OFFCUT_TRACES)");
  import->add_option("--pods-max", settings.pods_max, "how many pods are taken")
      ->check(CLI::Range(std::size_t{0}, api::kTracePodsMax));
  import->add_option("-o,--output", settings.out, "the snapshot")->required();
}

void AddOutput(CLI::App& command, bool& prints_json) {
  command
      .add_option_function<std::string>(
          "-o,--output", [&](const std::string& form) { prints_json = form == "json"; },
          "text or json")
      ->check(CLI::IsMember({"text", "json"}));
}

void AddHttp(CLI::App& app, HttpBenchSettings& settings) {
  CLI::App* http = app.add_subcommand("http", "measure the extender over HTTP");
  http->add_option("--offcut", settings.offcut, "the offcut program")->required();
  http->add_option("--snapshot", settings.snapshot, "nodes and waiting pods (default: the trace)");
  http->add_option("--pods", settings.pods, "how many pods are asked about")
      ->check(CLI::Range(std::size_t{1}, kBenchPodsMax))
      ->capture_default_str();
  http->add_option("--rounds", settings.rounds, "how often each pod is asked about")
      ->check(CLI::Range(1, kBenchRoundsMax))
      ->capture_default_str();
  http->add_option("--full-nodes", settings.full_nodes,
                   "nodes of the body with whole objects; 0: none")
      ->check(CLI::Range(std::size_t{0}, kFullNodesMax))
      ->capture_default_str();
  AddOutput(*http, settings.prints_json);
}

void AddLoad(CLI::App& app, LoadSettings& settings) {
  CLI::App* load = app.add_subcommand(
      "load", "ask Offcut and other servers the same in turn, on clusters made for it");
  load->add_option("--offcut", settings.offcut, "the offcut program")->required();
  load->add_option("--go-baseline", settings.go_baseline, "program of bench/baseline");
  load->add_option("--against", settings.against,
                   "shell command of another server; it finds the cluster in the file "
                   "$OFFCUT_SNAPSHOT, and says where it listens as `offcut serve` does");
  load->add_option("--nodes", settings.nodes, "sizes of clusters that are asked about by name")
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{0}, kSyntheticNodesMax))
      ->capture_default_str();
  load->add_option("--full-nodes", settings.full_nodes, "sizes of those with whole Node objects")
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{0}, kFullNodesMax))
      ->capture_default_str();
  auto* certificate = load->add_option("--tls-cert-file", settings.tls_cert_file,
                                       "PEM; measures Offcut over TLS as well");
  auto* key = load->add_option("--tls-private-key-file", settings.tls_private_key_file, "PEM");
  certificate->needs(key);
  key->needs(certificate);
  load->add_option("--rounds", settings.rounds, "in each of which every server is asked")
      ->check(CLI::Range(1, kLoadRoundsMax))
      ->capture_default_str();
  load->add_option("--calls", settings.calls, "of each kind and server in a round, by name")
      ->check(CLI::Range(1, kLoadCallsMax))
      ->capture_default_str();
  load->add_option("--full-calls", settings.full_calls, "the same with whole nodes")
      ->check(CLI::Range(1, kLoadCallsMax))
      ->capture_default_str();
  load->add_option("--connections", settings.connections, "that ask by name at once")
      ->check(CLI::Range(1, kLoadConnectionsMax))
      ->capture_default_str();
  load->add_option("--rate", settings.rate_hz,
                   "calls a second of all connections, timed from when each was due; 0: each asks "
                   "when it was answered")
      ->check(CLI::Range(0.0, kLoadRateMax))
      ->capture_default_str();
  load->add_option("--seed", settings.seed)->capture_default_str();
  AddOutput(*load, settings.prints_json);
}

void AddCompare(CLI::App& app, CompareSettings& settings) {
  CLI::App* compare = app.add_subcommand("compare", "what two results of `load -o json` differ in");
  compare->add_option("before", settings.before)->required();
  compare->add_option("after", settings.after)->required();
  compare->add_option("--percent", settings.percent, "that a figure must differ by")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
}

int Run(int argc, char** argv) {
  CLI::App app("Offcut's demo and load test.", "offcut-bench");
  app.require_subcommand(1);
  DemoSettings demo{.cluster = OFFCUT_SOURCE_DIR "/bench/demo/cluster.yaml",
                    .pods = OFFCUT_SOURCE_DIR "/bench/demo/pods.yaml",
                    .scheduler_config = OFFCUT_SOURCE_DIR "/deploy/kube-scheduler/extender.yaml"};
  ImportSettings import;
  HttpBenchSettings http;
  AddDemo(app, demo);
  AddImport(app, import);
  AddHttp(app, http);
  LoadSettings load;
  AddLoad(app, load);
  CompareSettings compare;
  AddCompare(app, compare);
  app.add_subcommand("echo", "the server under `load` that only answers");
  CLI11_PARSE(app, argc, argv);
  if (app.got_subcommand("demo")) return ExitStatusOf(RunDemo(demo, std::cout));
  if (app.got_subcommand("import-openb")) return Import(import);
  if (app.got_subcommand("load")) return Load(load);
  if (app.got_subcommand("compare")) return Compare(compare);
  if (app.got_subcommand("echo")) return ExitStatusOf(RunEcho());
  return Http(http);
}

}  // namespace
}  // namespace offcut::bench

// Our code throws nothing, but a library may: memory that is not to be had, a stream that is gone.
int main(int argc, char** argv) {
  try {
    return offcut::bench::Run(argc, argv);
  } catch (const std::exception& exception) {
    std::fputs("offcut-bench: ", stderr);
    std::fputs(exception.what(), stderr);
    std::fputs("\n", stderr);
    return EXIT_FAILURE;
  }
}
