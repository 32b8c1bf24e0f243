#include "scheduler/node_match.h"

#include <algorithm>

namespace offcut::scheduler {
namespace {

bool HasLabel(const Labels& labels, const Label& wanted) {
  return std::ranges::find(labels, wanted) != labels.end();
}

bool MeetsAll(const std::vector<SelectorRequirement>& requirements, const Labels& labels) {
  return std::ranges::all_of(requirements,
                             [&](const SelectorRequirement& each) { return Meets(each, labels); });
}

bool Matches(const NodeTerm& term, std::string_view node_name, const Labels& labels) {
  if (term.labels.empty() && term.fields.empty()) return false;
  if (!MeetsAll(term.labels, labels)) return false;
  return term.fields.empty() ||
         MeetsAll(term.fields, {{std::string(kNodeNameField), std::string(node_name)}});
}

bool Tolerates(const Toleration& toleration, const Taint& taint) {
  if (toleration.effect && *toleration.effect != taint.effect) return false;
  if (toleration.key.empty()) return toleration.exists;
  if (toleration.key != taint.key) return false;
  return toleration.exists || toleration.value == taint.value;
}

}  // namespace

bool Chooses(const NodeRules& rules, std::string_view node_name, const NodeMarks& marks) {
  const bool has_labels = std::ranges::all_of(
      rules.selector, [&](const Label& wanted) { return HasLabel(marks.labels, wanted); });
  if (!has_labels) return false;
  return !rules.terms || std::ranges::any_of(*rules.terms, [&](const NodeTerm& term) {
    return Matches(term, node_name, marks.labels);
  });
}

const Taint* FindUntolerated(const NodeMarks& marks, const NodeRules& rules) {
  const auto found = std::ranges::find_if(marks.taints, [&](const Taint& taint) {
    if (taint.effect == TaintEffect::kPreferNoSchedule) return false;
    return std::ranges::none_of(rules.tolerations,
                                [&](const Toleration& each) { return Tolerates(each, taint); });
  });
  return found == marks.taints.end() ? nullptr : &*found;
}

bool Admits(std::string_view node_name, const NodeMarks& marks, const NodeRules& rules) {
  return !marks.is_unreadable && !rules.is_unreadable && Chooses(rules, node_name, marks) &&
         FindUntolerated(marks, rules) == nullptr;
}

}  // namespace offcut::scheduler
