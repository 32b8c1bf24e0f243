// Tenants for tests, written as a policy would.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/tenancy.h"

namespace offcut::testing {

// The pools of a tenancy and "*" have cells, and each tenant has the rules of a policy that names
// none. Requires: the specs have no fault.
inline scheduler::Tenancy TenancyOf(const std::vector<quota::TenantSpec>& specs,
                                    std::vector<scheduler::PoolSpec> pools = {}) {
  std::vector<std::string> names{std::string(scheduler::kDefaultPool)};
  for (const scheduler::PoolSpec& pool : pools) names.push_back(pool.name);
  auto tree = quota::BuildTenantTree(specs, names);
  assert(tree.has_value());
  scheduler::Tenancy tenancy;
  tenancy.rules.resize(tree->tenants.size());
  tenancy.tree = std::make_shared<const quota::TenantTree>(*std::move(tree));
  tenancy.specs = specs;
  tenancy.pools = std::move(pools);
  return tenancy;
}

// GPUs of the pool `default`.
inline quota::QuotaSpec Gpus(std::int64_t guarantee,
                             std::optional<std::int64_t> borrowing_limit = {}) {
  quota::QuotaSpec spec{.pool = "default",
                        .resource = "devices",
                        .guarantee = quota::kWholeDevice * guarantee,
                        .borrowing_limit = {},
                        .lending_limit = {}};
  if (borrowing_limit) spec.borrowing_limit = quota::kWholeDevice * *borrowing_limit;
  return spec;
}

// Of each tenant are the pods of the namespace that is named as it.
inline scheduler::Tenancy TenancyByName(const std::vector<quota::TenantSpec>& specs) {
  scheduler::Tenancy tenancy = TenancyOf(specs);
  for (const quota::TenantSpec& spec : specs) {
    tenancy.by_namespace[spec.name] = quota::FindTenant(*tenancy.tree, spec.name);
  }
  return tenancy;
}

// Two tenants below `all`, which has what they have.
inline scheduler::Tenancy RedAndBlueOf(const quota::QuotaSpec& red, const quota::QuotaSpec& blue) {
  return TenancyByName({{.name = "all", .parent = {}, .quotas = {}},
                        {.name = "red", .parent = "all", .quotas = {red}},
                        {.name = "blue", .parent = "all", .quotas = {blue}}});
}

// red is guaranteed that many GPUs and may borrow so many of blue's four; blue borrows nothing.
inline std::shared_ptr<const scheduler::Tenancy> RedAndBlue(std::int64_t red = 4,
                                                            std::int64_t borrowing = 2) {
  return std::make_shared<const scheduler::Tenancy>(RedAndBlueOf(Gpus(red, borrowing), Gpus(4, 0)));
}

}  // namespace offcut::testing
