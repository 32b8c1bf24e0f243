// offcut-bench: the demo, the import of the public trace, and the load test.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "api/number_text.h"
#include "bench/demo.h"
#include "bench/http_bench.h"
#include "bench/openb_trace.h"

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
  http->add_option_function<std::string>(
          "-o,--output", [&](const std::string& form) { settings.prints_json = form == "json"; },
          "text or json")
      ->check(CLI::IsMember({"text", "json"}));
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
  CLI11_PARSE(app, argc, argv);
  if (app.got_subcommand("demo")) return ExitStatusOf(RunDemo(demo, std::cout));
  if (app.got_subcommand("import-openb")) return Import(import);
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
