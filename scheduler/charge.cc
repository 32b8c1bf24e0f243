#include "scheduler/charge.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "binpack/indexing.h"

namespace offcut::scheduler {
namespace {

using binpack::At;
using binpack::Gpu;
using binpack::InstancePool;
using binpack::NodeState;
using binpack::Piece;
using binpack::PieceKind;
using quota::Amount;

void AddTo(PodCharge& charge, const std::shared_ptr<const binpack::GpuModel>& model,
           const std::string& product, const Amount& amount) {
  const auto known = std::ranges::find_if(charge, [&](const KindCharge& each) {
    return each.model == model && each.product == product;
  });
  if (known != charge.end()) {
    known->amount += amount;
  } else {
    charge.push_back({.model = model, .product = product, .amount = amount});
  }
}

void AddTo(PodCharge& charge, const Gpu& gpu, const Amount& amount) {
  AddTo(charge, gpu.model, gpu.product, amount);
}

Amount ChargeOfProfile(const binpack::GpuModel& model, int profile) {
  const binpack::MigProfile& geometry = At(model.profiles, profile);
  return quota::ChargeInstance(geometry.name, geometry.memory_slices, model.memory_slices,
                               geometry.compute_slices, model.compute_slices, geometry.memory_mib);
}

// An instance of the pool, shared or not.
Amount ChargeOfInstance(const NodeState& devices, const InstancePool& pool) {
  const binpack::GpuModel* model = devices.pool_model.get();
  const std::optional<int> profile =
      model == nullptr ? std::nullopt : model->FindProfile(pool.profile);
  return profile ? ChargeOfProfile(*model, *profile) : Amount{.instances = {{pool.profile, 1}}};
}

// Nobody knows which instance a unit is of: the dear ones of all instances come first.
Amount ChargeOfUnit(const NodeState& devices, const InstancePool& pool, std::int64_t charged) {
  Amount instance = ChargeOfInstance(devices, pool);
  if (pool.replicas <= 1) return instance;
  const int units = pool.units + pool.units_unhealthy;
  const std::int64_t instances = (units + pool.replicas - 1) / pool.replicas;
  const Amount first = quota::ChargeSlotOf(instance, pool.replicas);
  const std::int64_t dear = instance.devices % pool.replicas * first.devices;  // of one instance
  return charged < dear * instances ? first : quota::ChargeSlotOf(instance, pool.replicas, dear);
}

int SlotsOf(const Gpu& gpu) { return std::get<binpack::SharedGpu>(gpu.state).slots; }

std::int64_t& Grown(std::vector<std::int64_t>& sums, int index) {
  if (std::ssize(sums) <= index) sums.resize(static_cast<std::size_t>(index) + 1);
  return At(sums, index);
}

// What a slot of such a GPU is charged that is not among the first.
std::int64_t LeastOfSlot(int slots) { return quota::kWholeDevice / slots; }

// The placement's pieces, one after the other.
class Charging {
 public:
  Charging(const NodeState& devices, SlotsCharged& charged) : devices_(devices), sums_(charged) {}

  void Add(const Piece& piece) {
    if (piece.pool >= 0) return AddUnit(piece);
    const Gpu& gpu = At(devices_.gpus, piece.gpu);
    switch (piece.kind) {
      case PieceKind::kWhole:
        return AddTo(charge_, gpu, quota::ChargeWholeGpu(gpu.memory_mib));
      case PieceKind::kSlot:
        return AddSlot(gpu, Grown(sums_.by_gpu, piece.gpu));
      case PieceKind::kInstance:
        return AddTo(charge_, gpu, ChargeOfProfile(*gpu.model, piece.profile));
      case PieceKind::kFraction:
        return AddTo(charge_, gpu,
                     quota::ChargeFraction(piece.memory_mib, gpu.memory_mib, piece.cores_percent));
    }
    assert(false);
  }

  // Takes the last slot's charge down to what the record says, where that may be.
  void Follow(const DeviceRecord& record) {
    if (last_slot_sum_ == nullptr) return;
    const std::int64_t less = SumOf(charge_).devices - record.charge.devices;
    if (less <= 0 || less > slack_) return;
    AddTo(charge_, *last_slot_, {.devices = -less});
    *last_slot_sum_ -= less;
  }

  PodCharge Take() { return std::move(charge_); }

 private:
  void AddUnit(const Piece& piece) {
    const InstancePool& pool = At(devices_.pools, piece.pool);
    std::int64_t& sum = Grown(sums_.by_pool, piece.pool);
    const Amount unit = ChargeOfUnit(devices_, pool, sum);
    sum += unit.devices;
    AddTo(charge_, devices_.pool_model, devices_.pool_product, unit);
  }

  void AddSlot(const Gpu& gpu, std::int64_t& sum) {
    const Amount slot = quota::ChargeSlot(SlotsOf(gpu), gpu.memory_mib, sum);
    sum += slot.devices;
    AddTo(charge_, gpu, slot);
    last_slot_ = &gpu;
    last_slot_sum_ = &sum;
    slack_ = std::max<std::int64_t>(0, slot.devices - LeastOfSlot(SlotsOf(gpu)));
  }

  const NodeState& devices_;
  SlotsCharged& sums_;
  PodCharge charge_;
  const Gpu* last_slot_ = nullptr;
  std::int64_t* last_slot_sum_ = nullptr;
  std::int64_t slack_ = 0;
};

// The GPUs that may serve one kind of demand, as far as their charges tell them apart.
class Kinds {
 public:
  void Add(const Gpu& gpu) {
    if (first_ == nullptr) first_ = &gpu;
    is_one_ = is_one_ && gpu.model == first_->model && gpu.product == first_->product &&
              gpu.memory_mib == first_->memory_mib && SlotsOrZero(gpu) == SlotsOrZero(*first_);
  }
  const Gpu* first() const { return first_; }
  bool is_one() const { return is_one_; }

 private:
  static int SlotsOrZero(const Gpu& gpu) {
    const auto* shared = std::get_if<binpack::SharedGpu>(&gpu.state);
    return shared == nullptr ? 0 : shared->slots;
  }

  const Gpu* first_ = nullptr;
  bool is_one_ = true;
};

template <typename State>
Kinds KindsOf(const NodeState& devices) {
  Kinds kinds;
  for (const Gpu& gpu : devices.gpus) {
    if (std::holds_alternative<State>(gpu.state)) kinds.Add(gpu);
  }
  return kinds;
}

void Expect(const Kinds& kinds, const Amount& amount, int count, ExpectedCharge& expected) {
  for (int i = 0; i < count; ++i) AddTo(expected.charge, *kinds.first(), amount);
  if (!kinds.is_one()) expected.is_exact = expected.is_at_most = false;
}

void ExpectSlots(const NodeState& devices, int count, ExpectedCharge& expected) {
  const Kinds kinds = KindsOf<binpack::SharedGpu>(devices);
  if (count == 0 || kinds.first() == nullptr) return;
  const int slots = SlotsOf(*kinds.first());
  const Amount slot = quota::ChargeSlot(slots, kinds.first()->memory_mib);
  Expect(kinds, slot, count, expected);
  if (slot.devices * slots > quota::kWholeDevice) {
    expected.is_exact = false;
    expected.devices_slack += count * (slot.devices - LeastOfSlot(slots));
  }
}

void ExpectUnits(const NodeState& devices, const binpack::PoolCount& wanted,
                 ExpectedCharge& expected) {
  const InstancePool& pool = At(devices.pools, wanted.pool);
  const Amount unit = ChargeOfUnit(devices, pool, 0);
  for (int i = 0; i < wanted.count; ++i) {
    AddTo(expected.charge, devices.pool_model, devices.pool_product, unit);
  }
  const std::int64_t instance = ChargeOfInstance(devices, pool).devices;
  if (unit.devices * pool.replicas > instance) {
    expected.is_exact = false;
    expected.devices_slack += wanted.count * (unit.devices - instance / pool.replicas);
  }
}

void ExpectProfiles(const NodeState& devices, const binpack::ProfileCount& wanted,
                    ExpectedCharge& expected) {
  const Kinds kinds = KindsOf<binpack::MigGpu>(devices);
  if (kinds.first() == nullptr) return;
  const std::optional<int> profile = kinds.first()->model->FindProfile(wanted.profile);
  if (!profile) {
    expected.is_exact = expected.is_at_most = false;
    return;
  }
  Expect(kinds, ChargeOfProfile(*kinds.first()->model, *profile), wanted.count, expected);
}

void ExpectFraction(const NodeState& devices, const binpack::Fraction& fraction,
                    ExpectedCharge& expected) {
  Kinds kinds = KindsOf<binpack::FractionalGpu>(devices);
  if (kinds.first() == nullptr) {
    expected.is_exact = expected.is_at_most = false;  // served by instances that cover it
    kinds = KindsOf<binpack::MigGpu>(devices);
  }
  if (kinds.first() == nullptr) return;
  const Gpu& gpu = *kinds.first();
  const int memory_mib = std::min(gpu.memory_mib, binpack::MemoryMibOn(gpu, fraction));
  Expect(kinds, quota::ChargeFraction(memory_mib, gpu.memory_mib, fraction.cores_percent),
         fraction.gpus, expected);
}

}  // namespace

quota::Amount SumOf(const PodCharge& charge) {
  Amount sum;
  for (const KindCharge& each : charge) sum += each.amount;
  return sum;
}

PodCharge ChargeOf(const NodeState& devices, const binpack::Placement& placement,
                   SlotsCharged& charged, const DeviceRecord* record) {
  Charging charging(devices, charged);
  for (const Piece& piece : placement.pieces) charging.Add(piece);
  if (record != nullptr) charging.Follow(*record);
  return charging.Take();
}

ExpectedCharge ExpectCharge(const NodeState& devices, const binpack::RequestShape& shape) {
  ExpectedCharge expected;
  if (shape.whole_gpus > 0) {
    const Kinds kinds = KindsOf<binpack::WholeGpu>(devices);
    if (kinds.first() != nullptr) {
      Expect(kinds, quota::ChargeWholeGpu(kinds.first()->memory_mib), shape.whole_gpus, expected);
    }
  }
  ExpectSlots(devices, shape.slots, expected);
  for (const binpack::PoolCount& each : shape.pool_units) ExpectUnits(devices, each, expected);
  for (const binpack::ProfileCount& each : shape.profiles) ExpectProfiles(devices, each, expected);
  for (const binpack::Fraction& each : shape.fractions) ExpectFraction(devices, each, expected);
  return expected;
}

}  // namespace offcut::scheduler
