#include "scheduler/occupants.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "binpack/indexing.h"

namespace offcut::scheduler {
namespace {

using binpack::At;
using binpack::NodeState;
using binpack::Piece;
using binpack::PieceKind;

Commons OfSharing(binpack::Sharing sharing) {
  return sharing == binpack::Sharing::kMps ? kMpsSlots : kTimeSlices;
}

Commons OfPool(const NodeState& devices, int pool) {
  constexpr int bits_before = 3;
  constexpr int bits_left = 64 - bits_before;
  if (At(devices.pools, pool).replicas <= 1) return 0;
  return kReplicas << static_cast<unsigned>(std::min(pool, bits_left - 1));
}

Commons OfPiece(const NodeState& devices, const Piece& piece) {
  switch (piece.kind) {
    case PieceKind::kWhole:
      return 0;
    case PieceKind::kSlot:
      return OfSharing(std::get<binpack::SharedGpu>(At(devices.gpus, piece.gpu).state).sharing);
    case PieceKind::kInstance:
      return piece.pool >= 0 ? OfPool(devices, piece.pool) : 0;
    case PieceKind::kFraction:
      return kFractions;
  }
  assert(false);
  return 0;
}

std::uint64_t HashOf(const Owner& owner) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15ULL;
  const std::hash<std::string_view> hash;
  return (hash(owner.name_space) * odd + hash(owner.tenant_label)) * odd + hash(owner.queue);
}

}  // namespace

Commons CommonsOf(const NodeState& devices, const binpack::RequestShape& shape) {
  Commons commons = 0;
  for (const binpack::Gpu& gpu : devices.gpus) {
    const auto* shared = std::get_if<binpack::SharedGpu>(&gpu.state);
    if (shape.slots > 0 && shared != nullptr) commons |= OfSharing(shared->sharing);
    const bool is_fractional = std::holds_alternative<binpack::FractionalGpu>(gpu.state);
    if (!shape.fractions.empty() && is_fractional) commons |= kFractions;
  }
  for (const binpack::PoolCount& wanted : shape.pool_units) {
    commons |= OfPool(devices, wanted.pool);
  }
  return commons;
}

Commons CommonsOf(const NodeState& devices, const binpack::Placement& placement) {
  Commons commons = 0;
  for (const Piece& piece : placement.pieces) commons |= OfPiece(devices, piece);
  return commons;
}

void AddOccupant(const Pod& pod, Commons commons, Occupants& occupants) {
  Occupant occupant{.commons = commons,
                    .owner = {.name_space = pod.name_space,
                              .tenant_label = pod.tenant_label,
                              .queue = pod.admitted_queue}};
  occupant.hash = HashOf(occupant.owner);
  const auto key_of = [](const Occupant& each) { return std::tie(each.hash, each.owner); };
  const auto place = std::ranges::lower_bound(occupants, key_of(occupant), {}, key_of);
  if (place != occupants.end() && key_of(*place) == key_of(occupant)) {
    place->commons |= commons;
  } else {
    occupants.insert(place, std::move(occupant));
  }
}

}  // namespace offcut::scheduler
