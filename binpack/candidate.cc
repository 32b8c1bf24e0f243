#include "binpack/candidate.h"

#include <algorithm>

#include "binpack/mig_packing.h"

namespace offcut::binpack {
namespace {

bool IsAccepted(const RequestShape& shape, std::size_t gpu) {
  return shape.accepted.Of(gpu) == Acceptance::kAccepted;
}

int InstancesOf(const RequestShape& shape) {
  int count = 0;
  for (const ProfileCount& wanted : shape.profiles) count += wanted.count;
  return count;
}

// Hands placements out as candidates, in buffers that it uses again.
class Announcer {
 public:
  Announcer(const NodeView& node, const std::function<void(const Candidate&)>& visit)
      : node_(node), visit_(visit) {}

  Placement& placement() { return candidate_.placement; }

  void Announce() {
    candidate_.changes.clear();
    candidate_.units_taken = 0;
    bool uses_pools = false;
    for (const Piece& piece : candidate_.placement.pieces) {
      uses_pools |= piece.pool >= 0;
      if (piece.pool < 0) Change(piece);
    }
    for (const GpuChange& change : candidate_.changes) {
      candidate_.units_taken += node_.compact.gpus[change.gpu].free_units - change.after.free_units;
    }
    if (uses_pools) {
      candidate_.units_taken += PoolUnitsTaken(node_.state, candidate_.placement);
    }
    visit_(candidate_);
  }

  void Announce(const Placement& placement) {
    candidate_.placement = placement;
    Announce();
  }

 private:
  void Change(const Piece& piece) {
    const auto gpu = static_cast<std::size_t>(piece.gpu);
    auto change = std::ranges::find(candidate_.changes, gpu, &GpuChange::gpu);
    if (change == candidate_.changes.end()) {
      candidate_.changes.push_back({gpu, node_.compact.gpus[gpu]});
      change = candidate_.changes.end() - 1;
    }
    change->after = WithPiece(change->after, piece);
  }

  const NodeView& node_;
  const std::function<void(const Candidate&)>& visit_;
  Candidate candidate_;
};

// Announces the first `count` pieces as one candidate, which all others equal. False: the pieces'
// GPUs are not all alike, so that it matters which are taken.
bool AnnounceAlike(const NodeView& node, const std::vector<Piece>& pieces, int count,
                   Announcer& announcer) {
  if (std::ssize(pieces) < count) return true;
  const auto gpu_of = [&](const Piece& piece) { return static_cast<std::size_t>(piece.gpu); };
  const auto is_like_first = [&](const Piece& piece) {
    return node.compact.gpus[gpu_of(piece)] == node.compact.gpus[gpu_of(pieces.front())] &&
           node.state.gpus[gpu_of(piece)].memory_mib ==
               node.state.gpus[gpu_of(pieces.front())].memory_mib;
  };
  if (!std::ranges::all_of(pieces, is_like_first)) return false;
  announcer.placement().pieces.assign(pieces.begin(), pieces.begin() + count);
  announcer.Announce();
  return true;
}

bool AnnounceWhole(const NodeView& node, const RequestShape& shape, Announcer& announcer) {
  std::vector<Piece> pieces;
  for (std::size_t g = 0; g < node.compact.gpus.size(); ++g) {
    const CompactGpu& gpu = node.compact.gpus[g];
    if (gpu.kind == GpuKind::kWhole && gpu.free_units > 0 && IsAccepted(shape, g)) {
      pieces.push_back({.kind = PieceKind::kWhole, .gpu = static_cast<int>(g)});
    }
  }
  return AnnounceAlike(node, pieces, shape.whole_gpus, announcer);
}

bool HasLowerTwin(const NodeView& node, const std::vector<Piece>& pieces, const CompactGpu& gpu) {
  return std::ranges::any_of(pieces, [&](const Piece& lower) {
    return node.compact.gpus[static_cast<std::size_t>(lower.gpu)] == gpu;
  });
}

bool AnnounceFraction(const NodeView& node, const RequestShape& shape, Announcer& announcer) {
  const Fraction& fraction = shape.fractions.front();
  std::vector<Piece> pieces;
  for (std::size_t g = 0; g < node.compact.gpus.size(); ++g) {
    const CompactGpu& gpu = node.compact.gpus[g];
    if (gpu.kind != GpuKind::kFractional || gpu.free_sharers <= 0 ||
        fraction.cores_percent > gpu.free_cores_percent) {
      continue;
    }
    const int memory_mib = MemoryMibOn(node.state.gpus[g], fraction);
    if (memory_mib > gpu.free_memory_mib || !IsAccepted(shape, g)) continue;
    if (fraction.gpus == 1 && HasLowerTwin(node, pieces, gpu)) continue;
    pieces.push_back({.kind = PieceKind::kFraction,
                      .gpu = static_cast<int>(g),
                      .memory_mib = memory_mib,
                      .cores_percent = fraction.cores_percent});
  }
  if (fraction.gpus > 1) return AnnounceAlike(node, pieces, fraction.gpus, announcer);
  for (const Piece& piece : pieces) {
    announcer.placement().pieces.assign(1, piece);
    announcer.Announce();
  }
  return true;
}

bool HasLowerInterchangeable(const NodeState& node, std::size_t g, const RequestShape& shape) {
  for (std::size_t lower = 0; lower < g; ++lower) {
    if (Interchangeable(node.gpus[lower], node.gpus[g]) && IsAccepted(shape, lower)) {
      return true;
    }
  }
  return false;
}

void AnnounceInstance(const NodeView& node, const RequestShape& shape, Announcer& announcer) {
  const std::string& name = shape.profiles.front().profile;
  for (std::size_t g = 0; g < node.compact.gpus.size(); ++g) {
    const Gpu& gpu = node.state.gpus[g];
    if (node.compact.gpus[g].kind != GpuKind::kMig || !IsAccepted(shape, g)) continue;
    const std::optional<int> index = gpu.model->FindProfile(name);
    if (!index || HasLowerInterchangeable(node.state, g, shape)) continue;
    const MigProfile& profile = gpu.model->profiles[static_cast<std::size_t>(*index)];
    const MigRoom room = RoomOf(*gpu.model, std::get<MigGpu>(gpu.state));
    for (const int start : profile.starts) {
      if (!FitsAt(profile, start, room)) continue;
      announcer.placement().pieces.assign(1, {.kind = PieceKind::kInstance,
                                              .gpu = static_cast<int>(g),
                                              .profile = *index,
                                              .slices = {start, profile.memory_slices}});
      announcer.Announce();
    }
  }
}

// True: all candidates have been announced. False: the request is of no kind that is done here.
bool AnnouncePlain(const NodeView& node, const RequestShape& shape, Announcer& announcer) {
  if (shape.slots > 0 || !shape.pool_units.empty()) return false;
  const int instances = InstancesOf(shape);
  if (shape.whole_gpus > 0 && shape.profiles.empty() && shape.fractions.empty()) {
    return AnnounceWhole(node, shape, announcer);
  }
  if (shape.whole_gpus > 0) return false;
  if (instances == 1 && shape.profiles.size() == 1 && shape.fractions.empty()) {
    AnnounceInstance(node, shape, announcer);
    return true;
  }
  if (instances == 0 && shape.fractions.size() == 1 && shape.fractions.front().gpus > 0) {
    return AnnounceFraction(node, shape, announcer);
  }
  if (shape.AsksForDevices()) return false;
  announcer.placement().pieces.clear();
  announcer.Announce();
  return true;
}

}  // namespace

void ForEachCandidate(const NodeView& node, const RequestShape& shape,
                      const std::function<void(const Candidate&)>& visit) {
  Announcer announcer(node, visit);
  if (node.state.picker == DevicePicker::kKubelet) {
    if (const auto placement = KubeletPlacement(node.state, shape)) announcer.Announce(*placement);
    return;
  }
  if (AnnouncePlain(node, shape, announcer)) return;
  bool found = false;
  ForEachPlacement(node.state, shape, [&](const Placement& placement) {
    found = true;
    announcer.Announce(placement);
    return true;
  });
  if (found) return;
  // The enumeration is bounded, the search exact.
  if (const auto placement = FindPlacement(node.state, shape)) announcer.Announce(*placement);
}

}  // namespace offcut::binpack
