// Enumerates what a GPU in MIG mode can look like. For tables over all states and for tests; a
// decision never needs more than the placements of one request.
// Pure; not synchronised.
#pragma once

#include <cstdint>
#include <vector>

#include "binpack/gpu_model.h"

namespace offcut::binpack {

// Where one instance stands: slices [start, start + size), as NVML's nvmlGpuInstancePlacement_t.
struct SliceRange {
  int start = 0;
  int size = 0;
  bool operator==(const SliceRange&) const = default;
};

struct MigInstance {
  int profile = 0;  // index in GpuModel::profiles
  SliceRange slices;
  bool operator==(const MigInstance&) const = default;
};

// Bit i is set where slice i belongs to the range. No model has more than 16 slices.
// Requires: 0 <= start, 0 <= size, start + size <= 16.
std::uint16_t SliceMask(SliceRange slices);

// Which profiles an enumeration uses: indices in GpuModel::profiles.
using ProfileSet = std::vector<int>;

ProfileSet AllProfiles(const GpuModel& model);
// Those without suffix ("+me" and its like).
ProfileSet BaseProfiles(const GpuModel& model);
// Those without suffix whose memory is not doubled: 1g, 2g, 3g, 4g and 7g on a 7-slice part.
ProfileSet ClassicProfiles(const GpuModel& model);

// A set of instances, ordered by start; empty: a GPU with no instance.
using MigState = std::vector<MigInstance>;

// kIgnored drops the rule that media engines must suffice; only a test has a use for it.
enum class EngineLimits { kApplied, kIgnored };

// Every legal state that `profiles` can form, the empty one included, each once. Fewer instances
// come first; within that, the order is lexicographic by (start, place in `profiles`).
std::vector<MigState> ReachableStates(const GpuModel& model, const ProfileSet& profiles,
                                      EngineLimits limits = EngineLimits::kApplied);

// True iff no further instance of any of `profiles` fits beside those of `state` as they stand.
bool IsMaximal(const GpuModel& model, const ProfileSet& profiles, const MigState& state,
               EngineLimits limits = EngineLimits::kApplied);

// How many instances of each profile: element i counts profiles[i] of the model.
std::vector<int> ProfileCounts(const GpuModel& model, const MigState& state);

}  // namespace offcut::binpack
