// How a quantity is divided between tenants: first what each deserves, then the rest by weight.
//
// Everybody gets the smaller of what it deserves and what it asks for, even where those add up to
// more than there is. The rest goes to the tenants of the highest priority first, in rounds: who
// asks for less than its part by weight gets what it asks for, and gives the others another round;
// who asks for more gets its part in whole units. What rounding leaves goes out a unit at a time,
// to whose part lost most by it, then to the older, then to the first given. Only then comes the
// next priority.
//
// What surprises: the result is what a tenant should have, not what it has. It takes nothing from
// anybody by itself.
//
// Units: any, the same for all amounts; `unit` is how many of them are one whole. Weights in any
// unit. Source: KAI-Scheduler, pkg/scheduler/plugins/proportion/resource_division. Other than
// there, rounding never gives a tenant more than it asks for. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace offcut::quota {

struct Claim {
  std::optional<std::int64_t> deserved = 0;  // nullopt: everything
  std::optional<std::int64_t> limit;         // nullopt: none
  std::int64_t request = 0;
  std::int64_t weight = 1;  // 0: nothing beyond what it deserves
  std::int64_t priority = 0;
  std::int64_t age_order = 0;  // lower is older
};

struct Division {
  std::vector<std::int64_t> shares;  // by claim
  std::int64_t remaining = 0;        // that nobody may have, or wants
};

// Requires: unit > 0; no amount and no weight is below 0, nor is a weight above 2^40 or a unit
// above 2^50.
Division Divide(std::int64_t total, std::int64_t unit, std::span<const Claim> claims);

}  // namespace offcut::quota
