// How much of a cluster a pod, a tenant or a node accounts for: exact integers, so that the charges
// of one GPU never add up to more than the GPU.
//
// What surprises: the devices of an instance or a fraction follow its memory alone. The larger of
// memory and compute would not conserve: a 4g and a 3g on one GPU would be 1500 of 1400.
//
// Units: devices in 1/1400 of a GPU (a whole GPU is 1400: divisible by 7 and 8 slices and by 100
// percent), memory in MiB, cores in thousandths of a GPU's compute, instances by profile name.
// Sums stop at the ends of std::int64_t; they never wrap.
// Pure; not synchronised.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace offcut::quota {

inline constexpr std::int64_t kWholeDevice = 1400;

// A quota of so many GPUs, "1/7" or 3/1, in these units: rounded up, so that a third of a GPU holds
// the first of three slots. Requires: numerator >= 0, denominator > 0.
std::int64_t DevicesOf(std::int64_t numerator, std::int64_t denominator);

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

// ceil(1400 / slots), and floor(1400 / slots) for those behind, so that the slots of one GPU add up
// to the GPU, and none is free but of more than 1400: `devices_charged` is what the others of the
// GPU are charged now. The last slot of three is so charged 466, not 467; of 48 the first eight are
// charged 30, the others 29. Requires: slots > 0, 0 <= devices_charged.
Amount ChargeSlot(int slots, std::int64_t gpu_memory_mib, std::int64_t devices_charged = 0);

// The same for a slot of whatever is charged `shared` as one, such as a time-sliced MIG instance.
// Its instances are counted for every slot. Requires: as above.
Amount ChargeSlotOf(const Amount& shared, int slots, std::int64_t devices_charged = 0);

// Requires: 0 <= memory_mib <= gpu_memory_mib, gpu_memory_mib > 0. Devices are rounded down, so
// that a GPU's fractions never add up to more than the GPU.
Amount ChargeFraction(std::int64_t memory_mib, std::int64_t gpu_memory_mib, int cores_percent);

// Of each member the larger.
Amount Larger(const Amount& a, const Amount& b);

enum class ContainerKind { kApp, kSidecar, kInit };

struct ContainerCharge {
  ContainerKind kind = ContainerKind::kApp;
  Amount charge;
};

// What a pod is charged for as long as it is bound: the most that its containers hold at any time,
// plus `overhead`. Containers in the order of the pod's spec: a sidecar (an init container that
// restarts) runs beside the init containers after it, and beside the apps. Without sidecars that is
// max(sum of the apps, the largest init container), member by member. Source: Kubernetes'
// component-helpers, resource.PodRequests.
Amount ChargeOfPod(std::span<const ContainerCharge> containers, const Amount& overhead);

}  // namespace offcut::quota
