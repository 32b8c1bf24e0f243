// /preemption of a policy: who may be evicted for whom.
// Pure; not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>

#include <nlohmann/json_fwd.hpp>

#include "api/policy_reader.h"
#include "scheduler/preemption_rules.h"

namespace offcut::api {

inline constexpr std::size_t kMaxProtectedBands = 16;
inline constexpr std::int64_t kMaxRunSeconds = std::int64_t{365} * 24 * 3600;

void ReadPreemption(const Value& value, const Place& place, ErrorList& errors,
                    scheduler::PreemptionRules& rules);

nlohmann::ordered_json ToJson(const scheduler::PreemptionRules& rules);

}  // namespace offcut::api
