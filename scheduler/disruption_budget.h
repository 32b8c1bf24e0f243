// Kubernetes' PodDisruptionBudgets, as far as preemption asks: how many pods of a set may be
// disrupted now, and whether victims are more than that. Preemption may violate a budget, and does
// so last. Pure; not synchronised.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/label_selector.h"
#include "scheduler/pod.h"

namespace offcut::scheduler {

struct DisruptionBudget {
  std::string name_space;
  std::string name;
  std::vector<SelectorRequirement> selector;  // all of them; empty: it selects no pod
  std::int64_t disruptions_allowed = 0;
  // Names of pods that are counted already: they are being evicted.
  std::vector<std::string> disrupted_pods;
  bool operator==(const DisruptionBudget&) const = default;
};

// Whether the pod counts in the budget. One without labels counts in none.
bool Selects(const DisruptionBudget& budget, const Pod& pod);

// How many of the pods would be disrupted beyond a budget, were they evicted in that order.
// Source: kube-scheduler, filterPodsWithPDBViolation.
std::int64_t CountViolations(std::span<const DisruptionBudget> budgets,
                             std::span<const Pod* const> pods);

}  // namespace offcut::scheduler
