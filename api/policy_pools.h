// /pools of a policy: the GPU models that are counted together.
// Pure; not synchronised.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/policy_reader.h"
#include "scheduler/tenancy.h"

namespace offcut::api {

inline constexpr std::size_t kMaxPools = 64;
inline constexpr std::size_t kMaxPoolModels = 64;

struct NamedPlace {
  std::string name;
  Place place;
};

// Returns the names as they stand, right or wrong: a quota of a pool whose name is wrong should not
// be told that there is no such pool.
std::vector<NamedPlace> ReadPools(const Section& section, ErrorList& errors,
                                  std::vector<scheduler::PoolSpec>& pools);

nlohmann::ordered_json ToJson(const std::vector<scheduler::PoolSpec>& pools);

}  // namespace offcut::api
