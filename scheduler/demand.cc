#include "scheduler/demand.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "binpack/placement.h"

namespace offcut::scheduler {
namespace {

using binpack::DemandKind;
using binpack::NodeState;
using binpack::Piece;
using binpack::PieceKind;
using binpack::Placement;

std::optional<Placement> PlacementOnEmpty(const Inventory& inventory, const Pod& pod) {
  const NodeShape on_node = ShapeOn(inventory, pod);
  if (on_node.mismatch || !on_node.missing.empty()) return std::nullopt;
  if (binpack::FindObstacle(inventory.devices, on_node.shape) != binpack::Obstacle::kNone) {
    return std::nullopt;
  }
  return inventory.devices.picker == binpack::DevicePicker::kKubelet
             ? binpack::KubeletPlacement(inventory.devices, on_node.shape)
             : binpack::FindPlacement(inventory.devices, on_node.shape);
}

std::string ProfileOf(const NodeState& devices, const Piece& piece) {
  if (piece.pool >= 0) return devices.pools[static_cast<std::size_t>(piece.pool)].profile;
  const binpack::GpuModel& model = *devices.gpus[static_cast<std::size_t>(piece.gpu)].model;
  return model.profiles[static_cast<std::size_t>(piece.profile)].name;
}

void Describe(const NodeState& devices, const Placement& placement, Demand& demand) {
  NodeState with = devices;
  binpack::Occupy(with, placement);
  demand.units = binpack::UsedUnits(with) - binpack::UsedUnits(devices);
  const Piece& first = placement.pieces.front();
  demand.request.gpus = static_cast<int>(placement.pieces.size());
  switch (first.kind) {
    case PieceKind::kWhole:
    case PieceKind::kFraction:
      demand.request.kind = DemandKind::kShare;
      demand.request.share_units = static_cast<int>(demand.units / demand.request.gpus);
      break;
    case PieceKind::kSlot:
      demand.request.kind = DemandKind::kSlot;
      break;
    case PieceKind::kInstance:
      demand.request.kind = DemandKind::kInstance;
      demand.request.profile = ProfileOf(devices, first);
      break;
  }
}

}  // namespace

Demand DemandOf(const Snapshot& snapshot, const Pod& pod) {
  Demand demand{.request = {.cpu_milli = pod.host.cpu_milli}};
  if (pod.request.empty()) return demand;
  for (const auto& node : snapshot.nodes()) {
    const auto placement = PlacementOnEmpty(node->inventory, pod);
    if (!placement || placement->pieces.empty()) continue;
    demand.request.models = pod.request.constraint.models_allowed;
    Describe(node->inventory.devices, *placement, demand);
    break;
  }
  return demand;
}

std::string ClassNameOf(const binpack::ExpectedRequest& request) {
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

std::vector<binpack::GpuCapacity> CapacitiesOf(const Snapshot& snapshot) {
  std::vector<binpack::GpuCapacity> capacities;
  for (const auto& node : snapshot.nodes()) {
    for (const binpack::Gpu& gpu : node->inventory.devices.gpus) {
      const auto known = std::ranges::find_if(capacities, [&](const auto& each) {
        return each.gpu.model == gpu.model && each.gpu.product == gpu.product;
      });
      if (known == capacities.end()) {
        capacities.push_back({.gpu = gpu, .count = 1});
      } else {
        ++known->count;
      }
    }
  }
  return capacities;
}

}  // namespace offcut::scheduler
