#include "scheduler/isolation.h"

#include <algorithm>
#include <array>
#include <span>
#include <variant>

namespace offcut::scheduler {
namespace {

constexpr std::int64_t kMillion = 1'000'000;
constexpr std::int64_t kPercent = 100;

bool Narrows(const SharingRule& rule) { return rule.sharers != Sharers::kAnyone; }

// Whether the tenant uses more of anything than its own subtree has.
bool BorrowsNow(const quota::Ledger& ledger, int tenant) {
  const quota::TenantTree& tree = ledger.tree();
  for (int cell = 0; cell < static_cast<int>(tree.cells.size()); ++cell) {
    const quota::CellPlan& plan = tree.Plan(cell, tenant);
    if (plan.takes_part && ledger.Used(tenant, cell) > plan.subtree) return true;
  }
  return false;
}

}  // namespace

IsolationLevel LevelOf(Commons commons) {
  if ((commons & kAllTimeSlices) != 0) return IsolationLevel::kNone;
  if ((commons & kMpsSlots) != 0) return IsolationLevel::kProcess;
  if ((commons & kFractions) != 0) return IsolationLevel::kSoftware;
  return IsolationLevel::kHardware;
}

std::int64_t SlotMemoryMib(std::int64_t memory_mib, int slots) {
  return slots <= 1 ? memory_mib : memory_mib / slots;
}

IsolationCheck::IsolationCheck(const Snapshot& snapshot, const Pod& pod)
    : snapshot_(snapshot),
      pod_(pod),
      tenancy_(snapshot.accounts() == nullptr ? nullptr : &snapshot.accounts()->tenancy()) {
  owner_ = {.name_space = pod.name_space,
            .tenant_label = pod.tenant_label,
            .queue = std::string(snapshot.QueueOf(pod))};
  if (tenancy_ != nullptr) {
    rules_ = tenancy_->isolation;
    tenant_ = PayerOf(*tenancy_, pod, owner_.queue).tenant;
    if (tenant_ != kNoTenant) tenant_rules_ = tenancy_->rules[static_cast<std::size_t>(tenant_)];
  }
  if (pod.request.empty()) return;
  const std::array sharing = {rules_.time_slicing, rules_.mps, rules_.hami};
  has_rules_ = pod.declared_memory != DeclaredMemory{} ||
               tenant_rules_.isolation_min != IsolationLevel::kNone ||
               tenant_rules_.spot == SpotUse::kNever ||
               std::ranges::any_of(sharing, [](const SharingRule& rule) {
                 return Narrows(rule) && rule.is_required;
               });
  has_wishes_ = tenant_ != kNoTenant || std::ranges::any_of(sharing, [](const SharingRule& rule) {
                  return Narrows(rule) && !rule.is_required;
                });
}

Verdict IsolationCheck::Restrict(Verdict by_devices, const Node& node, const Occupants& occupants) {
  // Whoever declares memory by a resource that the node does not serve is told of the slots first:
  // another node of its kind will do as little.
  const bool is_unserved = by_devices.reason == Reason::kFractionsNotServed;
  if (is_unserved) {
    return OnKindOf(node).reason == Reason::kSlotsMemory ? Verdict{Reason::kSlotsMemory}
                                                         : by_devices;
  }
  const bool could = by_devices.fits() || InfoOf(by_devices.reason).evictions_may_help;
  if (!has_rules_ || !could) return by_devices;
  if (tenant_rules_.spot == SpotUse::kNever && node.inventory.is_spot) {
    return {Reason::kCapacitySpot};
  }
  const OnKind& on_kind = OnKindOf(node);
  if (on_kind.reason != Reason::kFits) return {on_kind.reason};
  if (SharesAgainstRules(on_kind.commons, occupants, true)) return {Reason::kIsolationSharers};
  return by_devices;
}

void IsolationCheck::Restrict(const Node& node, Evaluation& evaluation) {
  evaluation.reason = Restrict(Verdict{evaluation.reason}, node).reason;
  if (evaluation.reason != Reason::kFits) evaluation.fill_level_permille = -1;
}

bool IsolationCheck::Avoids(const Node& node) const {
  return tenant_rules_.spot == SpotUse::kAvoid && node.inventory.is_spot;
}

std::uint8_t IsolationCheck::AversionTo(const Node& node) {
  constexpr std::uint8_t to_sharers = 3;
  const OnKind& on_kind = OnKindOf(node);
  const bool shares = SharesAgainstRules(on_kind.commons, node.occupants, false);
  const std::uint8_t to_holders = AversionToHolders(node, on_kind.borrows);
  return static_cast<std::uint8_t>((shares ? to_sharers : 0) + to_holders);
}

const IsolationCheck::OnKind& IsolationCheck::OnKindOf(const Node& node) {
  const auto [known, is_new] = by_kind_.try_emplace(node.kind_hash);
  if (is_new) {
    const binpack::NodeState& devices = node.inventory.devices;
    const binpack::RequestShape shape = ShapeOn(node.inventory, pod_).shape;
    const Commons commons = CommonsOf(devices, shape);
    known->second = {.commons = commons,
                     .reason = StaticReason(devices, shape, commons),
                     .borrows = Borrows(devices, shape)};
  }
  return known->second;
}

Reason IsolationCheck::StaticReason(const binpack::NodeState& devices,
                                    const binpack::RequestShape& shape, Commons commons) const {
  if (LevelOf(commons) < tenant_rules_.isolation_min) return Reason::kIsolationLevel;
  return ExceedsSlots(devices, shape) ? Reason::kSlotsMemory : Reason::kFits;
}

bool IsolationCheck::ExceedsSlots(const binpack::NodeState& devices,
                                  const binpack::RequestShape& shape) const {
  const bool may_overcommit = rules_.allows_memory_overcommit;
  const auto exceeds_slot = [&](const binpack::Gpu& gpu) {
    const auto* shared = std::get_if<binpack::SharedGpu>(&gpu.state);
    if (shared == nullptr) return false;
    if (may_overcommit && shared->sharing == binpack::Sharing::kTimeSlicing) return false;
    return Exceeds(gpu.memory_mib, shared->slots);
  };
  if (shape.slots > 0 && std::ranges::any_of(devices.gpus, exceeds_slot)) return true;
  const binpack::GpuModel* model = devices.pool_model.get();
  if (may_overcommit || model == nullptr) return false;
  return std::ranges::any_of(shape.pool_units, [&](const binpack::PoolCount& wanted) {
    const binpack::InstancePool& pool = devices.pools[static_cast<std::size_t>(wanted.pool)];
    const std::optional<int> profile = model->FindProfile(pool.profile);
    if (!profile || pool.replicas <= 1) return false;
    return Exceeds(model->profiles[static_cast<std::size_t>(*profile)].memory_mib, pool.replicas);
  });
}

// Whether the pod declares more than a slot has of a device of that memory. What it declares as a
// share is rounded down as slots are: a third of a device is a slot of three.
bool IsolationCheck::Exceeds(std::int64_t memory_mib, int slots) const {
  if (memory_mib <= 0) return false;  // not known
  const std::int64_t slot_mib = SlotMemoryMib(memory_mib, slots);
  const DeclaredMemory& declared = pod_.declared_memory;
  if (std::max<std::int64_t>(declared.mib, memory_mib * declared.share_millionths / kMillion) >
      slot_mib) {
    return true;
  }
  return std::ranges::any_of(pod_.request.fractions, [&](const binpack::Fraction& fraction) {
    return std::max<std::int64_t>(fraction.memory_mib,
                                  memory_mib * fraction.memory_percent / kPercent) > slot_mib;
  });
}

bool IsolationCheck::Borrows(const binpack::NodeState& devices,
                             const binpack::RequestShape& shape) const {
  if (tenant_ == kNoTenant) return false;
  const quota::Charge cells = ToCells(*tenancy_, ExpectCharge(devices, shape).charge);
  return snapshot_.accounts()->charged().Borrows(tenant_, cells);
}

bool IsolationCheck::SharesAgainst(const SharingRule& rule, Commons commons,
                                   const Occupants& occupants) {
  if (commons == 0 || !Narrows(rule)) return false;
  return std::ranges::any_of(occupants, [&](const Occupant& occupant) {
    if ((occupant.commons & commons) == 0) return false;
    if (rule.sharers == Sharers::kSameNamespace) {
      return occupant.owner.name_space != owner_.name_space;
    }
    return occupant.owner != owner_ && TenantOfOccupant(occupant) != tenant_;
  });
}

bool IsolationCheck::SharesAgainstRules(Commons commons, const Occupants& occupants,
                                        bool is_required) {
  const auto shares = [&](const SharingRule& rule, Commons part) {
    return rule.is_required == is_required && SharesAgainst(rule, commons & part, occupants);
  };
  return shares(rules_.time_slicing, kAllTimeSlices) || shares(rules_.mps, kMpsSlots) ||
         shares(rules_.hami, kFractions);
}

// Of a pod that borrows: 0 where all who hold devices of the node borrow, 2 where nobody does, and
// between them where some do, or nobody is there. Of a pod within its guarantee the other way
// round.
std::uint8_t IsolationCheck::AversionToHolders(const Node& node, bool borrows) {
  constexpr std::uint8_t neither = 1;
  constexpr std::uint8_t worst = 2;
  if (tenant_ == kNoTenant) return 0;
  const auto is_borrower = [&](const Occupant& each) { return IsBorrower(TenantOfOccupant(each)); };
  const auto borrowers = std::ranges::count_if(node.occupants, is_borrower);
  const std::ptrdiff_t all = std::ssize(node.occupants);
  if (all == 0 || (borrowers > 0 && borrowers < all)) return neither;
  return (borrowers == all) == borrows ? 0 : worst;
}

int IsolationCheck::TenantOfOccupant(const Occupant& occupant) {
  const auto find = [&] {
    const Pod pod{.name_space = occupant.owner.name_space,
                  .tenant_label = occupant.owner.tenant_label,
                  .admitted_queue = occupant.owner.queue};
    return TenantOf(*tenancy_, pod);
  };
  if (tenancy_ == nullptr) return kNoTenant;
  const auto [known, is_new] = by_owner_.try_emplace(occupant.hash);
  if (is_new) known->second = {.owner = occupant.owner, .tenant = find()};
  // Two owners may have one hash: people choose their names.
  return known->second.owner == occupant.owner ? known->second.tenant : find();
}

bool IsolationCheck::IsBorrower(int tenant) {
  if (tenant == kNoTenant) return false;
  const auto [known, is_new] = borrowers_.try_emplace(tenant);
  if (is_new) known->second = BorrowsNow(snapshot_.accounts()->charged(), tenant);
  return known->second;
}

}  // namespace offcut::scheduler
