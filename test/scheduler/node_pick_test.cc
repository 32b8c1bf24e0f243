// Which node kube-scheduler would evict pods of. Each rule decides where all before it are equal,
// against all that come after it.
#include "scheduler/node_pick.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace offcut::scheduler {
namespace {

struct NodeText {
  std::string_view name;
  std::int64_t pdb_violations = 0;
  std::vector<VictimFact> victims;
};

// The name of the one picked, whichever is asked about first.
std::string_view Pick(std::vector<NodeText> nodes) {
  std::optional<std::string_view> first;
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<NodeVictims> facts;
    facts.reserve(nodes.size());
    for (const NodeText& node : nodes) {
      facts.push_back({node.name, node.pdb_violations, node.victims});
    }
    const auto picked = PickNode(facts);
    if (!picked) return "";
    const std::string_view name = facts[*picked].node;
    EXPECT_EQ(first.value_or(name), name) << "the order of the nodes decides";
    first = name;
    std::ranges::reverse(nodes);
  }
  return *first;
}

TEST(NodePickTest, OfNoNodesNoneIsPicked) { EXPECT_EQ(PickNode({}), std::nullopt); }

// a: one victim of priority 0, and one violation. b: two of priority 900, and none.
TEST(NodePickTest, FewestBudgetsAreViolated) {
  EXPECT_EQ(Pick({{"a", 1, {{0, 9}}}, {"b", 0, {{900, 0}, {900, 0}}}}), "b");
}

// a: 100. b: 99 + 99 + 99.
TEST(NodePickTest, ThenTheHighestVictimHasTheLowestPriority) {
  EXPECT_EQ(Pick({{"a", 0, {{100, 9}}}, {"b", 0, {{99, 0}, {99, 0}, {99, 0}}}}), "b");
}

// a: 10 + 5. b: 1 + 10, whichever comes first.
TEST(NodePickTest, ThenTheSumOfPrioritiesIsTheLowest) {
  EXPECT_EQ(Pick({{"a", 0, {{10, 9}, {5, 9}}}, {"b", 0, {{1, 0}, {10, 0}}}}), "b");
}

// Without the shift -5 + -5 were less than -5. a: 2 x (2^31 - 5), b: 2^31 - 5.
TEST(NodePickTest, TwoVictimsBelowZeroAreNoLessThanOne) {
  EXPECT_EQ(Pick({{"a", 0, {{-5, 9}, {-5, 9}}}, {"b", 0, {{-5, 0}}}}), "b");
}

// Priorities of -2^31 add nothing to the sum: 0 and 0.
TEST(NodePickTest, ThenTheFewestGo) {
  constexpr std::int32_t lowest = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(Pick({{"a", 0, {{lowest, 9}, {lowest, 9}}}, {"b", 0, {{lowest, 0}}}}), "b");
  EXPECT_EQ(Pick({{"a", 0, {{lowest, 9}}}, {"b", 0, {}}}), "b");
}

// Of the victims of priority 10: a's started at 100 and 500, b's at 300 and 400. The first of each
// counts; that a's of priority 2 started at 900 does not.
TEST(NodePickTest, ThenWhoHasRunLongestOfTheHighestStartedLast) {
  EXPECT_EQ(
      Pick({{"a", 0, {{2, 900}, {10, 500}, {10, 100}}}, {"b", 0, {{10, 300}, {2, 50}, {10, 400}}}}),
      "b");
}

TEST(NodePickTest, OfEqualsTheLowestNameIsPicked) {
  EXPECT_EQ(Pick({{"b", 0, {{10, 100}}}, {"a", 0, {{10, 100}}}}), "a");
}

// The extremes of what fits in the numbers: 1000 x (2^31 - 1 + 2^31) stays within the sum.
TEST(NodePickTest, TheHighestPrioritiesDoNotOverflow) {
  constexpr std::int32_t highest = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t first = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(Pick({{"a", 0, std::vector<VictimFact>(1'000, {highest, first})},
                  {"b", 0, std::vector<VictimFact>(999, {highest, first})}}),
            "b");
}

}  // namespace
}  // namespace offcut::scheduler
