#include "bench/openb_trace.h"

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <ostream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace offcut::bench {
namespace {

using api::Error;
using api::ErrorKind;
using api::OpenbNode;
using api::OpenbPod;

// Objects of one List, an object a line.
class ListWriter {
 public:
  explicit ListWriter(std::ostream& out) : out_(out) {
    out_ << R"({"apiVersion":"v1","kind":"List","items":[)";
  }
  void Add(std::string_view object) {
    out_ << (is_first_ ? "\n" : ",\n") << object;
    is_first_ = false;
  }
  void Finish() { out_ << "\n]}\n"; }

 private:
  std::ostream& out_;
  bool is_first_ = true;
};

std::string PrintNode(const OpenbNode& node) {
  std::string labels = fmt::format(R"("kubernetes.io/hostname":"{}")", node.name);
  std::string devices;
  if (node.gpus > 0) {
    labels += fmt::format(R"(,"nvidia.com/gpu.product":"{}","nvidia.com/gpu.count":"{}",)"
                          R"("nvidia.com/gpu.replicas":"1")",
                          node.model, node.gpus);
    // The trace's G1 to G3 are undisclosed, and get no label.
    if (const int memory_mib = api::OpenbMemoryMib(node.model); memory_mib > 0) {
      labels += fmt::format(R"(,"nvidia.com/gpu.memory":"{}")", memory_mib);
    }
    devices = fmt::format(R"(,"nvidia.com/gpu":"{}")", node.gpus);
  }
  const std::string resources =
      fmt::format(R"({{"cpu":"{}m","memory":"{}Mi"{},"pods":"{}"}})", node.cpu_milli,
                  node.memory_mib, devices, api::kTracePodsPerNode);
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"labels":{{{}}},"name":"{}"}},)"
      R"("spec":{{}},"status":{{"allocatable":{},"capacity":{}}}}})",
      labels, node.name, resources, resources);
}

std::string PrintPod(const OpenbPod& pod) {
  std::string devices;
  std::string annotations;
  if (pod.gpus > 0) {
    devices = fmt::format(R"("nvidia.com/gpu":"{}")", pod.gpus);
    if (pod.gpu_milli < api::kTraceGpuMilli) {
      devices += fmt::format(R"(,"nvidia.com/gpucores":"{}")", (pod.gpu_milli + 9) / 10);
    }
  }
  if (!pod.models.empty()) {
    annotations = fmt::format(R"("annotations":{{"offcut.dev/gpu-models":"{}"}},)",
                              fmt::join(pod.models, ","));
  }
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{{})"
      R"("creationTimestamp":"{:%Y-%m-%dT%H:%M:%SZ}","name":"{}",)"
      R"("namespace":"openb","uid":"uid-{}"}},"spec":{{"containers":[{{"name":"main",)"
      R"("resources":{{"limits":{{{}}},"requests":{{"cpu":"{}m","memory":"{}Mi"{}{}}}}}}}]}},)"
      R"("status":{{"phase":"Pending"}}}})",
      annotations, fmt::gmtime(static_cast<std::time_t>(pod.created_s)), pod.name, pod.name,
      devices, pod.cpu_milli, pod.memory_mib, devices.empty() ? "" : ",", devices);
}

}  // namespace

std::expected<ImportCounts, Error> ImportOpenb(api::CsvSource nodes, api::CsvSource pods,
                                               std::size_t pods_max, std::ostream& out) {
  const auto node_rows = api::ReadOpenbNodes(std::move(nodes));
  if (!node_rows) return std::unexpected(node_rows.error());
  const auto pod_rows = api::ReadOpenbPods(std::move(pods), pods_max);
  if (!pod_rows) return std::unexpected(pod_rows.error());
  ImportCounts counts{.nodes = std::ssize(*node_rows), .pods = std::ssize(*pod_rows)};
  ListWriter list(out);
  for (const OpenbNode& node : *node_rows) {
    counts.gpus += node.gpus;
    list.Add(PrintNode(node));
  }
  for (const OpenbPod& pod : *pod_rows) list.Add(PrintPod(pod));
  list.Finish();
  return counts;
}

std::expected<ImportCounts, Error> ImportOpenbFiles(const std::string& nodes_path,
                                                    const std::string& pods_path,
                                                    std::size_t pods_max,
                                                    const std::string& out_path) {
  std::ifstream nodes(nodes_path);
  std::ifstream pods(pods_path);
  for (const auto& [stream, path] :
       {std::pair(&nodes, &nodes_path), std::pair(&pods, &pods_path)}) {
    if (!*stream) {
      return std::unexpected(Error{ErrorKind::kNotFound, fmt::format("{}: cannot be read", *path)});
    }
  }
  std::ofstream out(out_path, std::ios::binary | std::ios::trunc);
  auto counts = ImportOpenb({nodes, nodes_path}, {pods, pods_path}, pods_max, out);
  out.close();
  if (counts && !out) {
    return std::unexpected(
        Error{ErrorKind::kUnavailable, fmt::format("{}: cannot be written", out_path)});
  }
  return counts;
}

std::optional<std::filesystem::path> FindTraces() {
  const char* const named = std::getenv("OFFCUT_TRACES");
  std::filesystem::path folder = named != nullptr && *named != '\0' ? named : OFFCUT_TRACES_DEFAULT;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(folder / kTraceNodesFile, ignored)) return std::nullopt;
  return folder;
}

std::string TracesMissingText() {
  return fmt::format(
      "The traces are not there: no {} in the folder that OFFCUT_TRACES names (default: {}).\n"
      "The public originals: https://github.com/alibaba/clusterdata, folder\n"
      "cluster-trace-gpu-v2023/csv. Copy that folder, name it in OFFCUT_TRACES, and try again.\n",
      kTraceNodesFile, OFFCUT_TRACES_DEFAULT);
}

}  // namespace offcut::bench
