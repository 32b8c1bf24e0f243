#include <algorithm>
#include <cassert>
#include <deque>

#include "binpack/indexing.h"
#include "scheduler/checked_shape.h"
#include "scheduler/decision.h"
#include "scheduler/expected_node.h"
#include "scheduler/isolation.h"
#include "scheduler/packing.h"
#include "scheduler/quota_check.h"

namespace offcut::scheduler {
namespace {

using binpack::At;
using binpack::Piece;
using binpack::PieceKind;

OfferKind OfferKindOf(const Piece& piece) {
  switch (piece.kind) {
    case PieceKind::kWhole:
      return OfferKind::kWholeGpus;
    case PieceKind::kSlot:
      return OfferKind::kSlots;
    case PieceKind::kInstance:
      return piece.pool >= 0 ? OfferKind::kInstances : OfferKind::kPlacedInstances;
    case PieceKind::kFraction:
      return OfferKind::kFullShares;
  }
  assert(false);
  return OfferKind::kWholeGpus;
}

// The containers that a resource's devices go to, one entry a device: app containers and sidecars
// in their order, then the first init container for what it takes beyond them.
std::deque<std::string> ContainersOf(const Pod& pod, std::string_view resource) {
  std::deque<std::string> names;
  std::string init_name;
  for (const ContainerRequest& container : pod.containers) {
    for (const ResourceCount& asked : container.devices) {
      if (asked.resource != resource) continue;
      if (container.kind == ContainerKind::kInit) {
        if (init_name.empty()) init_name = container.name;
      } else {
        names.insert(names.end(), static_cast<std::size_t>(asked.count), container.name);
      }
    }
  }
  const auto total = std::ranges::find(pod.request.devices, resource, &ResourceCount::resource);
  if (total != pod.request.devices.end()) {
    while (std::ssize(names) < total->count) names.push_back(init_name);
  }
  return names;
}

bool IsUnitOf(const Piece& piece, const Offer& offer, const binpack::NodeState& devices) {
  if (offer.kind != OfferKindOf(piece) || offer.pool != piece.pool) return false;
  return offer.kind != OfferKind::kPlacedInstances ||
         At(devices.gpus, piece.gpu).model->FindProfile(offer.profile) == piece.profile;
}

// Hands out container names to pieces, in the pieces' order.
class ContainerNames {
 public:
  // The inventory must outlive it.
  ContainerNames(const Inventory& inventory, const Pod& pod) : devices_(inventory.devices) {
    names_.reserve(inventory.offers.size());
    for (const Offer& offer : inventory.offers) {
      names_.push_back({&offer, ContainersOf(pod, offer.resource)});
    }
    for (const ContainerRequest& container : pod.containers) {
      if (!container.fraction) continue;
      fractions_.insert(fractions_.end(), static_cast<std::size_t>(container.fraction->gpus),
                        container.name);
    }
  }

  std::string Next(const Piece& piece) {
    // Those that ask for less than a full share come first.
    if (piece.kind == PieceKind::kFraction && !fractions_.empty()) return Take(fractions_);
    for (Entry& entry : names_) {
      if (!entry.names.empty() && IsUnitOf(piece, *entry.offer, devices_)) return Take(entry.names);
    }
    return {};
  }

 private:
  struct Entry {
    const Offer* offer;
    std::deque<std::string> names;
  };

  // Requires: there is one.
  static std::string Take(std::deque<std::string>& names) {
    std::string name = std::move(names.front());
    names.pop_front();
    return name;
  }

  const binpack::NodeState& devices_;
  std::vector<Entry> names_;
  std::deque<std::string> fractions_;
};

// What an instance of a pool is called and how large it is.
void DescribePoolUnit(const binpack::NodeState& devices, const Piece& piece,
                      RecordedDevice& device) {
  const binpack::InstancePool& pool = At(devices.pools, piece.pool);
  device.profile = pool.profile;
  device.size = pool.memory_slices;
  const binpack::GpuModel* model = devices.pool_model.get();
  const std::optional<int> profile =
      model == nullptr ? std::nullopt : model->FindProfile(pool.profile);
  if (profile) device.memory_mib = At(model->profiles, *profile).memory_mib / pool.replicas;
}

void DescribeGpuPiece(const binpack::Gpu& gpu, const Piece& piece, RecordedDevice& device) {
  device.gpu = piece.gpu;
  device.uuid = gpu.uuid;
  switch (piece.kind) {
    case PieceKind::kWhole:
      device.memory_mib = gpu.memory_mib;
      break;
    case PieceKind::kSlot:
      device.memory_mib = gpu.memory_mib / std::get<binpack::SharedGpu>(gpu.state).slots;
      break;
    case PieceKind::kInstance: {
      const binpack::MigProfile& geometry = At(gpu.model->profiles, piece.profile);
      device.profile = geometry.name;
      device.start = piece.slices.start;
      device.size = piece.slices.size;
      device.memory_mib = geometry.memory_mib;
      break;
    }
    case PieceKind::kFraction:
      device.memory_mib = piece.memory_mib;
      device.cores_percent = piece.cores_percent;
      break;
  }
}

// What is held for the pod on the node, where that is free and serves it.
std::optional<binpack::Placement> HeldPlacement(const Node& node, const Pod& pod) {
  if (!pod.hold || pod.hold->node != node.name() || pod.hold->devices.empty()) return std::nullopt;
  return FreePlacement(node, pod, pod.hold->devices);
}

// Where the pod goes on the node: as the kubelet will have it, or where devices are held for it, or
// the strategy's choice.
std::optional<binpack::Placement> ChoosePlacement(const Node& node, const Pod& pod,
                                                  const Policy& policy,
                                                  const binpack::PackingModel& model,
                                                  Prefilter prefilter) {
  if (auto held = HeldPlacement(node, pod)) return held;
  NodeCost cost = CostOf(node, pod, policy, model, prefilter);
  if (!cost.fits) return std::nullopt;
  return std::move(cost.placement);
}

Reservation Refuse(Reason reason) { return {.verdict = {reason}}; }

// What a pod that holds devices (or is on its way to them) is answered.
Reservation Repeated(const Snapshot& snapshot, const PodEntry& entry, std::string_view node_name) {
  if (entry.node_name != node_name) return Refuse(Reason::kPodReservedElsewhere);
  Reservation reservation;
  if (const Node* node = snapshot.FindNode(node_name); node != nullptr) {
    const auto holder = std::ranges::find_if(
        node->holders, [&](const Holder& h) { return h.pod->uid == entry.pod->uid; });
    if (holder != node->holders.end() && holder->record) reservation.record = *holder->record;
  }
  return reservation;
}

}  // namespace

DeviceRecord RecordOf(const Inventory& inventory, const Pod& pod,
                      const binpack::Placement& placement, const PodCharge& charge) {
  const binpack::NodeState& devices = inventory.devices;
  DeviceRecord record{.pod_uid = pod.uid,
                      .node = inventory.name,
                      .agent = inventory.agent,
                      .certainty = devices.picker == binpack::DevicePicker::kKubelet
                                       ? Certainty::kAssumed
                                       : Certainty::kExact,
                      .charge = SumOf(charge)};
  ContainerNames containers(inventory, pod);
  for (const Piece& piece : placement.pieces) {
    RecordedDevice device{.container = containers.Next(piece), .kind = piece.kind};
    if (piece.pool >= 0) {
      DescribePoolUnit(devices, piece, device);
    } else {
      DescribeGpuPiece(At(devices.gpus, piece.gpu), piece, device);
    }
    record.devices.push_back(std::move(device));
  }
  return record;
}

Reservation Reserve(Snapshot& next, const Pod& pod, std::string_view node_name,
                    const Policy& policy, Prefilter prefilter) {
  if (const PodEntry* entry = next.FindPod(pod.uid);
      entry != nullptr && entry->phase != PodPhase::kPending) {
    return Repeated(next, *entry, node_name);
  }
  const Node* current = next.FindNode(node_name);
  if (current == nullptr) return Refuse(Reason::kNodeUnknown);
  const std::optional<Node> held = WithHeld(next, *current, pod);
  const Node* node = held ? &*held : current;
  const Verdict by_devices = FilterNode(*node, pod, policy, prefilter);
  const Verdict verdict = IsolationCheck(next, pod).Restrict(by_devices, *node);
  if (!verdict.fits()) return {.verdict = verdict};
  const auto packing = PackingOf(next, policy);
  const auto placement = ChoosePlacement(*node, pod, policy, *packing, prefilter);
  if (!placement) return Refuse(Reason::kFragmented);
  const PodCharge charge = ChargeOn(*node, *placement);
  const Payer payer = PayerIn(next, pod);
  if (payer.tenant != kNoTenant && !payer.is_charged_elsewhere) {
    const Accounts& accounts = *next.accounts();
    const Verdict by_quota =
        CheckQuota(accounts.charged(), accounts.tenancy(), payer.tenant, charge);
    if (!by_quota.fits()) return {.verdict = by_quota};
  }
  Reservation reservation{.record = RecordOf(node->inventory, pod, *placement, charge),
                          .is_new = true};
  if (payer.tenant != kNoTenant) {
    reservation.record.tenant = NameOf(next.accounts()->tenancy(), payer.tenant);
  }
  if (!reservation.record.devices.empty()) reservation.record.workload = WorkloadText(*packing);
  if (next.FindPod(pod.uid) == nullptr) next.PutPod(pod);
  next.Reserve(pod.uid, node_name, reservation.record);
  return reservation;
}

}  // namespace offcut::scheduler
