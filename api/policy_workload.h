// /packing/targetWorkload of a policy: what pods are expected to ask for.
// Pure; not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "api/policy_reader.h"
#include "binpack/packing_model.h"

namespace offcut::api {

inline constexpr std::size_t kMaxWorkloadClasses = binpack::kWorkloadClassesMax;
inline constexpr int kMaxClassWeight = 100'000;
inline constexpr int kMaxClassGpus = 64;  // or slots, or instances
inline constexpr std::int64_t kMaxClassCpuMilli = 10'000'000;
inline constexpr std::size_t kMaxClassModels = 64;

void ReadTargetWorkload(const Value& value, const Place& place, ErrorList& errors,
                        std::optional<binpack::TargetWorkload>& out);

// The classes as /packing/targetWorkload has them, shares rounded up to whole percent.
nlohmann::ordered_json ToJson(const binpack::TargetWorkload& workload);

}  // namespace offcut::api
