#include "scheduler/node_match.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace offcut::scheduler {
namespace {

using enum SelectorOperator;
using enum TaintEffect;

SelectorRequirement In(std::string key, std::vector<std::string> values) {
  return {.key = std::move(key), .is = kIn, .values = std::move(values)};
}

SelectorRequirement NameIs(SelectorOperator is, std::string name) {
  return {.key = std::string(kNodeNameField), .is = is, .values = {std::move(name)}};
}

NodeTerm TermOf(std::vector<SelectorRequirement> labels,
                std::vector<SelectorRequirement> fields = {}) {
  return {.labels = std::move(labels), .fields = std::move(fields)};
}

NodeRules RulesOf(std::vector<NodeTerm> terms) {
  NodeRules rules;
  rules.terms = std::move(terms);
  return rules;
}

// Node n1: an A10 in zone z1, without taints.
const NodeMarks kA10 = {.labels = {{"gpu", "a10"}, {"zone", "z1"}}, .taints = {}};

bool A10Admits(const NodeRules& rules) { return Admits("n1", kA10, rules); }

TEST(NodeMatchTest, APodThatSaysNothingMayStandOnANodeThatSaysNothing) {
  EXPECT_TRUE(Admits("n1", {}, {}));
  EXPECT_TRUE(A10Admits({}));
}

TEST(NodeMatchTest, AllOfTheNodeSelectorsLabelsMustBeThere) {
  const auto admits = [](Labels selector) {
    NodeRules rules;
    rules.selector = std::move(selector);
    return A10Admits(rules);
  };
  EXPECT_TRUE(admits({{"gpu", "a10"}, {"zone", "z1"}}));
  EXPECT_FALSE(admits({{"gpu", "a10"}, {"zone", "z2"}}));
  EXPECT_FALSE(admits({{"gpu", "a10"}, {"rack", ""}}));
}

TEST(NodeMatchTest, OneTermSufficesAndNeedsAllOfItsRequirements) {
  EXPECT_TRUE(A10Admits(RulesOf({TermOf({In("gpu", {"h100"})}), TermOf({In("gpu", {"a10"})})})));
  EXPECT_TRUE(A10Admits(RulesOf({TermOf({In("gpu", {"a10"}), In("zone", {"z1"})})})));
  EXPECT_FALSE(A10Admits(RulesOf({TermOf({In("gpu", {"a10"}), In("zone", {"z2"})})})));
}

TEST(NodeMatchTest, AnEmptyTermMatchesNoNodeAndLeavesTheOthers) {
  EXPECT_FALSE(A10Admits(RulesOf({TermOf({})})));
  EXPECT_TRUE(A10Admits(RulesOf({TermOf({}), TermOf({In("gpu", {"a10"})})})));
}

TEST(NodeMatchTest, AffinityWithoutTermsMatchesNoNode) { EXPECT_FALSE(A10Admits(RulesOf({}))); }

TEST(NodeMatchTest, SelectorAndAffinityMustBothChooseTheNode) {
  NodeRules rules = RulesOf({TermOf({In("gpu", {"a10"})})});
  rules.selector = {{"zone", "z1"}};
  EXPECT_TRUE(A10Admits(rules));
  rules.selector = {{"zone", "z2"}};
  EXPECT_FALSE(A10Admits(rules));
}

TEST(NodeMatchTest, FieldsAreTheNodesNameAndNoLabel) {
  EXPECT_TRUE(A10Admits(RulesOf({TermOf({}, {NameIs(kIn, "n1")})})));
  EXPECT_FALSE(A10Admits(RulesOf({TermOf({}, {NameIs(kIn, "n2")})})));
  EXPECT_FALSE(A10Admits(RulesOf({TermOf({}, {NameIs(kNotIn, "n1")})})));
  EXPECT_TRUE(A10Admits(RulesOf({TermOf({}, {NameIs(kNotIn, "n2")})})));
  EXPECT_FALSE(A10Admits(RulesOf({TermOf({NameIs(kIn, "n1")})})));
}

TEST(NodeMatchTest, ATermNeedsItsFieldsAndItsLabels) {
  EXPECT_TRUE(A10Admits(RulesOf({TermOf({In("gpu", {"a10"})}, {NameIs(kIn, "n1")})})));
  EXPECT_FALSE(A10Admits(RulesOf({TermOf({In("gpu", {"h100"})}, {NameIs(kIn, "n1")})})));
  EXPECT_FALSE(A10Admits(RulesOf({TermOf({In("gpu", {"a10"})}, {NameIs(kIn, "n2")})})));
}

bool Tolerated(std::vector<Taint> taints, std::vector<Toleration> tolerations) {
  NodeRules rules;
  rules.tolerations = std::move(tolerations);
  return Admits("n1", {.labels = {}, .taints = std::move(taints)}, rules);
}

const Taint kGpuTaint = {.key = "gpu", .value = "a10", .effect = kNoSchedule};

Toleration Equal(std::string key, std::string value) {
  return {.key = std::move(key), .exists = false, .value = std::move(value), .effect = {}};
}

Toleration Exists(std::string key, std::optional<TaintEffect> effect = {}) {
  return {.key = std::move(key), .exists = true, .value = {}, .effect = effect};
}

TEST(NodeMatchTest, NoScheduleAndNoExecuteKeepPodsAwayAndPreferNoScheduleDoesNot) {
  EXPECT_FALSE(Tolerated({{.key = "k", .value = "", .effect = kNoSchedule}}, {}));
  EXPECT_FALSE(Tolerated({{.key = "k", .value = "", .effect = kNoExecute}}, {}));
  EXPECT_TRUE(Tolerated({{.key = "k", .value = "", .effect = kPreferNoSchedule}}, {}));
}

TEST(NodeMatchTest, EqualToleratesTheSameKeyAndValue) {
  EXPECT_TRUE(Tolerated({kGpuTaint}, {Equal("gpu", "a10")}));
  EXPECT_FALSE(Tolerated({kGpuTaint}, {Equal("gpu", "h100")}));
  EXPECT_FALSE(Tolerated({kGpuTaint}, {Equal("gpu", "")}));
  EXPECT_FALSE(Tolerated({kGpuTaint}, {Equal("cpu", "a10")}));
}

TEST(NodeMatchTest, ExistsToleratesEveryValueOfTheKey) {
  EXPECT_TRUE(Tolerated({kGpuTaint}, {Exists("gpu")}));
  EXPECT_FALSE(Tolerated({kGpuTaint}, {Exists("cpu")}));
}

TEST(NodeMatchTest, ExistsWithoutAKeyToleratesEveryTaint) {
  EXPECT_TRUE(
      Tolerated({kGpuTaint, {.key = "k", .value = "", .effect = kNoExecute}}, {Exists("")}));
  EXPECT_FALSE(Tolerated({kGpuTaint}, {Equal("", "a10")}));
}

TEST(NodeMatchTest, AnEffectNarrowsATolerationToItself) {
  EXPECT_TRUE(Tolerated({kGpuTaint}, {Exists("gpu", kNoSchedule)}));
  EXPECT_FALSE(Tolerated({kGpuTaint}, {Exists("gpu", kNoExecute)}));
  EXPECT_FALSE(Tolerated({kGpuTaint}, {Exists("", kNoExecute)}));
}

TEST(NodeMatchTest, EachTaintNeedsATolerationOfItsOwn) {
  const std::vector<Taint> two = {kGpuTaint, {.key = "gpu", .value = "a10", .effect = kNoExecute}};
  EXPECT_FALSE(Tolerated(two, {Exists("gpu", kNoSchedule)}));
  EXPECT_TRUE(Tolerated(two, {Exists("gpu", kNoSchedule), Equal("gpu", "a10")}));
}

TEST(NodeMatchTest, NamesTheFirstTaintThatIsNotTolerated) {
  const NodeMarks marks = {.labels = {},
                           .taints = {{.key = "soft", .value = "", .effect = kPreferNoSchedule},
                                      kGpuTaint,
                                      {.key = "disk", .value = "", .effect = kNoExecute}}};
  NodeRules rules;
  ASSERT_NE(FindUntolerated(marks, rules), nullptr);
  EXPECT_EQ(*FindUntolerated(marks, rules), kGpuTaint);
  rules.tolerations = {Exists("gpu")};
  ASSERT_NE(FindUntolerated(marks, rules), nullptr);
  EXPECT_EQ(FindUntolerated(marks, rules)->key, "disk");
  rules.tolerations = {Exists("")};
  EXPECT_EQ(FindUntolerated(marks, rules), nullptr);
}

TEST(NodeMatchTest, WhatCannotBeReadAdmitsNobody) {
  EXPECT_FALSE(A10Admits({.selector = {}, .terms = {}, .tolerations = {}, .is_unreadable = true}));
  EXPECT_FALSE(Admits("n1", {.labels = {}, .taints = {}, .is_unreadable = true}, {}));
}

// The same a second time, as kube-scheduler's own text puts it: by cases, on maps, saying no.
using Map = std::map<std::string, std::string>;

bool PlainlyMeets(const SelectorRequirement& requirement, const Map& labels) {
  const bool has = labels.contains(requirement.key);
  if (requirement.is == kExists) return has;
  if (requirement.is == kDoesNotExist) return !has;
  if (requirement.is == kNotIn && !has) return true;
  if (!has) return false;
  const std::string& label = labels.at(requirement.key);
  if (requirement.is == kIn || requirement.is == kNotIn) {
    int equal_count = 0;
    for (const std::string& value : requirement.values) equal_count += value == label ? 1 : 0;
    return requirement.is == kIn ? equal_count > 0 : equal_count == 0;
  }
  if (label.empty() || label.find_first_not_of("0123456789") != std::string::npos) return false;
  const long long difference = std::atoll(label.c_str()) - std::stoll(requirement.values.front());
  return requirement.is == kGt ? difference > 0 : difference < 0;
}

bool PlainlyTolerates(const Toleration& toleration, const Taint& taint) {
  if (toleration.effect.has_value() && toleration.effect.value() != taint.effect) return false;
  if (toleration.exists) return toleration.key.empty() || toleration.key == taint.key;
  return !toleration.key.empty() && toleration.key == taint.key && toleration.value == taint.value;
}

bool PlainlyAdmits(const std::string& name, const NodeMarks& marks, const NodeRules& rules) {
  const Map labels(marks.labels.begin(), marks.labels.end());
  for (const auto& [key, value] : rules.selector) {
    if (!labels.contains(key) || labels.at(key) != value) return false;
  }
  bool has_matching_term = !rules.terms.has_value();
  for (const NodeTerm& term : rules.terms.value_or(std::vector<NodeTerm>{})) {
    bool matches = term.labels.size() + term.fields.size() > 0;
    for (const auto& each : term.labels) matches = matches && PlainlyMeets(each, labels);
    for (const auto& each : term.fields) {
      matches = matches && (each.is == kIn) == (each.values.front() == name);
    }
    if (matches) has_matching_term = true;
  }
  if (!has_matching_term) return false;
  for (const Taint& taint : marks.taints) {
    bool is_tolerated = taint.effect == kPreferNoSchedule;
    for (const Toleration& each : rules.tolerations) {
      if (PlainlyTolerates(each, taint)) is_tolerated = true;
    }
    if (!is_tolerated) return false;
  }
  return true;
}

// Few keys and values, so that rules and marks meet often.
class RandomMatch {
 public:
  explicit RandomMatch(std::uint64_t seed) : random_(seed) {}

  NodeMarks Marks() {
    NodeMarks marks;
    for (const char* key : {"a", "b", "c"}) {
      if (Upto(3) > 0) marks.labels.emplace_back(key, Value());
    }
    for (int i = Upto(2); i > 0; --i) {
      marks.taints.push_back({.key = Key(), .value = Value(), .effect = Effect()});
    }
    return marks;
  }

  NodeRules Rules() {
    NodeRules rules;
    if (Upto(3) == 0) rules.selector = {{Key(), Value()}};
    if (Upto(2) > 0) {
      rules.terms.emplace();
      for (int i = Upto(3); i > 0; --i) rules.terms->push_back(Term());
    }
    for (int i = Upto(3); i > 0; --i) {
      Toleration toleration{.key = Upto(4) == 0 ? "" : Key(), .exists = Upto(1) == 0};
      if (!toleration.exists) toleration.value = Value();
      if (Upto(2) == 0) toleration.effect = Effect();
      rules.tolerations.push_back(toleration);
    }
    return rules;
  }

 private:
  int Upto(int max) { return static_cast<int>(random_() % (static_cast<unsigned>(max) + 1)); }
  std::string Key() { return std::string(1, static_cast<char>('a' + Upto(3))); }
  std::string Value() { return std::vector<std::string>{"", "x", "2", "10"}[Index(3)]; }
  std::size_t Index(int max) { return static_cast<std::size_t>(Upto(max)); }
  TaintEffect Effect() { return std::vector{kNoSchedule, kPreferNoSchedule, kNoExecute}[Index(2)]; }

  SelectorRequirement Requirement() {
    SelectorRequirement requirement{.key = Key(), .is = static_cast<SelectorOperator>(Upto(5))};
    if (requirement.is == kGt || requirement.is == kLt) {
      requirement.values = {std::to_string(Upto(11))};
    } else if (requirement.is == kIn || requirement.is == kNotIn) {
      for (int i = Upto(1); i >= 0; --i) requirement.values.push_back(Value());
    }
    return requirement;
  }

  NodeTerm Term() {
    NodeTerm term;
    for (int i = Upto(2); i > 0; --i) term.labels.push_back(Requirement());
    if (Upto(3) == 0)
      term.fields = {NameIs(Upto(1) == 0 ? kIn : kNotIn, Upto(1) == 0 ? "n1" : "n2")};
    return term;
  }

  std::mt19937_64 random_;
};

TEST(NodeMatchPropertyTest, DecidesAsAPlainSecondFormulation) {
  const char* text = std::getenv("OFFCUT_MATCH_SEED");
  const std::uint64_t seed = text != nullptr ? std::stoull(text) : std::random_device{}();
  int admitted_count = 0;
  constexpr int case_count = 2000;
  for (int i = 0; i < case_count; ++i) {
    SCOPED_TRACE("OFFCUT_MATCH_SEED=" + std::to_string(seed) + ", case " + std::to_string(i));
    RandomMatch random(seed + static_cast<std::uint64_t>(i));
    const NodeMarks marks = random.Marks();
    const NodeRules rules = random.Rules();
    ASSERT_EQ(Admits("n1", marks, rules), PlainlyAdmits("n1", marks, rules));
    admitted_count += Admits("n1", marks, rules) ? 1 : 0;
  }
  // Both answers came up often, or the cases are too easy.
  EXPECT_GT(admitted_count, case_count / 20);
  EXPECT_LT(admitted_count, case_count - case_count / 20);
}

}  // namespace
}  // namespace offcut::scheduler
