#include "scheduler/demand.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "binpack/placement.h"

namespace offcut::scheduler {
namespace {

using binpack::DemandKind;
using binpack::NodeState;
using binpack::Piece;
using binpack::PieceKind;
using binpack::Placement;

std::optional<Placement> PlacementOnEmpty(const Inventory& inventory, Pod pod) {
  pod.request.constraint.uuids_allowed.clear();
  pod.request.constraint.uuids_denied.clear();
  const NodeShape on_node = ShapeOn(inventory, pod);
  if (on_node.mismatch || !on_node.missing.empty()) return std::nullopt;
  const NodeState devices = binpack::Healed(inventory.devices);
  if (binpack::FindObstacle(devices, on_node.shape) != binpack::Obstacle::kNone) {
    return std::nullopt;
  }
  return devices.picker == binpack::DevicePicker::kKubelet
             ? binpack::KubeletPlacement(devices, on_node.shape)
             : binpack::FindPlacement(devices, on_node.shape);
}

std::string ProfileOf(const NodeState& devices, const Piece& piece) {
  if (piece.pool >= 0) return devices.pools[static_cast<std::size_t>(piece.pool)].profile;
  const binpack::GpuModel& model = *devices.gpus[static_cast<std::size_t>(piece.gpu)].model;
  return model.profiles[static_cast<std::size_t>(piece.profile)].name;
}

std::int64_t UnitsOf(const NodeState& devices, const Piece& piece) {
  if (piece.pool >= 0) {
    binpack::InstancePool pool = devices.pools[static_cast<std::size_t>(piece.pool)];
    pool.units_used = 1;
    return binpack::UsedUnits(pool, devices.pool_model.get());
  }
  const binpack::Gpu& gpu = devices.gpus[static_cast<std::size_t>(piece.gpu)];
  binpack::Gpu with{.model = gpu.model, .memory_mib = gpu.memory_mib};
  switch (piece.kind) {
    case PieceKind::kWhole:
      with.state = binpack::WholeGpu{.taken = true};
      break;
    case PieceKind::kSlot:
      with.state = binpack::SharedGpu{.slots = std::get<binpack::SharedGpu>(gpu.state).slots,
                                      .slots_used = 1};
      break;
    case PieceKind::kInstance:
      with.state = binpack::MigGpu{.instances = {{piece.profile, piece.slices}}};
      break;
    case PieceKind::kFraction:
      with.state = binpack::FractionalGpu{
          .memory_mib_used = piece.memory_mib,
          .cores_percent = std::get<binpack::FractionalGpu>(gpu.state).cores_percent,
          .cores_percent_used = piece.cores_percent};
      break;
  }
  return binpack::UsedUnits(with);
}

DemandKind KindOf(PieceKind kind) {
  switch (kind) {
    case PieceKind::kWhole:
    case PieceKind::kFraction:
      return DemandKind::kShare;
    case PieceKind::kSlot:
      return DemandKind::kSlot;
    case PieceKind::kInstance:
      return DemandKind::kInstance;
  }
  assert(false);
  return DemandKind::kHostOnly;
}

}  // namespace

Demand DemandOf(const NodeState& devices, const Placement& placement, const Pod& pod) {
  Demand demand{.request = {.cpu_milli = pod.host.cpu_milli}};
  for (const Piece& piece : placement.pieces) demand.units += UnitsOf(devices, piece);
  const Piece& first = placement.pieces.front();
  demand.request.kind = KindOf(first.kind);
  demand.request.gpus = static_cast<int>(placement.pieces.size());
  demand.request.share_units = static_cast<int>(demand.units / demand.request.gpus);
  if (demand.request.kind == DemandKind::kShare && demand.request.share_units == 0) {
    demand.request.share_units = 1;
  }
  demand.request.models = pod.request.constraint.models_allowed;
  if (first.kind == PieceKind::kInstance) demand.request.profile = ProfileOf(devices, first);
  return demand;
}

std::string ClassNameOf(const Demand& demand) {
  if (demand.fits_no_node) return std::string(kUnplaceable);
  const binpack::ExpectedRequest& request = demand.request;
  const auto counted = [&](std::string_view what) {
    return std::to_string(request.gpus) + " " + std::string(what) + (request.gpus == 1 ? "" : "s");
  };
  switch (request.kind) {
    case DemandKind::kHostOnly:
      return "no GPU";
    case DemandKind::kShare:
      if (request.gpus == 1 && request.share_units < binpack::kGpuUnits) return "share";
      return counted("GPU");
    case DemandKind::kSlot:
      return counted("slot");
    case DemandKind::kInstance:
      return std::to_string(request.gpus) + " x " + request.profile;
  }
  return {};
}

std::optional<Demand> DemandOn(const Inventory& inventory, const Pod& pod) {
  const auto placement = PlacementOnEmpty(inventory, pod);
  if (!placement || placement->pieces.empty()) return std::nullopt;
  return DemandOf(inventory.devices, *placement, pod);
}

Demand DemandOf(const Snapshot& snapshot, const Pod& pod) {
  Demand nothing{.request = {.cpu_milli = pod.host.cpu_milli}};
  if (pod.request.empty()) return nothing;
  for (const auto& node : snapshot.nodes()) {
    if (const auto demand = DemandOn(node->inventory, pod)) return *demand;
  }
  nothing.fits_no_node = true;
  return nothing;
}

std::vector<binpack::GpuCapacity> CapacitiesOf(const Snapshot& snapshot) {
  std::vector<binpack::GpuCapacity> capacities;
  for (const auto& node : snapshot.nodes()) {
    for (const binpack::Gpu& gpu : node->inventory.devices.gpus) {
      const auto known = std::ranges::find_if(
          capacities, [&](const auto& each) { return binpack::IsOneModel(each.gpu, gpu); });
      if (known == capacities.end()) {
        capacities.push_back({.gpu = gpu, .count = 1});
      } else {
        ++known->count;
      }
    }
  }
  return capacities;
}

std::vector<int> NodeSizesOf(const Snapshot& snapshot) {
  const auto can_be_whole = [](const binpack::Gpu& gpu) {
    return std::holds_alternative<binpack::WholeGpu>(gpu.state) ||
           std::holds_alternative<binpack::FractionalGpu>(gpu.state);
  };
  std::set<int> sizes;
  for (const auto& node : snapshot.nodes()) {
    const std::vector<binpack::Gpu>& gpus = node->inventory.devices.gpus;
    if (!gpus.empty() && std::ranges::all_of(gpus, can_be_whole)) {
      sizes.insert(static_cast<int>(gpus.size()));
    }
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace offcut::scheduler
