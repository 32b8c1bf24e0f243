#include "scheduler/disruption_budget.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace offcut::scheduler {
namespace {

Pod PodWith(const std::string& name, Labels labels) {
  Pod pod;
  pod.name = name;
  pod.name_space = "ns";
  pod.labels = std::move(labels);
  return pod;
}

DisruptionBudget BudgetOf(std::vector<SelectorRequirement> selector, std::int64_t allowed) {
  return {.name_space = "ns",
          .name = "budget",
          .selector = std::move(selector),
          .disruptions_allowed = allowed,
          .disrupted_pods = {}};
}

TEST(DisruptionBudgetTest, SelectsByAllOfItsRequirements) {
  const Pod pod = PodWith("p", {{"app", "a"}, {"tier", "gpu"}});
  const auto selects = [&](std::vector<SelectorRequirement> selector) {
    return Selects(BudgetOf(std::move(selector), 0), pod);
  };
  EXPECT_TRUE(selects({{.key = "app", .values = {"a"}}}));
  EXPECT_TRUE(selects({{.key = "app", .values = {"b", "a"}}, {.key = "tier", .values = {"gpu"}}}));
  EXPECT_FALSE(selects({{.key = "app", .values = {"a"}}, {.key = "tier", .values = {"cpu"}}}));
  EXPECT_TRUE(selects({{.key = "app", .is = SelectorOperator::kNotIn, .values = {"b"}}}));
  EXPECT_TRUE(selects({{.key = "none", .is = SelectorOperator::kNotIn, .values = {"b"}}}));
  EXPECT_TRUE(selects({{.key = "tier", .is = SelectorOperator::kExists, .values = {}}}));
  EXPECT_FALSE(selects({{.key = "none", .is = SelectorOperator::kExists, .values = {}}}));
  EXPECT_FALSE(selects({{.key = "tier", .is = SelectorOperator::kDoesNotExist, .values = {}}}));
}

// As kube-scheduler has it, whatever policy/v1 says elsewhere of the empty selector.
TEST(DisruptionBudgetTest, AnEmptySelectorAndAPodWithoutLabelsHaveNothingInCommon) {
  EXPECT_FALSE(Selects(BudgetOf({}, 0), PodWith("p", {{"app", "a"}})));
  EXPECT_FALSE(Selects(BudgetOf({{.key = "app", .is = SelectorOperator::kDoesNotExist}}, 0),
                       PodWith("p", {})));
}

TEST(DisruptionBudgetTest, AnotherNamespacesPodsAreNotItsOwn) {
  DisruptionBudget budget = BudgetOf({{.key = "app", .values = {"a"}}}, 0);
  budget.name_space = "other";
  EXPECT_FALSE(Selects(budget, PodWith("p", {{"app", "a"}})));
}

// Of all of them, in that order.
std::int64_t CountViolations(const std::vector<DisruptionBudget>& budgets,
                             const std::vector<const Pod*>& pods) {
  BudgetedPods budgeted(budgets);
  std::vector<std::size_t> indices;
  for (const Pod* pod : pods) {
    indices.push_back(indices.size());
    budgeted.Add(*pod);
  }
  return budgeted.CountViolations(indices);
}

// One disruption is allowed: of three pods two are beyond it; of the one that is being evicted
// already the budget knows.
TEST(DisruptionBudgetTest, CountsPodsBeyondWhatIsAllowed) {
  std::vector<DisruptionBudget> budgets = {BudgetOf({{.key = "app", .values = {"a"}}}, 1)};
  const Pod a = PodWith("a", {{"app", "a"}});
  const Pod b = PodWith("b", {{"app", "a"}});
  const Pod c = PodWith("c", {{"app", "a"}});
  const Pod other = PodWith("other", {{"app", "z"}});
  const std::vector<const Pod*> pods = {&a, &other, &b, &c};
  EXPECT_EQ(CountViolations(budgets, pods), 2);
  budgets[0].disrupted_pods = {"b"};
  EXPECT_EQ(CountViolations(budgets, pods), 1);
  // A pod in two budgets that are used up is one violation.
  budgets.push_back(BudgetOf({{.key = "app", .values = {"a"}}}, 0));
  EXPECT_EQ(CountViolations(budgets, {&a}), 1);
}

}  // namespace
}  // namespace offcut::scheduler
