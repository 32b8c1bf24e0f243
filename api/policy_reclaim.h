// /reclaim of a policy: evictions of our own, and what is held for whom.
// Pure; not synchronised.
#pragma once

#include <cstdint>

#include <nlohmann/json_fwd.hpp>

#include "api/policy_reader.h"
#include "scheduler/reclaim_rules.h"

namespace offcut::api {

inline constexpr std::int64_t kMaxReclaimSeconds = std::int64_t{7} * 24 * 3600;
inline constexpr int kMaxEvictions = 10'000;

void ReadReclaim(const Value& value, const Place& place, ErrorList& errors,
                 scheduler::ReclaimRules& rules, scheduler::DatedHoldRules& dated);

nlohmann::ordered_json ToJson(const scheduler::ReclaimRules& rules,
                              const scheduler::DatedHoldRules& dated);

}  // namespace offcut::api
