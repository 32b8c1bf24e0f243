// The target workload: the distribution of requests that we expect, as classes of equal requests
// with counts. What a placement costs the future is judged by it.
//
// It speaks of a GPU's share and not of resource names, so that it means the same on every node.
// Counts, not probabilities: sums stay integers, and a threshold is never missed by the order of
// additions.
// Units: thousandths of a CPU; parts of a GPU in kGpuUnits.
// Source: the FGD artifact (Weng et al., USENIX ATC 2023), which takes the classes that cover 95 %.
// Pure values; immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "binpack/node_state.h"

namespace offcut::binpack {

enum class DemandKind {
  kHostOnly,  // no device
  kShare,     // `gpus` distinct GPUs, `share_units` of each; kGpuUnits: whole ones
  kSlot,      // `gpus` slots
  kInstance,  // `gpus` MIG instances of `profile`
};

struct ExpectedRequest {
  std::int64_t cpu_milli = 0;
  DemandKind kind = DemandKind::kHostOnly;
  int gpus = 0;         // 0 iff kHostOnly
  int share_units = 0;  // of one GPU, slot or instance: 1..kGpuUnits; 0, not of kShare: not known
  std::string profile;  // kInstance
  std::vector<std::string> models;  // globs that GpuConstraint::models_allowed takes; empty: any

  bool operator==(const ExpectedRequest&) const = default;
};

// Of all its GPUs, slots or instances; those of unknown size count as a tenth of a GPU.
std::int64_t RequestedUnits(const ExpectedRequest& request);

struct WorkloadClass {
  ExpectedRequest request;
  std::int64_t count = 0;  // positive
  bool operator==(const WorkloadClass&) const = default;
};

struct TargetWorkload {
  std::vector<WorkloadClass> classes;  // most frequent first
  bool operator==(const TargetWorkload&) const = default;
};

std::int64_t TotalCount(const TargetWorkload& workload);

// More classes than this would make a score slow without making it better.
inline constexpr std::size_t kWorkloadClassesMax = 100;

// The shortest prefix of the classes, by descending count, that covers 95 % of the requests, but at
// most kWorkloadClassesMax. Of equally frequent classes the larger request comes first: by CPU,
// share, GPUs, models joined by '|', then kind and profile. The order of `requests` does not
// matter.
TargetWorkload DeriveTargetWorkload(std::span<const ExpectedRequest> requests);

// The kWorkloadClassesMax classes with the greatest share of the requests plus share of the GPU
// capacity that is asked for; equal ones as above. Slots and instances of unknown size count as a
// tenth of a GPU.
TargetWorkload DeriveBroadWorkload(std::span<const ExpectedRequest> requests);
// The same of requests that are counted already; equal ones are added up.
TargetWorkload DeriveBroadWorkload(std::span<const WorkloadClass> classes);

// The count, which is not negative, with all but its three highest bits 0: 7, 8, 10, 12, 14,
// 16, 20. On that scale it mostly stays while a few come and go, and is a function of the count
// alone.
std::int64_t CoarseCount(std::int64_t count);

// The same for the same classes with the same counts in the same order, on every platform.
// Different workloads have different ones but by accident.
std::uint64_t HashOf(const TargetWorkload& workload);

}  // namespace offcut::binpack
