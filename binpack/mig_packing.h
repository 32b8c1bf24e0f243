// Places several MIG profiles on several GPUs at once. Exact: finds a placement iff there is one.
// Pure; not synchronised.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "binpack/request_shape.h"

namespace offcut::binpack {

// The slices and the media engines that the GPU's instances leave free.
struct MigRoom {
  std::uint16_t free_slices = 0;  // bit i: slice i
  EngineCounts engines;
};
MigRoom RoomOf(const GpuModel& model, const MigGpu& gpu);

// Whether an instance of the profile fits into the room at `start`.
bool FitsAt(const MigProfile& profile, int start, const MigRoom& room);

// Takes the instance's slices and engines out of the room. Requires: FitsAt.
void TakeRoom(const MigProfile& profile, int start, MigRoom& room);

// Pieces that give `wanted` on the GPUs of `node` whose index is in `gpus`, or nullopt.
// Works GPU by GPU on the counts that can be served so far, and keeps only those that no other
// exceeds; a set of them larger than kServedCountsMax is given up, as nullopt.
inline constexpr std::size_t kServedCountsMax = 1024;
std::optional<std::vector<Piece>> PlaceJointly(const NodeState& node, std::span<const int> gpus,
                                               std::span<const ProfileCount> wanted);

}  // namespace offcut::binpack
