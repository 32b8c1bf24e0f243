// Random tenants with quotas of GPUs, for property tests. The same generator state gives the same
// tenants on every platform.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "test/quota/random_tenants.h"
#include "test/testing/tenancies.h"

namespace offcut::scheduler {

using quota::Below;

// Of the pool `default`, of `b` (the GPUs of the model A100-40GB) and of all GPUs; the pods of
// namespace "t0" are those of tenant "t0" and so on. Quotas are of whole GPUs.
inline Tenancy RandomTenancy(std::mt19937_64& random) {
  std::vector<quota::TenantSpec> specs = quota::RandomTenants(random);
  for (quota::TenantSpec& spec : specs) {
    std::erase_if(spec.quotas, [](const auto& each) { return each.resource != quota::kDevices; });
    for (quota::QuotaSpec& each : spec.quotas) {
      if (each.pool == "a") each.pool = kDefaultPool;
      for (auto* amount : {&each.guarantee, &each.borrowing_limit, &each.lending_limit}) {
        if (*amount) **amount *= quota::kWholeDevice;
      }
    }
  }
  Tenancy tenancy = testing::TenancyOf(specs, {{.name = "b", .models = {"A100-40GB"}}});
  for (const quota::TenantSpec& spec : specs) {
    tenancy.by_namespace[spec.name] = quota::FindTenant(*tenancy.tree, spec.name);
  }
  return tenancy;
}

// "t0" and so on, or one that has no tenant.
inline std::string AnyNamespace(std::mt19937_64& random, const Tenancy& tenancy) {
  const auto tenants = static_cast<int>(tenancy.specs.size());
  const int tenant = Below(random, tenants + 1);
  return tenant == tenants ? "nobody" : "t" + std::to_string(tenant);
}

}  // namespace offcut::scheduler
