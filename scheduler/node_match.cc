#include "scheduler/node_match.h"

#include <algorithm>

namespace offcut::scheduler {
namespace {

bool HasLabel(const Labels& labels, const Label& wanted) {
  return std::ranges::find(labels, wanted) != labels.end();
}

bool Matches(const NodeTerm& term, std::string_view node_name, const Labels& labels) {
  if (term.labels.empty() && term.fields.empty()) return false;
  const Labels fields = {{"metadata.name", std::string(node_name)}};
  const auto meets = [](const std::vector<SelectorRequirement>& requirements, const Labels& of) {
    return std::ranges::all_of(requirements,
                               [&](const SelectorRequirement& each) { return Meets(each, of); });
  };
  return meets(term.labels, labels) && meets(term.fields, fields);
}

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (toleration.effect && *toleration.effect != taint.effect) return false;
  if (toleration.key.empty()) return toleration.exists;
  if (toleration.key != taint.key) return false;
  return toleration.exists || toleration.value == taint.value;
}

}  // namespace

bool Admits(std::string_view node_name, const NodeMarks& marks, const NodeRules& rules) {
  const bool has_labels = std::ranges::all_of(
      rules.selector, [&](const Label& wanted) { return HasLabel(marks.labels, wanted); });
  if (!has_labels) return false;
  if (rules.terms && std::ranges::none_of(*rules.terms, [&](const NodeTerm& term) {
        return Matches(term, node_name, marks.labels);
      })) {
    return false;
  }
  return std::ranges::all_of(marks.taints, [&](const Taint& taint) {
    if (taint.effect == TaintEffect::kPreferNoSchedule) return true;
    return std::ranges::any_of(rules.tolerations,
                               [&](const Toleration& each) { return Tolerates(each, taint); });
  });
}

}  // namespace offcut::scheduler
