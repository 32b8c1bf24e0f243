#include "scheduler/disruption_budget.h"

#include <algorithm>

namespace offcut::scheduler {
bool Selects(const DisruptionBudget& budget, const Pod& pod) {
  return !budget.selector.empty() && !pod.labels.empty() && budget.name_space == pod.name_space &&
         std::ranges::all_of(budget.selector, [&](const SelectorRequirement& requirement) {
           return Meets(requirement, pod.labels);
         });
}

void BudgetedPods::Add(const Pod& pod) {
  by_pod_.emplace_back();
  for (const DisruptionBudget& budget :
       std::ranges::equal_range(budgets_, pod.name_space, {}, &DisruptionBudget::name_space)) {
    const bool is_counted =
        std::ranges::find(budget.disrupted_pods, pod.name) != budget.disrupted_pods.end();
    if (is_counted || !Selects(budget, pod)) continue;
    const auto index = static_cast<std::size_t>(&budget - budgets_.data());
    const auto known = std::ranges::find(used_, index);
    by_pod_.back().push_back(static_cast<std::size_t>(known - used_.begin()));
    if (known != used_.end()) continue;
    used_.push_back(index);
    allowed_.push_back(budget.disruptions_allowed);
  }
}

std::int64_t BudgetedPods::CountViolations(std::span<const std::size_t> pods) const {
  if (allowed_.empty()) return 0;
  std::vector<std::int64_t> allowed = allowed_;
  std::int64_t violations = 0;
  for (const std::size_t pod : pods) {
    bool violates = false;
    for (const std::size_t i : by_pod_[pod]) violates = --allowed[i] < 0 || violates;
    violations += violates ? 1 : 0;
  }
  return violations;
}

}  // namespace offcut::scheduler
