// What scoring reads of a node, in a few dozen bytes a GPU: derived once when the node changes, so
// that pricing a request copies no NodeState, follows no string and divides nothing.
//
// A GPU that takes no pod (unhealthy, cordoned) is closed and has nothing free. Media engines are
// left out: whether an instance may be made is decided on the NodeState, and what it leaves behind
// is priced by slices alone.
// Units: kGpuUnits a GPU, MiB, percent of cores, memory slices, thousandths of a CPU.
// Pure values.
#pragma once

#include <cstdint>
#include <vector>

#include "binpack/placement.h"

namespace offcut::binpack {

enum class GpuKind : std::uint8_t { kClosed, kWhole, kMig, kShared, kFractional };

struct CompactGpu {
  GpuKind kind = GpuKind::kClosed;
  std::uint8_t slices = 0;        // kMig: what the GPU has
  std::uint16_t free_slices = 0;  // kMig: bit i: slice i
  std::uint16_t starts = 0;       // kMig: bit i: an instance in use starts at slice i
  std::int32_t free_units = 0;    // kGpuUnits less UsedUnits(Gpu)
  std::int32_t model = 0;         // the lowest GPU of the node of the same model and product
  std::int32_t slots = 0;         // kShared
  std::int32_t free_slots = 0;
  std::int32_t free_sharers = 0;  // kFractional
  std::int32_t memory_mib = 0;    // kFractional
  std::int32_t free_memory_mib = 0;
  std::int32_t cores_percent = 0;  // kFractional
  std::int32_t free_cores_percent = 0;

  bool operator==(const CompactGpu&) const = default;
};

struct CompactNode {
  std::vector<CompactGpu> gpus;  // as in NodeState::gpus
  std::int64_t free_cpu_milli = 0;
  std::int64_t free_units = 0;   // of open GPUs and of pools
  std::int64_t used_units = 0;   // UsedUnits(NodeState)
  std::int64_t total_units = 0;  // TotalUnits(NodeState)
  // Open ones of which nothing is taken, whole or cut by percent: what a pod that wants GPUs whole
  // can have.
  std::int32_t free_gpus = 0;
  // Bit RequestKindOf() is set for each pod on the node that holds devices. NodeState knows no
  // pods, so whoever does sets it.
  std::uint32_t request_kinds = 0;

  bool operator==(const CompactNode&) const = default;
};

// Requires: fewer than 2^31 GPUs. `request_kinds` is 0.
CompactNode Compact(const NodeState& node);

// What the GPU is once the piece is taken. Requires: the piece is on this GPU, and free.
CompactGpu WithPiece(CompactGpu gpu, const Piece& piece);

// What part of the node's capacity the piece takes of pools; 0 for one on a GPU.
std::int64_t PoolUnitsTaken(const NodeState& node, const Placement& placement);

// 0: a part of one GPU; k: k devices. One that counts more than 31 is as one of 31.
int RequestKindOf(const Placement& placement);

}  // namespace offcut::binpack
