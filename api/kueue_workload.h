// Reads Workloads of Kueue (kueue.x-k8s.io/v1beta2): which have been admitted, for whose pods and
// how many, and which ClusterQueue was charged. Source: Kueue,
// apis/kueue/v1beta2/workload_types.go. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <string_view>

#include <nlohmann/json.hpp>

#include "api/error.h"
#include "scheduler/admissions.h"

namespace offcut::api {

inline constexpr std::int64_t kPodSetPodsMax = 1'000'000;  // more count as that many
inline constexpr std::string_view kWorkloadsPath = "/apis/kueue.x-k8s.io/v1beta2/workloads";

struct KueueWorkload {
  scheduler::Admission admission;  // `queue` is empty, and `pods` 0, unless it is admitted
  bool is_admitted = false;        // condition Admitted, and neither finished nor evicted
  bool operator==(const KueueWorkload&) const = default;
};

// Error: it has no name or namespace. What else is missing makes it not admitted, or admitted for
// no pod.
std::expected<KueueWorkload, Error> ParseKueueWorkload(const nlohmann::json& object);

}  // namespace offcut::api
