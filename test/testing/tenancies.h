// Tenants for tests, written as a policy would.
#pragma once

#include <cassert>
#include <memory>
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

}  // namespace offcut::testing
