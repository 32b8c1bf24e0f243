// Random trees of tenants, and random changes of one, for property tests. The same generator state
// gives the same tenants on every platform.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "quota/tenant_tree.h"

namespace offcut::quota {

inline constexpr int kRandomTenantsMax = 9;

// Below `bound`, which is above 0.
inline int Below(std::mt19937_64& random, int bound) {
  return static_cast<int>(random() % static_cast<std::uint64_t>(bound));
}

// Two to nine tenants, "t0" and so on, of two pools and the pool of all. Legal: a parent that says
// what it has, has at least what its children are promised.
inline std::vector<TenantSpec> RandomTenants(std::mt19937_64& random) {
  const int count = 2 + Below(random, kRandomTenantsMax - 1);
  std::vector<TenantSpec> specs;
  for (int t = 0; t < count; ++t) {
    TenantSpec spec{.name = "t" + std::to_string(t), .parent = "", .quotas = {}};
    if (t > 0 && Below(random, 8) != 0) spec.parent = "t" + std::to_string(Below(random, t));
    spec.weight_micro = kWeightOne * Below(random, 4) / 2;
    specs.push_back(std::move(spec));
  }
  const auto limit = [&]() -> std::optional<std::int64_t> {
    if (Below(random, 2) == 0) return std::nullopt;
    return Below(random, 6);
  };
  for (const char* pool : {"a", "b", "*"}) {
    for (const std::string_view resource : {kDevices, kMemoryMib}) {
      std::vector<std::int64_t> children(specs.size());
      for (std::size_t t = specs.size(); t-- > 0;) {
        std::int64_t has = children[t];
        if (Below(random, 4) != 0) {
          has += Below(random, 8);
          specs[t].quotas.push_back({pool, std::string(resource), has, limit(), limit()});
        }
        if (!specs[t].parent.empty()) {
          children[static_cast<std::size_t>(std::stoi(specs[t].parent.substr(1)))] += has;
        }
      }
    }
  }
  return specs;
}

}  // namespace offcut::quota
