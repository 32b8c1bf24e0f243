// Where a shape fits on a node: all or nothing.
//
// MIG profiles of one request are placed jointly, since a greedy choice fails where a plan exists:
// a 3g put at slice 0 leaves no room for the 4g that comes next.
// Pure; not synchronised.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "binpack/request_shape.h"

namespace offcut::binpack {

// Why a shape does not fit, the first that applies in this order.
enum class Obstacle {
  kNone,
  kHostCpu,
  kHostMemory,
  kHostPods,
  kNoDevices,  // the node has no device of the kind that is asked for
  kModel,      // no GPU of an accepted model
  kUuid,       // no GPU of an accepted UUID, or UUIDs are not known
  kProfile,    // no GPU of the node has the profile
  kNeverFits,  // more than the empty node could give
  kUnhealthy,  // would fit if unhealthy or cordoned devices took pods
  kWholeGpusTaken,
  kSlotsTaken,
  kInstancesTaken,  // fewer instances or slices free than asked for
  kFragmented,      // enough slices are free, but not where the profile may stand
  kSharersTaken,    // fractions: each GPU has as many sharers as it may
  kMemoryTaken,     // fractions: MiB
  kCoresTaken,      // fractions: percent
};

// Whether `shape` fits on the node as it stands, and if not, why.
Obstacle FindObstacle(const NodeState& node, const RequestShape& shape);

// The same as FindObstacle() == kNone, for those who need no reason.
bool Fits(const NodeState& node, const RequestShape& shape);

// How many equal pieces a shape asks for that each find room on one GPU: whole GPUs, slots,
// instances of one profile, or a container's shares of distinct GPUs. nullopt: it asks for pieces
// of several kinds, of pools, of the host, or for none.
std::optional<int> EqualPiecesOf(const RequestShape& shape);
// How many of them that GPU has room for. The shape fits on a node exactly where its GPUs have room
// for as many as it asks for. Requires: EqualPiecesOf(shape).
int RoomForPieces(const NodeState& node, std::size_t gpu, const RequestShape& shape);

// Any placement of the shape, or nullopt. Ignores host resources. The search is exact but for
// fractions, where it gives up after kSearchStepsMax steps.
std::optional<Placement> FindPlacement(const NodeState& node, const RequestShape& shape);

// Calls `visit` for each placement of the shape until it returns false; host resources are ignored.
// Placements that differ only by exchanging interchangeable GPUs, or equal pieces, are one; the one
// with the lowest GPU indices and starts is visited, in ascending order of (GPU, start).
// At most kPlacementsMax are visited and kSearchStepsMax steps taken.
inline constexpr int kPlacementsMax = 4096;
inline constexpr int kSearchStepsMax = 200'000;
void ForEachPlacement(const NodeState& node, const RequestShape& shape,
                      const std::function<bool(const Placement&)>& visit);

// Where the kubelet and NVIDIA's device plugin would put the shape: whole GPUs by lowest index,
// each slot on the least used GPU, pools by count. nullopt: it does not fit.
std::optional<Placement> KubeletPlacement(const NodeState& node, const RequestShape& shape);

// Marks the pieces as taken, or free again. Host resources are the caller's.
// Requires: the pieces are free, or taken, on the node.
void Occupy(NodeState& node, const Placement& placement);
void Release(NodeState& node, const Placement& placement);

// Whether every piece is there and free (on a GPU of any health).
bool IsFree(const NodeState& node, const Placement& placement);

}  // namespace offcut::binpack
