#include "api/node_rules_json.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "test/api/object_text.h"

namespace offcut::api {
namespace {

using scheduler::Labels;
using scheduler::NodeMarks;
using scheduler::NodeRules;
using scheduler::NodeTerm;
using scheduler::SelectorOperator;
using scheduler::SelectorRequirement;
using scheduler::TaintEffect;
using testing::JsonString;
using testing::NodeFromText;
using testing::PodFromText;
using testing::ReadJsonText;

std::string PodText(const std::string& spec) {
  return R"({"metadata": {"name": "p", "uid": "u"}, "spec": )" + spec + "}";
}

// A pod with one term of required affinity.
std::string TermText(const std::string& term) {
  return R"({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
          {"nodeSelectorTerms": [)" +
         term + "]}}}}";
}

std::string LabelText(const std::string& requirement) {
  return TermText(R"({"matchExpressions": [)" + requirement + "]}");
}

std::string FieldText(const std::string& requirement) {
  return TermText(R"({"matchFields": [)" + requirement + "]}");
}

std::string TolerationText(const std::string& toleration) {
  return R"({"tolerations": [)" + toleration + "]}";
}

NodeRules RulesOf(const std::string& spec) {
  const auto rules = ReadJsonText(PodText(spec), ParseNodeRules);
  EXPECT_TRUE(rules) << rules.error().message << "\n" << spec;
  return rules ? *rules : NodeRules{.is_unreadable = true};
}

// Empty: there is none.
std::string ErrorOf(const std::string& spec) {
  const auto rules = ReadJsonText(PodText(spec), ParseNodeRules);
  return rules ? "" : rules.error().message;
}

std::string NodeText(const std::string& labels, const std::string& taints,
                     const std::string& more = "") {
  return R"({"metadata": {"name": "n1", "labels": )" + labels + more + R"(}, "spec": {"taints": )" +
         taints + "}}";
}

std::string MarksError(const std::string& labels, const std::string& taints) {
  const auto marks = ReadJsonText(NodeText(labels, taints), ParseNodeMarks);
  return marks ? "" : marks.error().message;
}

TEST(NodeRulesJsonTest, ReadsThePodsSelectorByKey) {
  EXPECT_EQ(RulesOf(R"({"nodeSelector": {"zone": "z1", "gpu": "a10"}})").selector,
            (Labels{{"gpu", "a10"}, {"zone", "z1"}}));
}

TEST(NodeRulesJsonTest, OfEntriesOfOneKeyTheLastCounts) {
  EXPECT_EQ(RulesOf(R"({"nodeSelector": {"gpu": "a10", "gpu": "h100"}})").selector,
            (Labels{{"gpu", "h100"}}));
}

TEST(NodeRulesJsonTest, ReadsRequiredAffinityAlone) {
  const NodeRules rules = RulesOf(R"({"affinity": {"nodeAffinity": {
      "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": 7}],
      "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "example.com/gpu", "operator": "In", "values": ["a", ""]},
                              {"key": "b", "operator": "NotIn", "values": ["x"]},
                              {"key": "c", "operator": "Exists"},
                              {"key": "d", "operator": "DoesNotExist", "values": []},
                              {"key": "e", "operator": "Gt", "values": ["7"]}],
         "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
        {"matchExpressions": [{"key": "f", "operator": "Lt", "values": ["9"]}]}]}}}})");
  const std::vector<NodeTerm> expected = {
      {.labels = {{.key = "example.com/gpu", .is = SelectorOperator::kIn, .values = {"a", ""}},
                  {.key = "b", .is = SelectorOperator::kNotIn, .values = {"x"}},
                  {.key = "c", .is = SelectorOperator::kExists, .values = {}},
                  {.key = "d", .is = SelectorOperator::kDoesNotExist, .values = {}},
                  {.key = "e", .is = SelectorOperator::kGt, .values = {"7"}}},
       .fields = {{.key = "metadata.name", .is = SelectorOperator::kIn, .values = {"n1"}}}},
      {.labels = {{.key = "f", .is = SelectorOperator::kLt, .values = {"9"}}}, .fields = {}}};
  ASSERT_TRUE(rules.terms);
  EXPECT_EQ(*rules.terms, expected);
}

TEST(NodeRulesJsonTest, AffinityWithoutTermsIsNotNoAffinity) {
  EXPECT_FALSE(RulesOf("{}").terms);
  EXPECT_FALSE(RulesOf(R"({"affinity": null, "nodeSelector": null, "tolerations": null})").terms);
  EXPECT_FALSE(RulesOf(R"({"affinity": {"nodeAffinity": {}}})").terms);
  const NodeRules rules = RulesOf(TermText(""));
  ASSERT_TRUE(rules.terms);
  EXPECT_TRUE(rules.terms->empty());
  EXPECT_FALSE(scheduler::Admits("n1", {}, rules));
}

TEST(NodeRulesJsonTest, KeepsEmptyTermsWhichMatchNothing) {
  const NodeRules rules = RulesOf(TermText("{}, null"));
  ASSERT_TRUE(rules.terms);
  EXPECT_EQ(*rules.terms, std::vector<NodeTerm>(2));
  EXPECT_FALSE(scheduler::Admits("n1", {}, rules));
}

TEST(NodeRulesJsonTest, RefusesRequirementsThatKubernetesDoes) {
  for (const char* requirement : {
           R"({"key": "k", "operator": "in", "values": ["a"]})",
           R"({"key": "k", "operator": "Near", "values": ["a"]})",
           R"({"key": "k", "values": ["a"]})",
           R"({"key": "k", "operator": "In"})",
           R"({"key": "k", "operator": "In", "values": []})",
           R"({"key": "k", "operator": "NotIn"})",
           R"({"key": "k", "operator": "Exists", "values": ["a"]})",
           R"({"key": "k", "operator": "DoesNotExist", "values": ["a"]})",
           R"({"key": "k", "operator": "Gt", "values": ["1", "2"]})",
           R"({"key": "k", "operator": "Gt", "values": ["many"]})",
           R"({"key": "k", "operator": "Lt", "values": ["-1"]})",  // '-' begins no label's value
           R"({"key": "", "operator": "Exists"})",
           R"({"operator": "Exists"})",
           R"({"key": "a b", "operator": "DoesNotExist"})",
           R"({"key": "/k", "operator": "DoesNotExist"})",
           R"({"key": "a..b/k", "operator": "DoesNotExist"})",
           R"({"key": "Domain/k", "operator": "DoesNotExist"})",
           R"({"key": "k", "operator": "NotIn", "values": ["not a value"]})",
           R"({"key": "k", "operator": "NotIn", "values": [7]})",
           R"({"key": "k", "operator": "NotIn", "values": "a"})",
           R"({"key": 7, "operator": "DoesNotExist"})",
           "7",
       }) {
    EXPECT_NE(ErrorOf(LabelText(requirement)), "") << requirement;
  }
}

TEST(NodeRulesJsonTest, RefusesFieldsThatKubernetesDoes) {
  EXPECT_EQ(ErrorOf(FieldText(R"({"key": "metadata.name", "operator": "NotIn", "values": ["n"]})")),
            "");
  for (const char* requirement : {
           R"({"key": "metadata.uid", "operator": "In", "values": ["n"]})",
           R"({"key": "metadata.name", "operator": "In", "values": ["n", "m"]})",
           R"({"key": "metadata.name", "operator": "In", "values": []})",
           R"({"key": "metadata.name", "operator": "Exists"})",
           R"({"key": "metadata.name", "operator": "Gt", "values": ["1"]})",
       }) {
    EXPECT_NE(ErrorOf(FieldText(requirement)), "") << requirement;
  }
}

TEST(NodeRulesJsonTest, ErrorsNameTheMember) {
  EXPECT_EQ(ErrorOf(LabelText(R"({"key": "k", "operator": "Near"})")),
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            "nodeSelectorTerms[0].matchExpressions[0].operator: is not a word of this version");
}

TEST(NodeRulesJsonTest, ReadsTolerationsAndLeavesTheirSeconds) {
  const NodeRules rules = RulesOf(R"({"tolerations": [
      {"key": "gpu", "value": "a10"},
      {"key": "gpu", "operator": "Equal", "effect": "NoSchedule"},
      {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
      {"operator": "Exists", "effect": ""}]})");
  const std::vector<scheduler::Toleration> expected = {
      {.key = "gpu", .exists = false, .value = "a10", .effect = {}},
      {.key = "gpu", .exists = false, .value = "", .effect = TaintEffect::kNoSchedule},
      {.key = "gpu", .exists = true, .value = "", .effect = TaintEffect::kNoExecute},
      {.key = "", .exists = true, .value = "", .effect = {}}};
  EXPECT_EQ(rules.tolerations, expected);
}

TEST(NodeRulesJsonTest, TolerationsByOrderTolerateNothing) {
  EXPECT_TRUE(RulesOf(TolerationText(R"({"key": "k", "operator": "Gt", "value": "1"},
                                        {"key": "k", "operator": "Lt", "value": "1"})"))
                  .tolerations.empty());
}

TEST(NodeRulesJsonTest, RefusesTolerationsThatKubernetesDoes) {
  for (const char* toleration : {
           R"({"key": "k", "operator": "Exists", "value": "v"})",
           R"({"key": "k", "operator": "exists"})",
           R"({"key": "", "operator": "Equal", "value": "v"})",
           R"({"value": "v"})",
           R"({"key": "k", "effect": "Sometimes"})",
           R"({"key": 7, "operator": "Exists"})",
           "[]",
       }) {
    EXPECT_NE(ErrorOf(TolerationText(toleration)), "") << toleration;
  }
}

// 4095 values, their requirement and their term: one entry too many. Without one value they fit.
TEST(NodeRulesJsonTest, CountsTermsKeysAndValuesOfAPodTogether) {
  const auto with_values = [](std::size_t count) {
    std::string values = R"("v")";
    for (std::size_t i = 1; i < count; ++i) values += R"(,"v")";
    return LabelText(R"({"key": "k", "operator": "In", "values": [)" + values + "]}");
  };
  EXPECT_EQ(ErrorOf(with_values(kNodeRulesMax - 2)), "");
  EXPECT_NE(ErrorOf(with_values(kNodeRulesMax - 1)), "");
}

TEST(NodeRulesJsonTest, RefusesWhatIsTooLongForALabel) {
  const auto error_of = [](std::size_t key_bytes, std::size_t value_bytes) {
    return ErrorOf(R"({"nodeSelector": {)" + JsonString(std::string(key_bytes, 'k')) + ": " +
                   JsonString(std::string(value_bytes, 'v')) + "}}");
  };
  EXPECT_EQ(error_of(317, 63), "");
  EXPECT_NE(error_of(318, 63), "");
  EXPECT_NE(error_of(317, 64), "");
}

TEST(NodeRulesJsonTest, APodWhoseRulesCannotBeReadIsAPodAllTheSame) {
  const auto parsed = PodFromText(PodText(R"({"nodeSelector": {"gpu": 7}})"));
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->pod.node_rules.is_unreadable);
  EXPECT_FALSE(parsed->pod.is_unreadable);
  EXPECT_EQ(parsed->warnings,
            (std::vector<std::string>{"pod default/p: nothing is reclaimed for it: "
                                      "spec.nodeSelector.gpu: must be a string"}));
  EXPECT_FALSE(scheduler::Admits("n1", {}, parsed->pod.node_rules));
}

TEST(NodeRulesJsonTest, APodOnANodeHasNoRules) {
  const auto waiting = PodFromText(PodText(R"({"nodeSelector": {"gpu": "a10"}})"));
  const auto placed = PodFromText(PodText(R"({"nodeName": "n1", "nodeSelector": {"gpu": "a10"}})"));
  ASSERT_TRUE(waiting && placed);
  EXPECT_EQ(waiting->pod.node_rules.selector, (Labels{{"gpu", "a10"}}));
  EXPECT_EQ(placed->pod.node_rules, NodeRules{});
}

TEST(NodeRulesJsonTest, ReadsANodesLabelsByKeyAndItsTaints) {
  const auto parsed =
      NodeFromText(NodeText(R"({"zone": "z1", "gpu": ""})",
                            R"([{"key": "gpu", "value": "a10", "effect": "NoSchedule"},
          {"key": "soft", "effect": "PreferNoSchedule"},
          {"key": "down", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}])"));
  ASSERT_TRUE(parsed);
  const NodeMarks expected = {
      .labels = {{"gpu", ""}, {"zone", "z1"}},
      .taints = {{.key = "gpu", .value = "a10", .effect = TaintEffect::kNoSchedule},
                 {.key = "soft", .value = "", .effect = TaintEffect::kPreferNoSchedule},
                 {.key = "down", .value = "", .effect = TaintEffect::kNoExecute}}};
  EXPECT_EQ(*parsed->inventory.marks, expected);
}

// What the kubelet writes of itself, and in which order labels come, is no change of the node.
TEST(NodeRulesJsonTest, AHeartbeatLeavesTheInventoryAsItWas) {
  const auto at = [](const std::string& time, const std::string& labels) {
    return NodeFromText(
        R"({"metadata": {"name": "n1", "resourceVersion": ")" + time + R"(", "labels": )" + labels +
        R"(, "annotations": {"hearts": ")" + time +
        R"("}}, "spec": {"taints": [{"key": "k", "effect": "NoExecute", "timeAdded": ")" + time +
        R"("}]}, "status": {"conditions": [{"type": "Ready", "lastHeartbeatTime": ")" + time +
        R"("}], "images": [{"names": [")" + time + R"("]}]}})");
  };
  const auto before = at("2026-01-01T00:00:00Z", R"({"a": "1", "b": "2"})");
  const auto after = at("2026-01-01T00:05:00Z", R"({"b": "2", "a": "1"})");
  const auto changed = at("2026-01-01T00:05:00Z", R"({"b": "2", "a": "3"})");
  ASSERT_TRUE(before && after && changed);
  EXPECT_EQ(before->inventory, after->inventory);
  EXPECT_NE(before->inventory, changed->inventory);
}

TEST(NodeRulesJsonTest, RefusesMarksThatKubernetesDoes) {
  EXPECT_EQ(MarksError("null", "null"), "");
  EXPECT_NE(MarksError(R"({"a": 7})", "[]"), "");
  EXPECT_NE(MarksError("[]", "[]"), "");
  EXPECT_NE(MarksError("{}", R"([{"key": "k"}])"), "");
  EXPECT_NE(MarksError("{}", R"([{"key": "k", "effect": "Sometimes"}])"), "");
  EXPECT_NE(MarksError("{}", R"([{"effect": "NoSchedule"}])"), "");
  EXPECT_NE(MarksError("{}", R"([{"key": 7, "effect": "NoSchedule"}])"), "");
}

TEST(NodeRulesJsonTest, RefusesMoreLabelsThanTheLimit) {
  const auto error_of = [](std::size_t count) {
    std::string labels;
    for (std::size_t i = 0; i < count; ++i) {
      labels += (i == 0 ? "" : ",") + JsonString("k" + std::to_string(i)) + R"(:"")";
    }
    return MarksError("{" + labels + "}", "[]");
  };
  EXPECT_EQ(error_of(kNodeLabelsMax), "");
  EXPECT_NE(error_of(kNodeLabelsMax + 1), "");
}

TEST(NodeRulesJsonTest, ANodeWhoseMarksCannotBeReadIsANodeAllTheSame) {
  const auto parsed = NodeFromText(
      NodeText("{}", R"([{"key": "k", "effect": "Sometimes"}, {"effect": "PreferNoSchedule"}])"));
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->inventory.marks->is_unreadable);
  EXPECT_TRUE(parsed->inventory.prefers_no_schedule);
  EXPECT_EQ(parsed->warnings,
            (std::vector<std::string>{"node n1: nothing is reclaimed on it: "
                                      "spec.taints[0].effect: is not a word of this version"}));
  EXPECT_FALSE(scheduler::Admits("n1", *parsed->inventory.marks, {}));
}

TEST(NodeRulesJsonTest, WritesTaintsAsKubectlDoes) {
  EXPECT_EQ(TaintText({.key = "gpu", .value = "a10", .effect = TaintEffect::kNoSchedule}),
            "gpu=a10:NoSchedule");
  EXPECT_EQ(TaintText({.key = "gpu", .value = "", .effect = TaintEffect::kNoExecute}),
            "gpu:NoExecute");
}

}  // namespace
}  // namespace offcut::api
