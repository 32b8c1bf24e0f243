#include "scheduler/disruption_budget.h"

#include <algorithm>

namespace offcut::scheduler {
bool Selects(const DisruptionBudget& budget, const Pod& pod) {
  return !budget.selector.empty() && !pod.labels.empty() && budget.name_space == pod.name_space &&
         std::ranges::all_of(budget.selector, [&](const SelectorRequirement& requirement) {
           return Meets(requirement, pod.labels);
         });
}

std::int64_t CountViolations(std::span<const DisruptionBudget> budgets,
                             std::span<const Pod* const> pods) {
  std::vector<std::int64_t> allowed;
  allowed.reserve(budgets.size());
  for (const DisruptionBudget& budget : budgets) allowed.push_back(budget.disruptions_allowed);
  std::int64_t violations = 0;
  for (const Pod* pod : pods) {
    bool violates = false;
    for (std::size_t i = 0; i < budgets.size(); ++i) {
      const DisruptionBudget& budget = budgets[i];
      const bool is_counted =
          std::ranges::find(budget.disrupted_pods, pod->name) != budget.disrupted_pods.end();
      if (is_counted || !Selects(budget, *pod)) continue;
      violates = --allowed[i] < 0 || violates;
    }
    violations += violates ? 1 : 0;
  }
  return violations;
}

}  // namespace offcut::scheduler
