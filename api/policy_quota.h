// /tenants/N/quotas of a policy: what a tenant has of each pool.
//
// `devices` are GPUs: a whole number, or a fraction as text, "1/7". Null, or a member that is left
// out, is no statement: a guarantee is then that of the children, a limit is none. 0 is none at
// all.
// Pure; not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/policy_pools.h"
#include "api/policy_reader.h"
#include "quota/tenant_tree.h"

namespace offcut::api {

inline constexpr std::int64_t kMaxQuotaGpus = 1'000'000;  // of one amount
inline constexpr std::int64_t kMaxGpuParts = 1'000'000;   // that a fraction divides a GPU into
inline constexpr std::size_t kMaxTenantQuotas = kMaxPools + 2;  // and "default" and "*"
inline constexpr std::size_t kMaxQuotaProfiles = 64;            // of one amount

// Where a quota stands, for what only all tenants together show to be wrong.
struct QuotaPlace {
  Place guarantee;  // of the resource; where none is said, the entry of the pool
  Place borrowing_limit;
  Place lending_limit;
};

struct QuotasRead {
  std::vector<quota::QuotaSpec> quotas;  // an entry's resources: devices, memory, cores, profiles
  std::vector<QuotaPlace> places;        // of each of them
};

// `pools` are the names that a quota may give.
QuotasRead ReadQuotas(const Value& value, const Place& place,
                      std::span<const std::string_view> pools, ErrorList& errors);

// ReadQuotas() makes the same quotas of it.
nlohmann::ordered_json ToJson(std::span<const quota::QuotaSpec> quotas);

// 1/1400 of a GPU as a policy writes them: 11200 are "8", 200 are "1/7".
std::string GpusText(std::int64_t devices);

}  // namespace offcut::api
