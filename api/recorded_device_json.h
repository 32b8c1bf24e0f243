// A device as annotations of ours name it. Pure.
#pragma once

#include <limits>

#include <nlohmann/json.hpp>

#include "api/json_object.h"
#include "scheduler/device_record.h"

namespace offcut::api {

inline constexpr int kGpuIndexMax = 1023;
inline constexpr int kSlicesMax = 16;  // of any GPU model
inline constexpr int kCoresPercentMax = 100;
inline constexpr int kMemoryMibMax = std::numeric_limits<int>::max();

// What does not apply is left out.
nlohmann::ordered_json ToJson(const scheduler::RecordedDevice& device);

// An unknown kind, a number out of range, and members that do not belong together are errors.
scheduler::RecordedDevice ReadRecordedDevice(const JsonObject& object);

}  // namespace offcut::api
