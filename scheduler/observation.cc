#include "scheduler/observation.h"

#include <algorithm>

namespace offcut::scheduler {
namespace {

using binpack::Piece;
using binpack::PieceKind;
using binpack::Placement;

std::vector<int> SortedGpus(const Placement& placement) {
  std::vector<int> gpus(placement.pieces.size());
  std::ranges::transform(placement.pieces, gpus.begin(), &Piece::gpu);
  std::ranges::sort(gpus);
  return gpus;
}

}  // namespace

GpuIdentities::GpuIdentities(const binpack::NodeState& devices) : is_named_(devices.gpus.size()) {
  for (std::size_t i = 0; i < devices.gpus.size(); ++i) {
    if (devices.gpus[i].uuid.empty()) continue;
    by_uuid_.emplace(devices.gpus[i].uuid, static_cast<int>(i));
    is_named_[i] = true;
  }
}

int GpuIdentities::IndexOf(std::string_view uuid, int preferred) {
  if (const auto known = by_uuid_.find(uuid); known != by_uuid_.end()) return known->second;
  const auto is_unnamed = [&](int index) {
    return index >= 0 && index < std::ssize(is_named_) &&
           !is_named_[static_cast<std::size_t>(index)];
  };
  const int index = is_unnamed(preferred)
                        ? preferred
                        : static_cast<int>(std::ranges::find(is_named_, false) - is_named_.begin());
  if (!is_unnamed(index)) return -1;
  is_named_[static_cast<std::size_t>(index)] = true;
  by_uuid_.emplace(uuid, index);
  return index;
}

std::optional<Observation> Observe(const Pod& pod, const binpack::RequestShape& shape,
                                   const Placement* assumed, GpuIdentities& identities) {
  const int asked = shape.whole_gpus + shape.slots;
  const bool is_whole_answer = asked > 0 && std::ssize(pod.observed) == asked &&
                               shape.pool_units.empty() && shape.profiles.empty() &&
                               shape.fractions.empty() &&
                               (shape.whole_gpus == 0 || shape.slots == 0);
  if (!is_whole_answer) return std::nullopt;
  const PieceKind kind = shape.slots > 0 ? PieceKind::kSlot : PieceKind::kWhole;
  Observation observation;
  for (std::size_t i = 0; i < pod.observed.size(); ++i) {
    const bool has_guess = assumed != nullptr && i < assumed->pieces.size();
    const int index =
        identities.IndexOf(pod.observed[i].gpu_uuid, has_guess ? assumed->pieces[i].gpu : -1);
    if (index < 0) return std::nullopt;
    observation.placement.pieces.push_back({.kind = kind, .gpu = index});
    observation.uuids.push_back(pod.observed[i].gpu_uuid);
    if (pod.observed[i].is_unhealthy) observation.unhealthy.push_back(index);
  }
  return observation;
}

bool IsDrift(const Placement& assumed, const Placement& observed) {
  return SortedGpus(assumed) != SortedGpus(observed);
}

}  // namespace offcut::scheduler
