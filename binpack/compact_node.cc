#include "binpack/compact_node.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "binpack/mig_packing.h"

namespace offcut::binpack {
namespace {

void Describe(const Gpu&, const WholeGpu&, CompactGpu& gpu) { gpu.kind = GpuKind::kWhole; }

void Describe(const Gpu& from, const MigGpu& state, CompactGpu& gpu) {
  if (from.model == nullptr) return;
  gpu.kind = GpuKind::kMig;
  gpu.slices = static_cast<std::uint8_t>(from.model->memory_slices);
  gpu.free_slices = RoomOf(*from.model, state).free_slices;
  for (const MigInstance& instance : state.instances) {
    gpu.starts = static_cast<std::uint16_t>(gpu.starts | SliceMask({instance.slices.start, 1}));
  }
}

void Describe(const Gpu&, const SharedGpu& state, CompactGpu& gpu) {
  gpu.kind = GpuKind::kShared;
  gpu.slots = state.slots;
  gpu.free_slots = state.slots - state.slots_used;
}

void Describe(const Gpu& from, const FractionalGpu& state, CompactGpu& gpu) {
  gpu.kind = GpuKind::kFractional;
  gpu.free_sharers = state.sharers_max - state.sharers;
  gpu.memory_mib = from.memory_mib;
  gpu.free_memory_mib = from.memory_mib - state.memory_mib_used;
  gpu.cores_percent = state.cores_percent;
  gpu.free_cores_percent = state.cores_percent - state.cores_percent_used;
}

std::int32_t LowestLike(const NodeState& node, std::size_t g) {
  for (std::size_t lower = 0; lower < g; ++lower) {
    if (node.gpus[lower].model == node.gpus[g].model &&
        node.gpus[lower].product == node.gpus[g].product) {
      return static_cast<std::int32_t>(lower);
    }
  }
  return static_cast<std::int32_t>(g);
}

CompactGpu CompactAt(const NodeState& node, std::size_t g) {
  const Gpu& from = node.gpus[g];
  CompactGpu gpu{.model = LowestLike(node, g)};
  if (from.health != GpuHealth::kHealthy) return gpu;
  std::visit([&](const auto& state) { Describe(from, state, gpu); }, from.state);
  if (gpu.kind != GpuKind::kClosed) gpu.free_units = kGpuUnits - UsedUnits(from);
  return gpu;
}

bool IsEntirelyFree(const CompactGpu& gpu) {
  const bool can_be_whole = gpu.kind == GpuKind::kWhole || gpu.kind == GpuKind::kFractional;
  return can_be_whole && gpu.free_units == kGpuUnits;
}

int UsedShare(std::int64_t total, std::int64_t free) {
  if (total == 0) return 0;
  return static_cast<int>(std::min<std::int64_t>(kGpuUnits, kGpuUnits * (total - free) / total));
}

}  // namespace

CompactNode Compact(const NodeState& node) {
  CompactNode compact{.free_cpu_milli = node.allocatable.cpu_milli - node.used.cpu_milli,
                      .used_units = UsedUnits(node),
                      .total_units = TotalUnits(node)};
  compact.gpus.reserve(node.gpus.size());
  for (std::size_t g = 0; g < node.gpus.size(); ++g) {
    compact.gpus.push_back(CompactAt(node, g));
    compact.free_units += compact.gpus.back().free_units;
    compact.free_gpus += IsEntirelyFree(compact.gpus.back()) ? 1 : 0;
  }
  for (InstancePool pool : node.pools) {
    const int used = UsedUnits(pool, node.pool_model.get());
    pool.units_used = std::max(pool.units, pool.units_used);
    compact.free_units += UsedUnits(pool, node.pool_model.get()) - used;
  }
  return compact;
}

CompactGpu WithPiece(CompactGpu gpu, const Piece& piece) {
  switch (piece.kind) {
    case PieceKind::kWhole:
      gpu.free_units = 0;
      break;
    case PieceKind::kSlot:
      --gpu.free_slots;
      gpu.free_units = kGpuUnits - kGpuUnits * (gpu.slots - gpu.free_slots) / gpu.slots;
      break;
    case PieceKind::kInstance: {
      gpu.free_slices = static_cast<std::uint16_t>(gpu.free_slices & ~SliceMask(piece.slices));
      gpu.starts = static_cast<std::uint16_t>(gpu.starts | SliceMask({piece.slices.start, 1}));
      const int used = gpu.slices - std::popcount(gpu.free_slices);
      gpu.free_units = kGpuUnits - kGpuUnits * used / gpu.slices;
      break;
    }
    case PieceKind::kFraction:
      --gpu.free_sharers;
      gpu.free_memory_mib -= piece.memory_mib;
      gpu.free_cores_percent -= piece.cores_percent;
      gpu.free_units = kGpuUnits - std::max(UsedShare(gpu.memory_mib, gpu.free_memory_mib),
                                            UsedShare(gpu.cores_percent, gpu.free_cores_percent));
      break;
  }
  return gpu;
}

std::int64_t PoolUnitsTaken(const NodeState& node, const Placement& placement) {
  std::int64_t units = 0;
  for (std::size_t p = 0; p < node.pools.size(); ++p) {
    InstancePool pool = node.pools[p];
    const int before = UsedUnits(pool, node.pool_model.get());
    pool.units_used +=
        static_cast<int>(std::ranges::count(placement.pieces, static_cast<int>(p), &Piece::pool));
    units += UsedUnits(pool, node.pool_model.get()) - before;
  }
  return units;
}

int RequestKindOf(const Placement& placement) {
  constexpr std::ptrdiff_t kind_max = 31;
  if (placement.pieces.size() == 1) {
    const Piece& piece = placement.pieces.front();
    const bool is_part = piece.kind == PieceKind::kSlot || piece.kind == PieceKind::kInstance ||
                         (piece.kind == PieceKind::kFraction && piece.cores_percent < 100);
    return is_part ? 0 : 1;
  }
  return static_cast<int>(std::min(std::ssize(placement.pieces), kind_max));
}

}  // namespace offcut::binpack
