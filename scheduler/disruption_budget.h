// Kubernetes' PodDisruptionBudgets, as far as preemption asks: how many pods of a set may be
// disrupted now, and whether victims are more than that. Preemption may violate a budget, and does
// so last. Pure; not synchronised.
#pragma once

#include <cstddef>
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

// Some pods, and the budgets that they count in: looked up once, asked about many sets of them.
class BudgetedPods {
 public:
  // `budgets`: ordered by namespace; outlive the object.
  explicit BudgetedPods(std::span<const DisruptionBudget> budgets) : budgets_(budgets) {}

  // Its index is the number of pods before it.
  void Add(const Pod& pod);

  // How many of those pods would be disrupted beyond a budget, were they evicted in that order. Of
  // more pods never less. Source: kube-scheduler, filterPodsWithPDBViolation.
  std::int64_t CountViolations(std::span<const std::size_t> pods) const;

 private:
  std::span<const DisruptionBudget> budgets_;
  std::vector<std::vector<std::size_t>> by_pod_;  // indices in allowed_
  std::vector<std::int64_t> allowed_;             // of the budgets that some pod counts in
  std::vector<std::size_t> used_;                 // the same, as indices in budgets_
};

}  // namespace offcut::scheduler
