// How much of a cluster a pod, a tenant or a node accounts for: exact integers, so that the charges
// of one GPU never add up to more than the GPU.
//
// Units: devices in 1/1400 of a GPU (a whole GPU is 1400: divisible by 7 and 8 slices and by 100
// percent), memory in MiB, cores in thousandths of a GPU's compute, instances by profile name.
// Pure; not synchronised.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace offcut::quota {

inline constexpr std::int64_t kWholeDevice = 1400;

struct Amount {
  std::int64_t devices = 0;
  std::int64_t memory_mib = 0;
  std::int64_t cores_permille = 0;
  std::map<std::string, std::int64_t> instances;  // no entry is 0

  Amount& operator+=(const Amount& other);
  Amount& operator-=(const Amount& other);
  bool operator==(const Amount&) const = default;
};

// The charge of one device, or of one part of one. `memory_mib` is what the pod gets of it.
Amount ChargeWholeGpu(std::int64_t memory_mib);

// By its share of the memory, so that the instances of a GPU add up to at most the GPU; compute is
// charged in cores alone. Requires: 0 < slices <= total, likewise compute slices.
Amount ChargeInstance(const std::string& profile, int memory_slices, int memory_slices_total,
                      int compute_slices, int compute_slices_total, std::int64_t memory_mib);

// ceil(1400 / slots). The sum over a GPU may pass 1400 by rounding; whoever sums caps it there.
// Requires: slots > 0.
Amount ChargeSlot(int slots, std::int64_t gpu_memory_mib);

// Requires: 0 <= memory_mib <= gpu_memory_mib, gpu_memory_mib > 0. Devices are rounded down, so
// that a GPU's fractions never add up to more than the GPU.
Amount ChargeFraction(std::int64_t memory_mib, std::int64_t gpu_memory_mib, int cores_percent);

}  // namespace offcut::quota
