// The devices on record for a pod, as annotations carry them: our own `offcut.dev/devices`, and
// HAMi's.
// Source of HAMi's texts: recorded annotations of HAMi 2.10.
// Pure.
#pragma once

#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "api/error.h"
#include "scheduler/device_record.h"
#include "scheduler/pod.h"

namespace offcut::api {

inline constexpr std::string_view kDevicesAnnotation = "offcut.dev/devices";
inline constexpr std::string_view kHamiDevicesAnnotation = "hami.io/vgpu-devices-allocated";
inline constexpr std::string_view kHamiMigAnnotation = "hami.io/vgpu-mig-allocations";
inline constexpr std::string_view kHamiNodeAnnotation = "hami.io/vgpu-node";

// Kubernetes' limit on all annotations of an object together.
inline constexpr std::size_t kAnnotationBytesMax = 262144;  // 256 KiB
inline constexpr std::size_t kRecordedDevicesMax = 4096;

inline constexpr int kDeviceRecordVersion = 1;

// The value of `offcut.dev/devices`, on one line. What does not apply is left out. A text that is
// no UTF-8 is written with replacement characters.
std::string PrintDeviceRecord(const scheduler::DeviceRecord& record);

// Strict: another version, an unknown word, a wrong type, a number out of range, and a device whose
// members do not belong together are errors that name the member. Unknown members are ignored, so
// that an older replica can read what a newer one wrote.
std::expected<scheduler::DeviceRecord, Error> ParseDeviceRecord(std::string_view annotation);

// HAMi's annotations of a pod that it has bound.
struct HamiRecordSource {
  std::string_view pod_uid;
  std::string_view node;             // hami.io/vgpu-node
  std::string_view devices;          // hami.io/vgpu-devices-allocated
  std::string_view mig_allocations;  // hami.io/vgpu-mig-allocations; empty: none
  std::span<const scheduler::ContainerRequest> containers;  // init containers first
};

// A record of agent "hami" with UUIDs but without GPU indices, tenant and charge. HAMi has one
// entry a container, or, as of 2.10, one a container that asks for devices; a container's name is
// left empty where the entries match neither. A MIG allocation whose UUID is not the one at its
// place is a leftover of an earlier node, and is ignored.
std::expected<scheduler::DeviceRecord, Error> ParseHamiRecord(const HamiRecordSource& source);

}  // namespace offcut::api
