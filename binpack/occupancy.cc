// Occupy, Release and IsFree: what a piece takes of its device, in one place.
#include <algorithm>
#include <cassert>
#include <utility>

#include "binpack/mig_packing.h"
#include "binpack/placement.h"

namespace offcut::binpack {
namespace {

InstancePool* FindPool(NodeState& node, const Piece& piece) {
  const auto index = static_cast<std::size_t>(piece.pool);
  return piece.pool >= 0 && index < node.pools.size() ? &node.pools[index] : nullptr;
}

Gpu* FindGpu(NodeState& node, const Piece& piece) {
  const auto index = static_cast<std::size_t>(piece.gpu);
  return piece.gpu >= 0 && index < node.gpus.size() ? &node.gpus[index] : nullptr;
}

bool TakeInstance(Gpu& gpu, const Piece& piece) {
  auto* mig = std::get_if<MigGpu>(&gpu.state);
  if (mig == nullptr || gpu.model == nullptr || piece.profile < 0) return false;
  const auto profile = static_cast<std::size_t>(piece.profile);
  if (profile >= gpu.model->profiles.size()) return false;
  const MigProfile& geometry = gpu.model->profiles[profile];
  const bool is_legal = piece.slices.size == geometry.memory_slices &&
                        std::ranges::count(geometry.starts, piece.slices.start) == 1;
  if (!is_legal || !FitsAt(geometry, piece.slices.start, RoomOf(*gpu.model, *mig))) return false;
  const auto after = std::ranges::find_if(mig->instances, [&](const MigInstance& instance) {
    return instance.slices.start > piece.slices.start;
  });
  mig->instances.insert(after, {piece.profile, piece.slices});
  return true;
}

bool TakeFraction(Gpu& gpu, const Piece& piece) {
  auto* fractional = std::get_if<FractionalGpu>(&gpu.state);
  if (fractional == nullptr || piece.memory_mib < 0 || piece.cores_percent < 0) return false;
  if (fractional->sharers >= fractional->sharers_max ||
      piece.memory_mib > gpu.memory_mib - fractional->memory_mib_used ||
      piece.cores_percent > fractional->cores_percent - fractional->cores_percent_used) {
    return false;
  }
  fractional->memory_mib_used += piece.memory_mib;
  fractional->cores_percent_used += piece.cores_percent;
  ++fractional->sharers;
  return true;
}

// Takes one piece, or leaves the node as it is and returns false where it is not there or not free.
bool Take(NodeState& node, const Piece& piece) {
  if (piece.kind == PieceKind::kInstance && piece.pool >= 0) {
    InstancePool* pool = FindPool(node, piece);
    if (pool == nullptr || pool->units_used >= pool->units + pool->units_unhealthy) return false;
    ++pool->units_used;
    return true;
  }
  Gpu* gpu = FindGpu(node, piece);
  if (gpu == nullptr) return false;
  switch (piece.kind) {
    case PieceKind::kWhole: {
      auto* whole = std::get_if<WholeGpu>(&gpu->state);
      return whole != nullptr && !std::exchange(whole->taken, true);
    }
    case PieceKind::kSlot: {
      auto* shared = std::get_if<SharedGpu>(&gpu->state);
      if (shared == nullptr || shared->slots_used >= shared->slots) return false;
      ++shared->slots_used;
      return true;
    }
    case PieceKind::kInstance:
      return TakeInstance(*gpu, piece);
    case PieceKind::kFraction:
      return TakeFraction(*gpu, piece);
  }
  return false;
}

void GiveBack(NodeState& node, const Piece& piece) {
  if (InstancePool* pool = FindPool(node, piece); pool != nullptr) {
    assert(pool->units_used > 0);
    --pool->units_used;
    return;
  }
  Gpu* gpu = FindGpu(node, piece);
  assert(gpu != nullptr);
  if (auto* whole = std::get_if<WholeGpu>(&gpu->state)) {
    assert(whole->taken);
    whole->taken = false;
  } else if (auto* shared = std::get_if<SharedGpu>(&gpu->state)) {
    assert(shared->slots_used > 0);
    --shared->slots_used;
  } else if (auto* mig = std::get_if<MigGpu>(&gpu->state)) {
    const auto found = std::ranges::find(mig->instances, MigInstance{piece.profile, piece.slices});
    assert(found != mig->instances.end());
    mig->instances.erase(found);
  } else if (auto* fractional = std::get_if<FractionalGpu>(&gpu->state)) {
    assert(fractional->sharers > 0);
    fractional->memory_mib_used -= piece.memory_mib;
    fractional->cores_percent_used -= piece.cores_percent;
    --fractional->sharers;
  }
}

}  // namespace

void Occupy(NodeState& node, const Placement& placement) {
  for (const Piece& piece : placement.pieces) {
    const bool is_taken = Take(node, piece);
    assert(is_taken);
    (void)is_taken;
  }
}

void Release(NodeState& node, const Placement& placement) {
  for (const Piece& piece : placement.pieces) GiveBack(node, piece);
}

bool IsFree(const NodeState& node, const Placement& placement) {
  NodeState trial = node;
  return std::ranges::all_of(placement.pieces,
                             [&](const Piece& piece) { return Take(trial, piece); });
}

}  // namespace offcut::binpack
