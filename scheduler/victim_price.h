// What a set of victims costs. Pure.
//
// A set that has all of another and more costs more: nothing that is counted gets less by one that
// goes as well, and the number of pods gets more. What a part of a set costs is so a lower bound
// of what the set costs.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/disruption_budget.h"
#include "scheduler/node_victims.h"
#include "scheduler/victim_units.h"

namespace offcut::scheduler {

// Compared in this order; units are ordered by UID, so that their indices are.
struct VictimPrice {
  bool some_run_on = false;  // whoever leaves already costs nothing
  std::int64_t pdb_violations = 0;
  std::int32_t priority = std::numeric_limits<std::int32_t>::min();  // the highest
  std::int64_t within_guarantee = 0;                                 // units
  std::int64_t pods = 0;
  std::int64_t device_s = 0;
  std::int64_t devices = 0;
  Units units;  // ascending
  auto operator<=>(const VictimPrice&) const = default;
};

// Prices of sets on one node. Not synchronised.
class VictimPrices {
 public:
  // `lifted`: holders that go in any case. All arguments outlive the object.
  VictimPrices(NodeVictims& victims, std::span<const std::size_t> lifted);

  // Requires: ascending.
  VictimPrice Of(Units units) const;

 private:
  std::int64_t ViolationsOf(const Units& units) const;

  const NodeVictims& victims_;
  std::span<const std::size_t> lifted_;
  std::vector<bool> is_within_guarantee_;  // by unit
  std::optional<BudgetedPods> budgeted_;   // the node's holders; nullopt: there are no budgets
};

}  // namespace offcut::scheduler
