#include "scheduler/node.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <tuple>

#include "scheduler/observation.h"

namespace offcut::scheduler {
namespace {

using binpack::NodeState;
using binpack::Piece;
using binpack::PieceKind;
using binpack::Placement;
using binpack::RequestShape;

int ToInt(std::int64_t count) {
  return static_cast<int>(std::min<std::int64_t>(count, std::numeric_limits<int>::max()));
}

void AddProfile(const std::string& name, std::int64_t count, RequestShape& shape) {
  const auto known = std::ranges::find(shape.profiles, name, &binpack::ProfileCount::profile);
  if (known == shape.profiles.end()) {
    shape.profiles.push_back({name, ToInt(count)});
  } else {
    known->count = ToInt(std::int64_t{known->count} + ToInt(count));
  }
}

void AddToShape(const Offer& offer, std::int64_t count, const NodeState& devices,
                RequestShape& shape) {
  switch (offer.kind) {
    case OfferKind::kWholeGpus:
      shape.whole_gpus = ToInt(std::int64_t{shape.whole_gpus} + count);
      break;
    case OfferKind::kSlots:
      shape.slots = ToInt(std::int64_t{shape.slots} + count);
      break;
    case OfferKind::kInstances:
      shape.pool_units.push_back({offer.pool, ToInt(count)});
      break;
    case OfferKind::kPlacedInstances:
      AddProfile(offer.profile, count, shape);
      break;
    case OfferKind::kFullShares:
      // No two of them fit on one GPU, so it makes no difference which container asks for them. And
      // a search takes each on its own: one more than there are is as good as any larger number.
      shape.fractions.push_back(
          {.gpus = ToInt(std::min<std::int64_t>(count, std::ssize(devices.gpus) + 1))});
      break;
  }
}

bool AnyContainerAsksForMoreThanOne(const Pod& pod, std::string_view resource) {
  return std::ranges::any_of(pod.containers, [&](const ContainerRequest& container) {
    return std::ranges::any_of(container.devices, [&](const ResourceCount& asked) {
      return asked.resource == resource && asked.count > 1;
    });
  });
}

// Without the constraint: whoever holds devices is past it.
NodeShape ShapeOfDevices(const Inventory& inventory, const Pod& pod) {
  NodeShape result;
  const bool is_unshared = !pod.request.fractions.empty() && !inventory.serves_fractions;
  if (inventory.serves_fractions) result.shape.fractions = pod.request.fractions;
  for (const ResourceCount& asked :
       is_unshared ? pod.request.unshared_devices : pod.request.devices) {
    const Offer* offer = FindOffer(inventory, asked.resource);
    if (offer == nullptr) {
      result.missing.push_back(asked.resource);
      continue;
    }
    AddToShape(*offer, asked.count, inventory.devices, result.shape);
    if (!result.mismatch && offer->one_per_container &&
        AnyContainerAsksForMoreThanOne(pod, asked.resource)) {
      result.mismatch = Reason::kSlotsPerContainer;
    }
  }
  if (is_unshared && !result.mismatch) result.mismatch = Reason::kFractionsNotServed;
  return result;
}

int FindGpu(const NodeState& devices, const RecordedDevice& device) {
  if (device.uuid.empty()) {
    return device.gpu < static_cast<int>(devices.gpus.size()) ? device.gpu : -1;
  }
  const auto found = std::ranges::find(devices.gpus, device.uuid, &binpack::Gpu::uuid);
  return found == devices.gpus.end() ? -1 : static_cast<int>(found - devices.gpus.begin());
}

std::optional<Piece> InstancePieceOf(const NodeState& devices, const RecordedDevice& device) {
  if (device.start < 0) {
    const auto pool =
        std::ranges::find(devices.pools, device.profile, &binpack::InstancePool::profile);
    if (pool == devices.pools.end()) return std::nullopt;
    return Piece{.kind = device.kind, .pool = static_cast<int>(pool - devices.pools.begin())};
  }
  const int gpu = FindGpu(devices, device);
  if (gpu < 0) return std::nullopt;
  const auto& model = devices.gpus[static_cast<std::size_t>(gpu)].model;
  const std::optional<int> profile =
      model == nullptr ? std::nullopt : model->FindProfile(device.profile);
  if (!profile) return std::nullopt;
  return Piece{
      .kind = device.kind, .gpu = gpu, .profile = *profile, .slices = {device.start, device.size}};
}

std::optional<Piece> PieceOf(const NodeState& devices, const RecordedDevice& device) {
  if (device.kind == PieceKind::kInstance) return InstancePieceOf(devices, device);
  const int gpu = FindGpu(devices, device);
  if (gpu < 0) return std::nullopt;
  Piece piece{.kind = device.kind, .gpu = gpu};
  if (device.kind == PieceKind::kFraction) {
    piece.memory_mib = ToInt(device.memory_mib);
    piece.cores_percent = device.cores_percent;
  }
  return piece;
}

// "1g.10gb" are 10 GiB by name, which is what agents compare with; 0 for a name of another form.
int NominalMib(std::string_view profile) {
  const std::size_t dot = profile.find('.');
  int gib = 0;
  if (dot == std::string_view::npos) return 0;
  std::from_chars(profile.data() + dot + 1, profile.data() + profile.size(), gib);
  constexpr int mib_in_gib = 1024;
  return gib > 0 && gib <= mib_in_gib ? gib * mib_in_gib : 0;
}

// Whether the piece is the share, to the MiB and the percent, or an instance that covers it.
bool IsShare(const NodeState& devices, const Piece& piece, const binpack::Fraction& fraction) {
  const binpack::Gpu& gpu = devices.gpus[static_cast<std::size_t>(piece.gpu)];
  const int memory_mib = binpack::MemoryMibOn(gpu, fraction);
  if (piece.kind == PieceKind::kFraction) {
    return piece.memory_mib == memory_mib && piece.cores_percent == fraction.cores_percent;
  }
  const binpack::MigProfile& profile = gpu.model->profiles[static_cast<std::size_t>(piece.profile)];
  const bool is_whole = profile.memory_slices == gpu.model->memory_slices;
  const bool has_memory =
      is_whole || memory_mib <= std::max(profile.memory_mib, NominalMib(profile.name));
  constexpr int percent = 100;
  return has_memory &&
         fraction.cores_percent * gpu.model->compute_slices <= profile.compute_slices * percent;
}

bool IsInstanceOf(const NodeState& devices, const Piece& piece, std::string_view profile) {
  if (piece.kind != PieceKind::kInstance) return false;
  // By index: what a pod asks for may be an alias.
  return devices.gpus[static_cast<std::size_t>(piece.gpu)].model->FindProfile(profile) ==
         piece.profile;
}

// Whether the pieces, which stand on GPUs that an agent shares, are the shape's instances and
// fractions, each once; those of one container in their order, on distinct GPUs.
bool ServesShares(const NodeState& devices, std::vector<Piece> pieces, const RequestShape& shape) {
  const auto take = [&pieces](auto is_such) {
    const auto found = std::ranges::find_if(pieces, is_such);
    if (found == pieces.end()) return -1;
    const int gpu = found->gpu;
    pieces.erase(found);
    return gpu;
  };
  for (const binpack::ProfileCount& wanted : shape.profiles) {
    for (int i = 0; i < wanted.count; ++i) {
      if (take([&](const Piece& p) { return IsInstanceOf(devices, p, wanted.profile); }) < 0) {
        return false;
      }
    }
  }
  for (const binpack::Fraction& fraction : shape.fractions) {
    std::vector<int> taken;
    for (int i = 0; i < fraction.gpus; ++i) {
      taken.push_back(take([&](const Piece& piece) {
        const bool is_other =
            piece.kind == PieceKind::kInstance || std::ranges::count(taken, piece.gpu) == 0;
        return is_other && IsShare(devices, piece, fraction);
      }));
      if (taken.back() < 0) return false;
    }
  }
  return pieces.empty();
}

// Whether the placement is what the shape asks for, kind by kind, and no less of it: an agent that
// cuts GPUs serves a fraction by an instance that covers it.
bool Serves(const NodeState& devices, const Placement& placement, const RequestShape& shape) {
  const auto count = [&](auto is_such) {
    return static_cast<int>(std::ranges::count_if(placement.pieces, is_such));
  };
  std::vector<Piece> shares;
  std::ranges::copy_if(placement.pieces, std::back_inserter(shares), [](const Piece& p) {
    return p.kind == PieceKind::kFraction || (p.kind == PieceKind::kInstance && p.gpu >= 0);
  });
  std::int64_t from_pools = 0;
  for (const binpack::PoolCount& wanted : shape.pool_units) from_pools += wanted.count;
  return count([](const Piece& p) { return p.kind == PieceKind::kWhole; }) == shape.whole_gpus &&
         count([](const Piece& p) { return p.kind == PieceKind::kSlot; }) == shape.slots &&
         ServesShares(devices, std::move(shares), shape) &&
         count([](const Piece& p) { return p.pool >= 0; }) == from_pools &&
         std::ranges::all_of(shape.pool_units, [&](const binpack::PoolCount& wanted) {
           return count([&](const Piece& p) { return p.pool == wanted.pool; }) == wanted.count;
         });
}

std::optional<Placement> PickerPlacement(const NodeState& state, const RequestShape& shape) {
  return state.picker == binpack::DevicePicker::kKubelet ? binpack::KubeletPlacement(state, shape)
                                                         : binpack::FindPlacement(state, shape);
}

// The largest part of the shape that the node has room for, one unit given up after the other.
Placement PlaceWhatFits(const NodeState& state, RequestShape shape) {
  shape.profiles.clear();
  shape.fractions.clear();
  shape.whole_gpus = std::min(shape.whole_gpus, static_cast<int>(state.gpus.size()));
  Placement placement;
  const auto append = [&](const RequestShape& part) {
    const auto found = binpack::KubeletPlacement(state, part);
    if (found)
      placement.pieces.insert(placement.pieces.end(), found->pieces.begin(), found->pieces.end());
    return found.has_value();
  };
  for (int count = shape.whole_gpus; count > 0 && !append({.whole_gpus = count}); --count) {
  }
  int free_slots = 0;
  for (const binpack::Gpu& gpu : state.gpus) {
    const auto* shared = std::get_if<binpack::SharedGpu>(&gpu.state);
    if (shared != nullptr) free_slots += shared->slots - shared->slots_used;
  }
  append({.slots = std::min(shape.slots, free_slots)});
  for (const binpack::PoolCount& wanted : shape.pool_units) {
    const binpack::InstancePool& pool = state.pools[static_cast<std::size_t>(wanted.pool)];
    const int free = std::max(0, pool.units - pool.units_used);
    append({.pool_units = {{wanted.pool, std::min(wanted.count, free)}}});
  }
  return placement;
}

// Puts the holder where the kubelet says it is. False: it does not say, or another is there.
bool PlaceObserved(NodeState& state, const RequestShape& shape,
                   const std::optional<Placement>& recorded, GpuIdentities& identities,
                   Holder& holder) {
  if (state.picker != binpack::DevicePicker::kKubelet) return false;
  auto observation = Observe(*holder.pod, shape, recorded ? &*recorded : nullptr, identities);
  if (!observation || !binpack::IsFree(state, observation->placement)) return false;
  holder.placement = std::move(observation->placement);
  holder.observed_uuids = std::move(observation->uuids);
  holder.is_drifted = recorded && IsDrift(*recorded, holder.placement);
  binpack::Occupy(state, holder.placement);
  for (const int gpu : observation->unhealthy) {
    state.gpus[static_cast<std::size_t>(gpu)].health = binpack::GpuHealth::kUnhealthy;
  }
  return true;
}

// What the holder has is not undone by a constraint, nor by a device that fell ill since.
void PlaceHolder(const Inventory& inventory, NodeState& state, GpuIdentities& identities,
                 Holder& holder) {
  holder.placement = {};
  holder.follows_record = false;
  holder.observed_uuids.clear();
  holder.is_drifted = false;
  holder.is_unplaced = false;
  state.used += holder.pod->host;
  if (holder.pod->request.empty()) return;
  RequestShape shape = ShapeOfDevices(inventory, *holder.pod).shape;
  std::optional<Placement> recorded;
  if (holder.record) recorded = PlacementOf(inventory, *holder.record);
  if (recorded && !Serves(inventory.devices, *recorded, shape)) recorded.reset();
  if (PlaceObserved(state, shape, recorded, identities, holder)) return;
  if (recorded && binpack::IsFree(state, *recorded)) {
    holder.placement = *recorded;
    holder.follows_record = true;
    binpack::Occupy(state, holder.placement);
    return;
  }
  std::optional<Placement> placement = PickerPlacement(state, shape);
  if (!placement) placement = PickerPlacement(binpack::Healed(state), shape);
  holder.is_unplaced = !placement;
  holder.placement =
      placement ? *std::move(placement) : PlaceWhatFits(binpack::Healed(state), shape);
  binpack::Occupy(state, holder.placement);
}

// Whoever is bound is charged, even where the node has no room for it.
PodCharge ChargeOfHolder(const Inventory& inventory, const Holder& holder, SlotsCharged& charged) {
  if (holder.is_unplaced) {
    return ExpectCharge(inventory.devices, ShapeOfDevices(inventory, *holder.pod).shape).charge;
  }
  return ChargeOf(inventory.devices, holder.placement, charged,
                  holder.follows_record ? &*holder.record : nullptr);
}

class Hash {
 public:
  void Add(std::uint64_t value) {
    value_ ^= value + 0x9e3779b97f4a7c15ULL + (value_ << 6U) + (value_ >> 2U);
  }
  void Add(std::string_view text) { Add(std::hash<std::string_view>()(text)); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

// Models may share a name, and have the profiles that their GPUs report.
void AddGeometry(const binpack::GpuModel& model, Hash& hash) {
  hash.Add(static_cast<std::uint64_t>(model.memory_slices));
  hash.Add(static_cast<std::uint64_t>(model.compute_slices));
  for (const binpack::MigProfile& profile : model.profiles) {
    hash.Add(profile.name);
    hash.Add(static_cast<std::uint64_t>(profile.memory_slices));
    hash.Add(static_cast<std::uint64_t>(profile.compute_slices));
    hash.Add(static_cast<std::uint64_t>(profile.memory_mib));
  }
}

// All that ExpectCharge() reads, and what leads to it.
std::uint64_t ChargeKeyOf(const Inventory& inventory) {
  Hash hash;
  for (const Offer& offer : inventory.offers) {
    hash.Add(offer.resource);
    hash.Add(static_cast<std::uint64_t>(offer.kind));
    hash.Add(static_cast<std::uint64_t>(offer.pool));
    hash.Add(offer.profile);
  }
  const binpack::GpuModel* added = nullptr;
  for (const binpack::Gpu& gpu : inventory.devices.gpus) {
    hash.Add(gpu.product);
    if (gpu.model != nullptr) hash.Add(gpu.model->name);
    if (std::holds_alternative<binpack::MigGpu>(gpu.state) && gpu.model.get() != added) {
      added = gpu.model.get();
      AddGeometry(*added, hash);
    }
    hash.Add(static_cast<std::uint64_t>(gpu.memory_mib));
    hash.Add(gpu.state.index());
    const auto* shared = std::get_if<binpack::SharedGpu>(&gpu.state);
    if (shared != nullptr) hash.Add(static_cast<std::uint64_t>(shared->slots));
  }
  hash.Add(inventory.devices.pool_product);
  for (const binpack::InstancePool& pool : inventory.devices.pools) {
    hash.Add(pool.profile);
    hash.Add(static_cast<std::uint64_t>(pool.replicas));
  }
  return hash.value();
}

// And all that CommonsOf() reads of a node without pods, and who knows of memory.
std::uint64_t KindHashOf(const Inventory& inventory, std::uint64_t charge_key) {
  Hash hash;
  hash.Add(charge_key);
  hash.Add(static_cast<std::uint64_t>(inventory.serves_fractions));
  for (const binpack::Gpu& gpu : inventory.devices.gpus) {
    const auto* shared = std::get_if<binpack::SharedGpu>(&gpu.state);
    if (shared != nullptr) hash.Add(static_cast<std::uint64_t>(shared->sharing));
  }
  const binpack::GpuModel* model = inventory.devices.pool_model.get();
  if (model != nullptr) hash.Add(model->name);
  return hash.value();
}

// A holder that is not placed may be anywhere that its like could be.
void AddOccupantOf(const Inventory& inventory, const Holder& holder, Occupants& occupants) {
  if (holder.placement.pieces.empty() && !holder.is_unplaced) return;
  Commons commons = CommonsOf(inventory.devices, holder.placement);
  if (holder.is_unplaced) {
    commons |= CommonsOf(inventory.devices, ShapeOfDevices(inventory, *holder.pod).shape);
  }
  AddOccupant(*holder.pod, commons, occupants);
}

// What a record says of its certainty gives it no precedence: it is the pod's word.
int RecordRank(const Holder& holder) {
  if (!holder.pod->observed.empty()) return 0;
  if (holder.record) return 1;
  return holder.pod->node_name.empty() ? 3 : 2;
}

binpack::CompactNode CompactOf(const NodeState& state, const std::vector<Holder>& holders) {
  binpack::CompactNode compact = binpack::Compact(state);
  for (const Holder& holder : holders) {
    if (holder.placement.pieces.empty()) continue;
    compact.request_kinds |= 1U << static_cast<unsigned>(binpack::RequestKindOf(holder.placement));
  }
  return compact;
}

}  // namespace

bool ComesBefore(const Holder& a, const Holder& b) {
  const auto key = [](const Holder& holder) {
    return std::tuple(RecordRank(holder), holder.pod->created_s, std::string_view(holder.pod->uid));
  };
  return key(a) < key(b);
}

Node BuildNode(Inventory inventory, std::vector<Holder> holders) {
  std::ranges::sort(holders, ComesBefore);
  NodeState state = inventory.devices;
  GpuIdentities identities(inventory.devices);
  SlotsCharged slots_charged;
  Occupants occupants;
  for (Holder& holder : holders) {
    PlaceHolder(inventory, state, identities, holder);
    holder.charge = ChargeOfHolder(inventory, holder, slots_charged);
    AddOccupantOf(inventory, holder, occupants);
  }
  std::optional<Reason> closed = inventory.closed;
  const auto is_unreadable = [&](const Holder& holder) {
    return holder.pod->is_unreadable ||
           (inventory.serves_fractions && holder.pod->has_unreadable_shares);
  };
  // A cordon is no matter to pods that tolerate it; this is.
  if ((!closed || closed == Reason::kNodeCordoned) && std::ranges::any_of(holders, is_unreadable)) {
    closed = Reason::kNodeHolderUnreadable;
  }
  binpack::CompactNode compact = CompactOf(state, holders);
  const std::uint64_t charge_key = ChargeKeyOf(inventory);
  const std::uint64_t kind_hash = KindHashOf(inventory, charge_key);
  return {.inventory = std::move(inventory),
          .holders = std::move(holders),
          .state = std::move(state),
          .compact = std::move(compact),
          .closed = closed,
          .slots_charged = std::move(slots_charged),
          .charge_key = charge_key,
          .kind_hash = kind_hash,
          .occupants = std::move(occupants)};
}

PodCharge ChargeOn(const Node& node, const binpack::Placement& placement) {
  SlotsCharged charged = node.slots_charged;
  return ChargeOf(node.inventory.devices, placement, charged);
}

const Offer* FindOffer(const Inventory& inventory, std::string_view resource) {
  const auto found = std::ranges::find(inventory.offers, resource, &Offer::resource);
  return found == inventory.offers.end() ? nullptr : &*found;
}

NodeShape ShapeOn(const Inventory& inventory, const Pod& pod) {
  NodeShape result = ShapeOfDevices(inventory, pod);
  result.shape.host = pod.host;
  if (result.shape.AsksForDevices()) {
    result.shape.accepted = binpack::Accept(inventory.devices, pod.request.constraint);
  }
  return result;
}

std::optional<Placement> PlacementOf(const Inventory& inventory, const DeviceRecord& record) {
  Placement placement;
  for (const RecordedDevice& device : record.devices) {
    const std::optional<Piece> piece = PieceOf(inventory.devices, device);
    if (!piece) return std::nullopt;
    placement.pieces.push_back(*piece);
  }
  return placement;
}

std::optional<Placement> FreePlacement(const Node& node, const Pod& pod,
                                       std::vector<RecordedDevice> devices) {
  auto placement = PlacementOf(node.inventory, {.charge = {}, .devices = std::move(devices)});
  const RequestShape shape = ShapeOfDevices(node.inventory, pod).shape;
  const bool is_good = placement && Serves(node.inventory.devices, *placement, shape) &&
                       binpack::IsFree(node.state, *placement);
  return is_good ? std::move(placement) : std::nullopt;
}

}  // namespace offcut::scheduler
