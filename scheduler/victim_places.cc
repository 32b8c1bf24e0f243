#include "scheduler/victim_places.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <variant>

#include "binpack/indexing.h"

namespace offcut::scheduler {
namespace {

using binpack::Gpu;
using binpack::Piece;
using binpack::SliceRange;

constexpr std::size_t kNoUnit = std::numeric_limits<std::size_t>::max();

// Part of a device that somebody holds.
struct Tenure {
  std::size_t unit = kNoUnit;  // kNoUnit: of somebody who stays whatever happens
  bool may_go = false;
  SliceRange slices;  // size 0: of the whole device, or of any part of it
};

bool Overlaps(const SliceRange& a, const SliceRange& b) {
  if (a.size == 0 || b.size == 0) return true;
  return a.start < b.start + b.size && b.start < a.start + a.size;
}

// Whether one piece of the request needs a place for itself: then all who stand there must go.
bool NeedsAll(const binpack::RequestShape& shape) {
  return shape.whole_gpus > 0 || !shape.profiles.empty();
}

bool IsOfOneEntry(const binpack::RequestShape& shape) {
  const std::size_t entries = (shape.whole_gpus > 0 ? 1 : 0) + (shape.slots > 0 ? 1 : 0) +
                              shape.pool_units.size() + shape.profiles.size() +
                              shape.fractions.size();
  return entries == 1;
}

// Whether the GPU may serve a piece once it is free enough.
bool MayServe(const Gpu& gpu, std::size_t index, const binpack::RequestShape& shape) {
  if (gpu.health != binpack::GpuHealth::kHealthy ||
      shape.accepted.Of(index) != binpack::Acceptance::kAccepted) {
    return false;
  }
  if (shape.whole_gpus > 0) return std::holds_alternative<binpack::WholeGpu>(gpu.state);
  if (shape.slots > 0) return std::holds_alternative<binpack::SharedGpu>(gpu.state);
  if (!shape.profiles.empty()) return std::holds_alternative<binpack::MigGpu>(gpu.state);
  return !shape.fractions.empty() && std::holds_alternative<binpack::FractionalGpu>(gpu.state);
}

class Finder {
 public:
  Finder(NodeVictims& victims, std::span<const std::size_t> lifted)
      : victims_(victims),
        shape_(victims.shape()),
        devices_(victims.node().inventory.devices),
        by_gpu_(devices_.gpus.size()),
        by_pool_(devices_.pools.size()) {
    ReadTenures(lifted);
    has_cores_ =
        PiecesAsked(shape_) == 1 && IsOfOneEntry(shape_) && !victims_.vacancy().HasRoomWithout({});
  }

  VictimPlaces Find() {
    for (const binpack::PoolCount& wanted : shape_.pool_units) {
      AddPlace(binpack::At(by_pool_, wanted.pool), {}, true);
    }
    for (std::size_t g = 0; g < devices_.gpus.size(); ++g) {
      const bool may_serve = MayServe(devices_.gpus[g], g, shape_);
      AddStarts(g, may_serve);
      const bool is_start = std::holds_alternative<binpack::MigGpu>(devices_.gpus[g].state);
      AddPlace(by_gpu_[g], {}, may_serve && !is_start);
    }
    std::ranges::sort(found_.places);
    const auto repeated = std::ranges::unique(found_.places);
    found_.places.erase(repeated.begin(), repeated.end());
    if (!has_cores_) found_.cores = {Units()};
    return std::move(found_);
  }

 private:
  void ReadTenures(std::span<const std::size_t> lifted) {
    const Node& node = victims_.node();
    std::vector<std::size_t> unit_of(node.holders.size(), kNoUnit);
    std::vector<bool> may_go(victims_.units().size());
    for (const std::size_t i : victims_.Eligible()) may_go[i] = true;
    for (std::size_t i = 0; i < victims_.units().size(); ++i) {
      for (const std::size_t h : victims_.units()[i].holders) unit_of[h] = i;
    }
    for (std::size_t h = 0; h < node.holders.size(); ++h) {
      if (std::ranges::find(lifted, h) != lifted.end()) continue;
      const std::size_t unit = unit_of[h];
      for (const Piece& piece : node.holders[h].placement.pieces) {
        Tenure tenure{.unit = unit, .may_go = unit != kNoUnit && may_go[unit], .slices = {}};
        if (piece.kind == binpack::PieceKind::kInstance) tenure.slices = piece.slices;
        if (piece.pool >= 0) binpack::At(by_pool_, piece.pool).push_back(tenure);
        if (piece.gpu >= 0) binpack::At(by_gpu_, piece.gpu).push_back(tenure);
      }
    }
  }

  void AddStarts(std::size_t gpu, bool may_serve) {
    const binpack::GpuModel* model = devices_.gpus[gpu].model.get();
    if (!std::holds_alternative<binpack::MigGpu>(devices_.gpus[gpu].state) || model == nullptr) {
      return;
    }
    for (const binpack::ProfileCount& wanted : shape_.profiles) {
      const std::optional<int> profile = model->FindProfile(wanted.profile);
      if (!profile) continue;
      const binpack::MigProfile& spec = binpack::At(model->profiles, *profile);
      for (const int start : spec.starts) {
        AddPlace(by_gpu_[gpu], {start, spec.memory_slices}, may_serve);
      }
    }
  }

  void AddPlace(std::span<const Tenure> tenures, SliceRange slices, bool may_serve) {
    Units units;
    bool all_may_go = true;
    for (const Tenure& tenure : tenures) {
      if (!Overlaps(tenure.slices, slices)) continue;
      all_may_go = all_may_go && tenure.may_go;
      if (tenure.unit != kNoUnit) units.push_back(tenure.unit);
      const bool is_core = may_serve && has_cores_ && tenure.may_go && !NeedsAll(shape_);
      if (is_core) found_.cores.push_back({tenure.unit});
    }
    std::ranges::sort(units);
    const auto repeated = std::ranges::unique(units);
    units.erase(repeated.begin(), repeated.end());
    if (may_serve && has_cores_ && all_may_go && NeedsAll(shape_)) found_.cores.push_back(units);
    found_.places.push_back(std::move(units));
  }

  NodeVictims& victims_;
  const binpack::RequestShape& shape_;
  const binpack::NodeState& devices_;
  std::vector<std::vector<Tenure>> by_gpu_;
  std::vector<std::vector<Tenure>> by_pool_;
  bool has_cores_ = false;  // else any set may do, as far as we know
  VictimPlaces found_;
};

}  // namespace

VictimPlaces FindPlaces(NodeVictims& victims, std::span<const std::size_t> lifted) {
  return Finder(victims, lifted).Find();
}

int PiecesAsked(const binpack::RequestShape& shape) {
  int count = shape.whole_gpus + shape.slots;
  for (const binpack::PoolCount& each : shape.pool_units) count += each.count;
  for (const binpack::ProfileCount& each : shape.profiles) count += each.count;
  for (const binpack::Fraction& each : shape.fractions) count += each.gpus;
  return count;
}

}  // namespace offcut::scheduler
