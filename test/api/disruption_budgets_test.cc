#include "api/disruption_budgets.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace offcut::api {
namespace {

using nlohmann::json;
using scheduler::SelectorOperator;

TEST(DisruptionBudgetsTest, ReadsSelectorAndStatus) {
  const auto budget = ParseDisruptionBudget(json::parse(R"({
    "metadata": {"namespace": "ns", "name": "b"},
    "spec": {"minAvailable": 1, "selector": {
      "matchLabels": {"app": "a"},
      "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["x", "y"]},
                           {"key": "gpu", "operator": "Exists"}]}},
    "status": {"disruptionsAllowed": 2, "disruptedPods": {"p": "2026-01-01T00:00:00Z"}}})"));
  ASSERT_TRUE(budget);
  const scheduler::DisruptionBudget expected{
      .name_space = "ns",
      .name = "b",
      .selector = {{.key = "app", .values = {"a"}},
                   {.key = "tier", .is = SelectorOperator::kNotIn, .values = {"x", "y"}},
                   {.key = "gpu", .is = SelectorOperator::kExists, .values = {}}},
      .disruptions_allowed = 2,
      .disrupted_pods = {"p"}};
  EXPECT_EQ(*budget, expected);
}

// The disruption controller has not looked at it yet.
TEST(DisruptionBudgetsTest, WithoutAStatusNoDisruptionIsAllowed) {
  const auto budget = ParseDisruptionBudget(
      json::parse(R"({"metadata": {"namespace": "ns", "name": "b"}, "spec": {}})"));
  ASSERT_TRUE(budget);
  EXPECT_EQ(budget->disruptions_allowed, 0);
  EXPECT_TRUE(budget->selector.empty());
}

TEST(DisruptionBudgetsTest, PassesOverWhatCannotBeRead) {
  for (
      const char* text :
      {"[]", "7", R"({"metadata": {"namespace": "ns"}})",
       R"({"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"app": 7}}}})",
       R"({"metadata": {"name": "b"}, "spec": {"selector": {"matchExpressions": [{"key": "k"}]}}})",
       R"({"metadata": {"name": "b"}, "spec": {"selector": {"matchExpressions": [7]}}})",
       R"({"metadata": {"name": "b"}, "spec": {"selector": {"matchExpressions": [
           {"key": "k", "operator": "Gt", "values": ["7"]}]}}})",
       R"({"metadata": {"name": "b"}, "spec": {"selector": {"matchExpressions": [
           {"key": "k", "operator": "In", "values": []}]}}})",
       R"({"metadata": {"name": "b"}, "spec": {"selector": {"matchExpressions": [
           {"key": "k", "operator": "Exists", "values": ["v"]}]}}})"}) {
    EXPECT_FALSE(ParseDisruptionBudget(json::parse(text))) << text;
  }
}

}  // namespace
}  // namespace offcut::api
