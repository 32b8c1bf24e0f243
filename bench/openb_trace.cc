#include "bench/openb_trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <istream>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace offcut::bench {
namespace {

using api::Error;
using api::ErrorKind;

constexpr int kGpuMilliMax = 1000;  // one GPU
constexpr std::int64_t kAmountMax = std::int64_t{1} << 40;
constexpr std::int64_t kSecondsMax =
    253'402'300'799;                // the last one of year 9999, which RFC 3339 ends with
constexpr int kPodsPerNode = 1001;  // never the limit: the trace knows none

// GPU memory by datasheet; the trace's G1 to G3 are undisclosed, and get no label.
struct ModelMemory {
  std::string_view model;
  int memory_mib;
};
constexpr std::array kModelMemory = std::to_array<ModelMemory>({
    {"P100", 16384},
    {"T4", 16384},
    {"V100M16", 16384},
    {"V100M32", 32768},
    {"A10", 24576},
});

// Text that needs no escaping in JSON, neither as a name nor as a label.
bool IsPlain(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t end = text.find(separator);
    fields.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return fields;
    text.remove_prefix(end + 1);
  }
}

// Reads rows one by one; a problem in one ends the reading, and is told by `error()`.
class CsvReader {
 public:
  explicit CsvReader(CsvSource source) : source_(std::move(source)) {
    if (!ReadLine()) {
      Fail("has no line of column names");
      return;
    }
    const std::vector<std::string_view> names = Split(line_, ',');
    for (std::size_t i = 0; i < names.size(); ++i) columns_[std::string(names[i])] = i;
    columns_count_ = names.size();
  }

  // False: no more rows, or an error.
  bool Next() {
    if (error_ || !ReadLine()) return false;
    fields_ = Split(line_, ',');
    if (fields_.size() != columns_count_) {
      Fail(fmt::format("has {} fields where the first line names {}", fields_.size(),
                       columns_count_));
    }
    return !error_;
  }

  // The field, empty where the file lacks an optional column.
  std::string_view Text(const std::string& column, bool is_optional = false) {
    const auto found = columns_.find(column);
    if (found != columns_.end()) return fields_[found->second];
    if (!is_optional) Fail(fmt::format("{}: no such column", column));
    return {};
  }

  std::string_view PlainText(const std::string& column) {
    const std::string_view text = Text(column);
    if (!error_ && !IsPlain(text)) {
      Fail(fmt::format("{}: is not a name of letters, digits, '-', '.' and '_'", column));
    }
    return text;
  }

  std::int64_t Int(const std::string& column, std::int64_t min, std::int64_t max) {
    const std::string_view text = Text(column);
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = code == std::errc() && end == text.data() + text.size();
    if (!error_ && (!is_number || value < min || value > max)) {
      Fail(fmt::format("{}: is not a whole number from {} to {}", column, min, max));
    }
    return error_ ? 0 : value;
  }

  void Fail(std::string_view problem) {
    if (error_) return;
    error_ = Error{ErrorKind::kBadRequest,
                   fmt::format("{}:{}: {}", source_.name, line_number_, problem)};
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  // Bounded, unlike std::getline.
  bool ReadLine() {
    ++line_number_;
    line_.clear();
    for (int c = source_.lines.get(); c != std::char_traits<char>::eof(); c = source_.lines.get()) {
      if (c == '\n') {
        if (line_.ends_with('\r')) line_.pop_back();
        return true;
      }
      if (line_.size() == kTraceLineBytesMax) {
        Fail(fmt::format("line is longer than {} bytes", kTraceLineBytesMax));
        return false;
      }
      line_ += static_cast<char>(c);
    }
    return !line_.empty();
  }

  CsvSource source_;
  std::string line_;
  std::int64_t line_number_ = 0;
  std::map<std::string, std::size_t> columns_;
  std::size_t columns_count_ = 0;
  std::vector<std::string_view> fields_;  // into line_
  std::optional<Error> error_;
};

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

std::string PrintNode(CsvReader& row, std::int64_t& gpus) {
  const std::string_view name = row.PlainText("sn");
  const std::int64_t cpu_milli = row.Int("cpu_milli", 0, kAmountMax);
  const std::int64_t memory_mib = row.Int("memory_mib", 0, kAmountMax);
  const std::int64_t gpu_count = row.Int("gpu", 0, kTraceGpusPerNodeMax);
  std::string labels = fmt::format(R"("kubernetes.io/hostname":"{}")", name);
  std::string devices;
  if (gpu_count > 0) {
    const std::string_view model = row.PlainText("model");
    labels += fmt::format(R"(,"nvidia.com/gpu.product":"{}","nvidia.com/gpu.count":"{}",)"
                          R"("nvidia.com/gpu.replicas":"1")",
                          model, gpu_count);
    const auto* const known = std::ranges::find(kModelMemory, model, &ModelMemory::model);
    if (known != kModelMemory.end()) {
      labels += fmt::format(R"(,"nvidia.com/gpu.memory":"{}")", known->memory_mib);
    }
    devices = fmt::format(R"(,"nvidia.com/gpu":"{}")", gpu_count);
  }
  const std::string resources = fmt::format(R"({{"cpu":"{}m","memory":"{}Mi"{},"pods":"{}"}})",
                                            cpu_milli, memory_mib, devices, kPodsPerNode);
  gpus += gpu_count;
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"labels":{{{}}},"name":"{}"}},)"
      R"("spec":{{}},"status":{{"allocatable":{},"capacity":{}}}}})",
      labels, name, resources, resources);
}

// "A10|T4" becomes the annotation "A10,T4"; empty: any model.
std::string PrintAnnotations(CsvReader& row) {
  const std::string_view models = row.Text("gpu_spec", true);
  if (models.empty()) return {};
  std::string list;
  for (const std::string_view model : Split(models, '|')) {
    if (!IsPlain(model)) row.Fail("gpu_spec: is not a list of models joined by '|'");
    if (!list.empty()) list += ',';
    list += model;
  }
  return fmt::format(R"("annotations":{{"offcut.dev/gpu-models":"{}"}},)", list);
}

std::string PrintPod(CsvReader& row) {
  const std::string_view name = row.PlainText("name");
  const std::int64_t cpu_milli = row.Int("cpu_milli", 0, kAmountMax);
  const std::int64_t memory_mib = row.Int("memory_mib", 0, kAmountMax);
  const std::int64_t gpu_count = row.Int("num_gpu", 0, kTraceGpusPerNodeMax);
  std::string devices;
  std::string annotations;
  if (gpu_count > 0) {
    const std::int64_t gpu_milli =
        row.Int("gpu_milli", gpu_count == 1 ? 1 : kGpuMilliMax, kGpuMilliMax);
    devices = fmt::format(R"("nvidia.com/gpu":"{}")", gpu_count);
    if (gpu_milli < kGpuMilliMax) {
      devices += fmt::format(R"(,"nvidia.com/gpucores":"{}")", (gpu_milli + 9) / 10);
    }
    annotations = PrintAnnotations(row);
  }
  const std::int64_t created_s =
      row.Text("creation_time", true).empty() ? 0 : row.Int("creation_time", 0, kSecondsMax);
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{{})"
      R"("creationTimestamp":"{:%Y-%m-%dT%H:%M:%SZ}","name":"{}",)"
      R"("namespace":"openb","uid":"uid-{}"}},"spec":{{"containers":[{{"name":"main",)"
      R"("resources":{{"limits":{{{}}},"requests":{{"cpu":"{}m","memory":"{}Mi"{}{}}}}}}}]}},)"
      R"("status":{{"phase":"Pending"}}}})",
      annotations, fmt::gmtime(static_cast<std::time_t>(created_s)), name, name, devices, cpu_milli,
      memory_mib, devices.empty() ? "" : ",", devices);
}

}  // namespace

std::expected<ImportCounts, Error> ImportOpenb(CsvSource nodes, CsvSource pods,
                                               std::size_t pods_max, std::ostream& out) {
  ImportCounts counts;
  ListWriter list(out);
  CsvReader node_rows(std::move(nodes));
  while (node_rows.Next()) {
    if (static_cast<std::size_t>(++counts.nodes) > kTraceNodesMax) {
      node_rows.Fail(fmt::format("more than {} nodes", kTraceNodesMax));
    }
    const std::string node = PrintNode(node_rows, counts.gpus);
    if (!node_rows.error()) list.Add(node);
  }
  if (node_rows.error()) return std::unexpected(*node_rows.error());
  CsvReader pod_rows(std::move(pods));
  while (static_cast<std::size_t>(counts.pods) < std::min(pods_max, kTracePodsMax) &&
         pod_rows.Next()) {
    ++counts.pods;
    const std::string pod = PrintPod(pod_rows);
    if (!pod_rows.error()) list.Add(pod);
  }
  if (pod_rows.error()) return std::unexpected(*pod_rows.error());
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
