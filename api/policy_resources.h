// /resources of a policy: the extended resources that are ours.
// Pure; not synchronised.
#pragma once

#include <cstddef>

#include <nlohmann/json_fwd.hpp>

#include "api/policy_reader.h"
#include "scheduler/policy.h"

namespace offcut::api {

inline constexpr std::size_t kMaxResourcesListed = 64;  // in each list or map of resources

void ReadResources(const Value& value, const Place& place, ErrorList& errors,
                   scheduler::ResourceNames& names);

nlohmann::ordered_json ToJson(const scheduler::ResourceNames& names);

}  // namespace offcut::api
