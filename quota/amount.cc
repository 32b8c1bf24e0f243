#include "quota/amount.h"

#include <algorithm>
#include <cassert>

#include "quota/exact.h"

namespace offcut::quota {
namespace {

template <typename Combine>
void CombineInto(Amount& to, const Amount& from, Combine combine) {
  to.devices = combine(to.devices, from.devices);
  to.memory_mib = combine(to.memory_mib, from.memory_mib);
  to.cores_permille = combine(to.cores_permille, from.cores_permille);
  for (const auto& [profile, count] : from.instances) {
    const auto entry = to.instances.try_emplace(profile, 0).first;
    entry->second = combine(entry->second, count);
    if (entry->second == 0) to.instances.erase(entry);
  }
}

}  // namespace

std::int64_t DevicesOf(std::int64_t numerator, std::int64_t denominator) {
  assert(numerator >= 0 && denominator > 0);
  return Ceiling({Wide{kWholeDevice} * numerator, denominator});
}

Amount& Amount::operator+=(const Amount& other) {
  CombineInto(*this, other, SaturatingAdd);
  return *this;
}

Amount& Amount::operator-=(const Amount& other) {
  CombineInto(*this, other, SaturatingSub);
  return *this;
}

Amount ChargeWholeGpu(std::int64_t memory_mib) {
  return {.devices = kWholeDevice, .memory_mib = memory_mib, .cores_permille = 1000};
}

Amount ChargeInstance(const std::string& profile, int memory_slices, int memory_slices_total,
                      int compute_slices, int compute_slices_total, std::int64_t memory_mib) {
  assert(memory_slices > 0 && memory_slices <= memory_slices_total);
  assert(compute_slices > 0 && compute_slices <= compute_slices_total);
  return {.devices = kWholeDevice * memory_slices / memory_slices_total,
          .memory_mib = memory_mib,
          .cores_permille = std::int64_t{1000} * compute_slices / compute_slices_total,
          .instances = {{profile, 1}}};
}

Amount ChargeSlot(int slots, std::int64_t gpu_memory_mib, std::int64_t devices_charged) {
  return ChargeSlotOf(ChargeWholeGpu(gpu_memory_mib), slots, devices_charged);
}

Amount ChargeSlotOf(const Amount& shared, int slots, std::int64_t devices_charged) {
  assert(slots > 0 && devices_charged >= 0);
  const std::int64_t left = std::max<std::int64_t>(0, shared.devices - devices_charged);
  const std::int64_t low = shared.devices / slots;
  const std::int64_t dear_slots = shared.devices - low * slots;  // which cost one more
  const std::int64_t slot = devices_charged < dear_slots * (low + 1) ? low + 1 : low;
  return {.devices = std::min(slot, left),
          .memory_mib = shared.memory_mib / slots,
          .cores_permille = shared.cores_permille / slots,
          .instances = shared.instances};
}

Amount ChargeFraction(std::int64_t memory_mib, std::int64_t gpu_memory_mib, int cores_percent) {
  assert(gpu_memory_mib > 0 && memory_mib >= 0 && memory_mib <= gpu_memory_mib);
  return {.devices = kWholeDevice * memory_mib / gpu_memory_mib,
          .memory_mib = memory_mib,
          .cores_permille = std::int64_t{10} * cores_percent};
}

Amount Larger(const Amount& a, const Amount& b) {
  Amount larger = a;
  CombineInto(larger, b, [](std::int64_t x, std::int64_t y) { return std::max(x, y); });
  return larger;
}

Amount ChargeOfPod(std::span<const ContainerCharge> containers, const Amount& overhead) {
  Amount apps;
  Amount sidecars;
  Amount peak;  // while init containers run
  for (const auto& [kind, charge] : containers) {
    switch (kind) {
      case ContainerKind::kApp:
        apps += charge;
        break;
      case ContainerKind::kSidecar:
        sidecars += charge;
        break;
      case ContainerKind::kInit: {
        Amount beside = sidecars;
        beside += charge;
        peak = Larger(peak, beside);
        break;
      }
    }
  }
  apps += sidecars;
  Amount pod = Larger(apps, peak);
  pod += overhead;
  return pod;
}

}  // namespace offcut::quota
