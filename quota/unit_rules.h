// Quotas in units of somebody's own: a rule turns a resource of a request into others, such as a
// MIG profile into GB of memory, or a GPU into credits. What no rule names stays as it is.
//
// A rule may replace its resource or leave it beside what it becomes, and may multiply by the
// count of another: "3,000 MiB on each of 2 GPUs". Kueue's configuration has such rules, and with
// Kueue beside us both must count alike.
//
// Units: factors in millionths. Results are rounded up, once for each rule.
// Source: Kueue's resource transformations, pkg/workload/resources.go.
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace offcut::quota {

using Quantities = std::map<std::string, std::int64_t, std::less<>>;

struct UnitRule {
  std::string input;
  std::map<std::string, std::int64_t> factors_micro;  // by what it becomes
  bool retain = false;                                // the input stays, too
  std::string multiply_by;  // a resource of the request; empty, or not in the request: 1
};

// Requires: no quantity and no factor is below 0, no input has two rules.
Quantities Convert(const Quantities& request, std::span<const UnitRule> rules);

}  // namespace offcut::quota
