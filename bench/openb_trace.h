// The Alibaba GPU cluster trace of 2023 ("openb") as nodes and pending pods, in the form in which
// kubectl prints them.
//
// What the trace does not say, the import decides: nodes run NVIDIA's stock device plugin and offer
// whole GPUs; a pod that asks for a part of one GPU names nvidia.com/gpucores, rounded up to whole
// percent; allowed models become the annotation offcut.dev/gpu-models.
// Source: github.com/alibaba/clusterdata, cluster-trace-gpu-v2023/csv.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <iosfwd>
#include <limits>
#include <optional>
#include <string>

#include "api/error.h"
#include "api/openb_trace.h"

namespace offcut::bench {

struct ImportCounts {
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;
  std::int64_t pods = 0;
  bool operator==(const ImportCounts&) const = default;
};

// Writes one List, an object a line. Nodes without a GPU are written too. At most
// `pods_max` pods are read. Errors name FILE:LINE and the column.
std::expected<ImportCounts, api::Error> ImportOpenb(api::CsvSource nodes, api::CsvSource pods,
                                                    std::size_t pods_max, std::ostream& out);

// The same, from and to files; an existing file is replaced.
std::expected<ImportCounts, api::Error> ImportOpenbFiles(const std::string& nodes_path,
                                                         const std::string& pods_path,
                                                         std::size_t pods_max,
                                                         const std::string& out_path);

// The folder with the trace's files: that of the environment variable OFFCUT_TRACES, else the
// default of the build. nullopt: it is not there.
std::optional<std::filesystem::path> FindTraces();

// Says where the traces are looked for, and where the public originals are.
std::string TracesMissingText();

inline constexpr const char* kTraceNodesFile = "openb_node_list_gpu_node.csv";
inline constexpr const char* kTracePodsFile = "openb_pod_list_default.csv";

}  // namespace offcut::bench
