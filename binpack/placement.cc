#include "binpack/placement.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "binpack/indexing.h"
#include "binpack/mig_packing.h"

namespace offcut::binpack {
namespace {

template <typename State>
bool Is(const Gpu& gpu) {
  return std::holds_alternative<State>(gpu.state);
}

int FreeWhole(const Gpu& gpu) { return std::get<WholeGpu>(gpu.state).taken ? 0 : 1; }
int AllWhole(const Gpu&) { return 1; }
int FreeSlots(const Gpu& gpu) {
  const auto& shared = std::get<SharedGpu>(gpu.state);
  return shared.slots - shared.slots_used;
}
int AllSlots(const Gpu& gpu) { return std::get<SharedGpu>(gpu.state).slots; }

// The node's GPUs in that state which the pod accepts, or why there is none.
template <typename State>
Obstacle CollectGpus(const NodeState& node, const RequestShape& shape, std::vector<int>& gpus) {
  Obstacle obstacle = Obstacle::kNoDevices;
  for (std::size_t g = 0; g < node.gpus.size(); ++g) {
    const Gpu& gpu = node.gpus[g];
    if (!Is<State>(gpu)) continue;
    switch (shape.accepted.Of(g)) {
      case Acceptance::kAccepted:
        gpus.push_back(static_cast<int>(g));
        break;
      case Acceptance::kModelRefused:
        if (obstacle == Obstacle::kNoDevices) obstacle = Obstacle::kModel;
        break;
      case Acceptance::kUuidRefused:
        obstacle = Obstacle::kUuid;
        break;
    }
  }
  return gpus.empty() ? obstacle : Obstacle::kNone;
}

std::vector<int> HealthyOf(const NodeState& node, std::vector<int> gpus) {
  std::erase_if(gpus, [&](int g) { return At(node.gpus, g).health != GpuHealth::kHealthy; });
  return gpus;
}

int Sum(const NodeState& node, const std::vector<int>& gpus, int (*count)(const Gpu&)) {
  return std::accumulate(gpus.begin(), gpus.end(), 0,
                         [&](int sum, int g) { return sum + count(At(node.gpus, g)); });
}

// Devices that are told apart by count alone: whole GPUs, slots.
template <typename State>
Obstacle CountedObstacle(const NodeState& node, const RequestShape& shape, int wanted,
                         int (*free)(const Gpu&), int (*all)(const Gpu&), Obstacle taken) {
  if (wanted == 0) return Obstacle::kNone;
  std::vector<int> gpus;
  if (const Obstacle none = CollectGpus<State>(node, shape, gpus); none != Obstacle::kNone) {
    return none;
  }
  const std::vector<int> healthy = HealthyOf(node, gpus);
  if (Sum(node, healthy, free) >= wanted) return Obstacle::kNone;
  if (Sum(node, gpus, all) < wanted) return Obstacle::kNeverFits;
  if (Sum(node, gpus, free) >= wanted || Sum(node, healthy, all) < wanted) {
    return Obstacle::kUnhealthy;
  }
  return taken;
}

Obstacle PoolObstacle(const NodeState& node, const RequestShape& shape) {
  if (shape.pool_units.empty()) return Obstacle::kNone;
  if (shape.accepted.pools == Acceptance::kModelRefused) return Obstacle::kModel;
  if (shape.accepted.pools == Acceptance::kUuidRefused) return Obstacle::kUuid;
  Obstacle obstacle = Obstacle::kNone;
  for (const PoolCount& wanted : shape.pool_units) {
    const InstancePool& pool = At(node.pools, wanted.pool);
    if (pool.units + pool.units_unhealthy < wanted.count) return Obstacle::kNeverFits;
    if (pool.units - pool.units_used >= wanted.count) continue;
    const bool is_unhealthy = pool.units < wanted.count;
    if (obstacle == Obstacle::kNone || !is_unhealthy) {
      obstacle = is_unhealthy ? Obstacle::kUnhealthy : Obstacle::kInstancesTaken;
    }
  }
  return obstacle;
}

// Slices that the wanted instances need, and that the GPUs have free.
std::pair<int, int> NeededAndFreeSlices(const NodeState& node, const std::vector<int>& gpus,
                                        const RequestShape& shape) {
  int needed = 0;
  int free = 0;
  for (const ProfileCount& wanted : shape.profiles) {
    for (const int g : gpus) {
      const GpuModel& model = *At(node.gpus, g).model;
      const std::optional<int> profile = model.FindProfile(wanted.profile);
      if (!profile) continue;
      needed += wanted.count * At(model.profiles, *profile).memory_slices;
      break;
    }
  }
  for (const int g : gpus) {
    const Gpu& gpu = At(node.gpus, g);
    const MigRoom room = RoomOf(*gpu.model, std::get<MigGpu>(gpu.state));
    free += std::popcount(room.free_slices);
  }
  return {needed, free};
}

Obstacle InstanceObstacle(const NodeState& node, const RequestShape& shape) {
  if (shape.profiles.empty()) return Obstacle::kNone;
  std::vector<int> gpus;
  if (const Obstacle none = CollectGpus<MigGpu>(node, shape, gpus); none != Obstacle::kNone) {
    return none;
  }
  std::erase_if(gpus, [&](int g) { return At(node.gpus, g).model == nullptr; });
  for (const ProfileCount& wanted : shape.profiles) {
    const bool is_known = std::ranges::any_of(gpus, [&](int g) {
      return At(node.gpus, g).model->FindProfile(wanted.profile).has_value();
    });
    if (!is_known) return Obstacle::kProfile;
  }
  const std::vector<int> healthy = HealthyOf(node, gpus);
  if (PlaceJointly(node, healthy, shape.profiles)) return Obstacle::kNone;
  const NodeState emptied = Emptied(node);
  if (!PlaceJointly(emptied, gpus, shape.profiles)) return Obstacle::kNeverFits;
  if (PlaceJointly(node, gpus, shape.profiles) || !PlaceJointly(emptied, healthy, shape.profiles)) {
    return Obstacle::kUnhealthy;
  }
  const auto [needed, free] = NeededAndFreeSlices(node, healthy, shape);
  return free >= needed ? Obstacle::kFragmented : Obstacle::kInstancesTaken;
}

RequestShape FractionsOf(const RequestShape& shape) {
  return {.fractions = shape.fractions, .accepted = shape.accepted};
}

bool AnyPlacement(const NodeState& node, const RequestShape& shape) {
  bool found = false;
  ForEachPlacement(node, shape, [&](const Placement&) {
    found = true;
    return false;
  });
  return found;
}

// What a look for room leaves out of account.
struct Ignored {
  bool holders = false;  // as if the GPU were empty
  bool health = false;
  bool sharers = false;  // as if nobody shared it; what the holders use still counts
  bool cores = false;    // as if no cores were asked for
};

bool HasRoom(const Gpu& gpu, const Fraction& fraction, Ignored ignored) {
  if (!ignored.health && gpu.health != GpuHealth::kHealthy) return false;
  const auto& state = std::get<FractionalGpu>(gpu.state);
  const int sharers = ignored.holders || ignored.sharers ? 0 : state.sharers;
  const int memory_mib_used = ignored.holders ? 0 : state.memory_mib_used;
  const int cores_percent_used = ignored.holders ? 0 : state.cores_percent_used;
  const int cores_percent = ignored.cores ? 0 : fraction.cores_percent;
  return sharers < state.sharers_max &&
         memory_mib_used + MemoryMibOn(gpu, fraction) <= gpu.memory_mib &&
         cores_percent_used + cores_percent <= state.cores_percent;
}

// One container's fraction needs distinct GPUs, each for itself: counting them is exact. What most
// pods ask for, so it is worth to search nothing and to copy nothing.
Obstacle OneFractionObstacle(const NodeState& node, const std::vector<int>& gpus,
                             const Fraction& fraction) {
  const auto has_room = [&](Ignored ignored) {
    return std::ranges::count_if(gpus, [&](int g) {
             return HasRoom(At(node.gpus, g), fraction, ignored);
           }) >= fraction.gpus;
  };
  if (has_room({})) return Obstacle::kNone;
  if (!has_room({.holders = true, .health = true})) return Obstacle::kNeverFits;
  if (has_room({.health = true}) || !has_room({.holders = true})) return Obstacle::kUnhealthy;
  if (has_room({.sharers = true})) return Obstacle::kSharersTaken;
  return has_room({.cores = true}) ? Obstacle::kCoresTaken : Obstacle::kMemoryTaken;
}

Obstacle FractionObstacle(const NodeState& node, const RequestShape& shape) {
  if (shape.fractions.empty()) return Obstacle::kNone;
  std::vector<int> gpus;
  if (const Obstacle none = CollectGpus<FractionalGpu>(node, shape, gpus);
      none != Obstacle::kNone) {
    return none;
  }
  if (shape.fractions.size() == 1) {
    return OneFractionObstacle(node, gpus, shape.fractions.front());
  }
  const RequestShape fractions = FractionsOf(shape);
  if (AnyPlacement(node, fractions)) return Obstacle::kNone;
  if (!AnyPlacement(Healed(Emptied(node)), fractions)) return Obstacle::kNeverFits;
  if (AnyPlacement(Healed(node), fractions) || !AnyPlacement(Emptied(node), fractions)) {
    return Obstacle::kUnhealthy;
  }
  NodeState unlimited = node;
  for (Gpu& gpu : unlimited.gpus) {
    if (auto* state = std::get_if<FractionalGpu>(&gpu.state)) state->sharers = 0;
  }
  if (AnyPlacement(unlimited, fractions)) return Obstacle::kSharersTaken;
  RequestShape without_cores = fractions;
  for (Fraction& fraction : without_cores.fractions) fraction.cores_percent = 0;
  return AnyPlacement(node, without_cores) ? Obstacle::kCoresTaken : Obstacle::kMemoryTaken;
}

Obstacle HostObstacle(const NodeState& node, const HostResources& host) {
  const auto is_short = [](std::int64_t wanted, std::int64_t used, std::int64_t allocatable) {
    return wanted > 0 && wanted > allocatable - used;
  };
  if (is_short(host.cpu_milli, node.used.cpu_milli, node.allocatable.cpu_milli)) {
    return Obstacle::kHostCpu;
  }
  if (is_short(host.memory_bytes, node.used.memory_bytes, node.allocatable.memory_bytes)) {
    return Obstacle::kHostMemory;
  }
  if (is_short(host.pods, node.used.pods, node.allocatable.pods)) return Obstacle::kHostPods;
  return Obstacle::kNone;
}

bool FitsInstances(const NodeState& node, const RequestShape& shape) {
  if (shape.profiles.empty()) return true;
  std::vector<int> gpus;
  CollectGpus<MigGpu>(node, shape, gpus);
  std::erase_if(gpus, [&](int g) { return At(node.gpus, g).model == nullptr; });
  return PlaceJointly(node, HealthyOf(node, std::move(gpus)), shape.profiles).has_value();
}

bool FitsFractions(const NodeState& node, const RequestShape& shape) {
  if (shape.fractions.size() == 1) return FractionObstacle(node, shape) == Obstacle::kNone;
  return shape.fractions.empty() || AnyPlacement(node, FractionsOf(shape));
}

// Of equal lengths, the lowest start that is free leaves most room for the others.
int InstancesIn(const MigProfile& profile, MigRoom room) {
  int count = 0;
  for (const int start : profile.starts) {
    if (!FitsAt(profile, start, room)) continue;
    TakeRoom(profile, start, room);
    ++count;
  }
  return count;
}

int RoomForInstances(const Gpu& gpu, const ProfileCount& wanted) {
  if (!Is<MigGpu>(gpu) || gpu.model == nullptr) return 0;
  const std::optional<int> profile = gpu.model->FindProfile(wanted.profile);
  if (!profile) return 0;
  return InstancesIn(At(gpu.model->profiles, *profile),
                     RoomOf(*gpu.model, std::get<MigGpu>(gpu.state)));
}

bool PlaceWhole(const NodeState& node, const RequestShape& shape, std::vector<Piece>& pieces) {
  int missing = shape.whole_gpus;
  for (std::size_t g = 0; g < node.gpus.size() && missing > 0; ++g) {
    const Gpu& gpu = node.gpus[g];
    if (!Is<WholeGpu>(gpu) || gpu.health != GpuHealth::kHealthy || FreeWhole(gpu) == 0 ||
        shape.accepted.Of(g) != Acceptance::kAccepted) {
      continue;
    }
    pieces.push_back({.kind = PieceKind::kWhole, .gpu = static_cast<int>(g)});
    --missing;
  }
  return missing == 0;
}

// The device plugin's rule for shared devices: the GPU with the fewest used slots, then the lowest.
bool PlaceSlots(const NodeState& node, const RequestShape& shape, std::vector<Piece>& pieces) {
  if (shape.slots == 0) return true;
  std::vector<int> gpus;
  CollectGpus<SharedGpu>(node, shape, gpus);
  gpus = HealthyOf(node, gpus);
  std::vector<int> used;
  used.reserve(gpus.size());
  for (const int g : gpus) used.push_back(std::get<SharedGpu>(At(node.gpus, g).state).slots_used);
  std::vector<int> chosen;
  for (int i = 0; i < shape.slots; ++i) {
    int best = -1;
    for (std::size_t c = 0; c < gpus.size(); ++c) {
      const int slots = std::get<SharedGpu>(At(node.gpus, gpus[c]).state).slots;
      if (used[c] < slots && (best < 0 || used[c] < At(used, best))) best = static_cast<int>(c);
    }
    if (best < 0) return false;
    ++At(used, best);
    chosen.push_back(At(gpus, best));
  }
  std::ranges::sort(chosen);
  for (const int g : chosen) pieces.push_back({.kind = PieceKind::kSlot, .gpu = g});
  return true;
}

bool PlacePools(const NodeState& node, const RequestShape& shape, std::vector<Piece>& pieces) {
  if (PoolObstacle(node, shape) != Obstacle::kNone) return false;
  for (const PoolCount& wanted : shape.pool_units) {
    pieces.insert(pieces.end(), static_cast<std::size_t>(wanted.count),
                  {.kind = PieceKind::kInstance, .pool = wanted.pool});
  }
  return true;
}

}  // namespace

Obstacle FindObstacle(const NodeState& node, const RequestShape& shape) {
  for (const Obstacle obstacle :
       {HostObstacle(node, shape.host),
        CountedObstacle<WholeGpu>(node, shape, shape.whole_gpus, FreeWhole, AllWhole,
                                  Obstacle::kWholeGpusTaken),
        CountedObstacle<SharedGpu>(node, shape, shape.slots, FreeSlots, AllSlots,
                                   Obstacle::kSlotsTaken),
        PoolObstacle(node, shape), InstanceObstacle(node, shape), FractionObstacle(node, shape)}) {
    if (obstacle != Obstacle::kNone) return obstacle;
  }
  return Obstacle::kNone;
}

bool Fits(const NodeState& node, const RequestShape& shape) {
  return HostObstacle(node, shape.host) == Obstacle::kNone &&
         CountedObstacle<WholeGpu>(node, shape, shape.whole_gpus, FreeWhole, AllWhole,
                                   Obstacle::kWholeGpusTaken) == Obstacle::kNone &&
         CountedObstacle<SharedGpu>(node, shape, shape.slots, FreeSlots, AllSlots,
                                    Obstacle::kSlotsTaken) == Obstacle::kNone &&
         PoolObstacle(node, shape) == Obstacle::kNone && FitsInstances(node, shape) &&
         FitsFractions(node, shape);
}

std::optional<int> EqualPiecesOf(const RequestShape& shape) {
  const std::size_t kinds = (shape.whole_gpus > 0 ? 1 : 0) + (shape.slots > 0 ? 1 : 0) +
                            shape.profiles.size() + shape.fractions.size();
  if (kinds != 1 || !shape.pool_units.empty() || shape.host != HostResources{}) {
    return std::nullopt;
  }
  int count = shape.whole_gpus + shape.slots;
  if (!shape.profiles.empty()) count = shape.profiles.front().count;
  if (!shape.fractions.empty()) count = shape.fractions.front().gpus;
  return count > 0 ? std::optional(count) : std::nullopt;
}

int RoomForPieces(const NodeState& node, std::size_t gpu, const RequestShape& shape) {
  const Gpu& device = node.gpus[gpu];
  if (device.health != GpuHealth::kHealthy || shape.accepted.Of(gpu) != Acceptance::kAccepted) {
    return 0;
  }
  if (shape.whole_gpus > 0) return Is<WholeGpu>(device) ? FreeWhole(device) : 0;
  if (shape.slots > 0) return Is<SharedGpu>(device) ? FreeSlots(device) : 0;
  if (!shape.profiles.empty()) return RoomForInstances(device, shape.profiles.front());
  return Is<FractionalGpu>(device) && HasRoom(device, shape.fractions.front(), {}) ? 1 : 0;
}

std::optional<Placement> FindPlacement(const NodeState& node, const RequestShape& shape) {
  RequestShape counted = shape;
  counted.profiles.clear();
  counted.fractions.clear();
  std::optional<Placement> placement = KubeletPlacement(node, counted);
  if (!placement) return std::nullopt;
  if (!shape.profiles.empty()) {
    std::vector<int> gpus;
    CollectGpus<MigGpu>(node, shape, gpus);
    const auto instances = PlaceJointly(node, HealthyOf(node, gpus), shape.profiles);
    if (!instances) return std::nullopt;
    placement->pieces.insert(placement->pieces.end(), instances->begin(), instances->end());
  }
  if (!shape.fractions.empty()) {
    bool found = false;
    ForEachPlacement(node, FractionsOf(shape), [&](const Placement& fractions) {
      placement->pieces.insert(placement->pieces.end(), fractions.pieces.begin(),
                               fractions.pieces.end());
      found = true;
      return false;
    });
    if (!found) return std::nullopt;
  }
  return placement;
}

std::optional<Placement> KubeletPlacement(const NodeState& node, const RequestShape& shape) {
  Placement placement;
  if (!shape.profiles.empty() || !shape.fractions.empty() ||
      !PlaceWhole(node, shape, placement.pieces) || !PlaceSlots(node, shape, placement.pieces) ||
      !PlacePools(node, shape, placement.pieces)) {
    return std::nullopt;
  }
  return placement;
}

}  // namespace offcut::binpack
