// What a namespace may ask for by Kubernetes' own ResourceQuota, as far as it names resources of
// ours. The API server enforces it when pods are made; no decision reads it. It is there for
// people: a tenant whose pods are refused by it never gets as far as its quota. Pure values.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace offcut::scheduler {

struct ResourceQuota {
  std::string name_space;
  std::string name;
  // By resource, "nvidia.com/gpu"; whole units.
  std::map<std::string, std::int64_t> hard;
  std::map<std::string, std::int64_t> used;
  bool operator==(const ResourceQuota&) const = default;
};

}  // namespace offcut::scheduler
