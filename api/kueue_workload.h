// Reads Workloads of Kueue (kueue.x-k8s.io/v1beta2): which have been admitted, for whose pods, and
// which ClusterQueue was charged. Source: Kueue, apis/kueue/v1beta2/workload_types.go.
// Pure.
#pragma once

#include <expected>
#include <string_view>

#include <nlohmann/json.hpp>

#include "api/error.h"
#include "scheduler/admissions.h"

namespace offcut::api {

inline constexpr std::string_view kWorkloadsPath = "/apis/kueue.x-k8s.io/v1beta2/workloads";

struct KueueWorkload {
  scheduler::Admission admission;  // `queue` is empty unless it is admitted
  bool is_admitted = false;        // condition Admitted, and neither finished nor evicted
  bool operator==(const KueueWorkload&) const = default;
};

// Error: it has no name or namespace. What else is missing makes it not admitted.
std::expected<KueueWorkload, Error> ParseKueueWorkload(const nlohmann::json& object);

}  // namespace offcut::api
