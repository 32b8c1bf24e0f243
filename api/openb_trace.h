// The Alibaba GPU cluster trace of 2023 ("openb"): its rows, and what they are as nodes and pods.
//
// What the trace does not say, we decide as the published simulations do: a GPU can be shared by
// percent of its cores, and an agent obeys us in which one a pod gets. GPU memory is not in the
// trace; a share takes as many percent of it as of the cores, rounded down, so that it is never
// what is scarce. Source: github.com/alibaba/clusterdata, cluster-trace-gpu-v2023/csv.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "api/csv_reader.h"
#include "api/error.h"
#include "scheduler/node.h"
#include "scheduler/pod.h"

namespace offcut::api {

inline constexpr std::size_t kTraceNodesMax = 100'000;
inline constexpr std::size_t kTracePodsMax = 1'000'000;
inline constexpr int kTraceGpusPerNodeMax = 64;
inline constexpr int kTraceGpuMilli = 1000;     // one GPU
inline constexpr int kTracePodsPerNode = 1001;  // never the limit: the trace knows none

struct OpenbNode {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  int gpus = 0;
  std::string model;  // empty iff there is no GPU
};

struct OpenbPod {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  int gpus = 0;
  int gpu_milli = 0;                // of each; below kTraceGpuMilli for one GPU only; 0: no GPU
  std::vector<std::string> models;  // allowed; empty: any, or no GPU
  std::int64_t created_s = 0;       // from the trace's start
  std::optional<std::int64_t> scheduled_s;
  std::optional<std::int64_t> deleted_s;
};

// Columns that are not used may be absent. Errors name FILE:LINE and the column.
std::expected<std::vector<OpenbNode>, Error> ReadOpenbNodes(CsvSource source);
// The first `pods_max`; the rest is not looked at. More than kTracePodsMax are an error.
std::expected<std::vector<OpenbPod>, Error> ReadOpenbPods(CsvSource source,
                                                          std::size_t pods_max = SIZE_MAX);

// How long it ran: from when it was scheduled until it was deleted; nullopt where it never was, or
// the trace does not say.
std::optional<std::int64_t> LifeOf(const OpenbPod& pod);

// GPU memory by datasheet, or 0: the trace's G1 to G3 are undisclosed.
int OpenbMemoryMib(const std::string& model);

// A node of GPUs that are shared by percent.
scheduler::Inventory ToInventory(const OpenbNode& node);

// The share in whole percent, rounded up. The UID is what tells two arrivals of one row apart.
scheduler::Pod ToPod(const OpenbPod& pod, std::string uid);

}  // namespace offcut::api
