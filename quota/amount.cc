#include "quota/amount.h"

#include <cassert>

namespace offcut::quota {
namespace {

void AddInstances(Amount& to, const Amount& from, std::int64_t sign) {
  for (const auto& [profile, count] : from.instances) {
    const auto entry = to.instances.try_emplace(profile, 0).first;
    entry->second += sign * count;
    if (entry->second == 0) to.instances.erase(entry);
  }
}

}  // namespace

Amount& Amount::operator+=(const Amount& other) {
  devices += other.devices;
  memory_mib += other.memory_mib;
  cores_permille += other.cores_permille;
  AddInstances(*this, other, 1);
  return *this;
}

Amount& Amount::operator-=(const Amount& other) {
  devices -= other.devices;
  memory_mib -= other.memory_mib;
  cores_permille -= other.cores_permille;
  AddInstances(*this, other, -1);
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

Amount ChargeSlot(int slots, std::int64_t gpu_memory_mib) {
  assert(slots > 0);
  return {.devices = (kWholeDevice + slots - 1) / slots,
          .memory_mib = gpu_memory_mib / slots,
          .cores_permille = 1000 / slots};
}

Amount ChargeFraction(std::int64_t memory_mib, std::int64_t gpu_memory_mib, int cores_percent) {
  assert(gpu_memory_mib > 0 && memory_mib >= 0 && memory_mib <= gpu_memory_mib);
  return {.devices = kWholeDevice * memory_mib / gpu_memory_mib,
          .memory_mib = memory_mib,
          .cores_permille = std::int64_t{10} * cores_percent};
}

}  // namespace offcut::quota
