// /pools, /tenantSource, /isolation and /tenants of a policy: whose pods are whose, how much each
// tenant has, and with whom a pod may share a GPU.
//
// What a tenant's parent has of minIsolation and spot holds for the tenant, too, where that is
// stricter than its own.
// Pure; not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "api/policy_reader.h"
#include "scheduler/tenancy.h"

namespace offcut::api {

// Of tenants there may be quota::kTenantsMax, and they may be quota::kTenantDepthMax deep.
inline constexpr std::size_t kMaxTenantNamespaces = 1000;  // in each list of one tenant
inline constexpr std::size_t kMaxTenantQueues = 1000;
inline constexpr std::int64_t kMaxTenantWeight = 1'000'000;  // quota::kWeightMax is in millionths
inline constexpr std::size_t kMaxTenantsSuggested = 1000;    // that a wrong name is compared with

// They depend on each other, and so are read when all have been found.
struct TenancySections {
  Section pools;
  Section tenant_source;
  Section isolation;
  Section tenants;
};

// Null where none of pools, isolation and tenants is said, or what is said is wrong.
std::shared_ptr<const scheduler::Tenancy> ReadTenancy(const TenancySections& sections,
                                                      ErrorList& errors);

// Adds the fields to the root of a policy, every default written out. ReadTenancy() makes the same
// of them.
void PrintTenancy(const scheduler::Tenancy& tenancy, nlohmann::ordered_json& root);

}  // namespace offcut::api
