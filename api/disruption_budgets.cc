#include "api/disruption_budgets.h"

#include <algorithm>
#include <random>
#include <string_view>

#include "api/json_members.h"
#include "api/selector_words.h"

namespace offcut::api {
namespace {

using nlohmann::json;
using scheduler::DisruptionBudget;
using scheduler::SelectorOperator;
using scheduler::SelectorRequirement;

std::optional<SelectorOperator> ReadOperator(std::string_view text) {
  const auto word = std::ranges::find(kSelectorWords, text, &Word<SelectorOperator>::text);
  if (word == kSelectorWords.end() || word->value == SelectorOperator::kGt ||
      word->value == SelectorOperator::kLt) {
    return std::nullopt;
  }
  return word->value;
}

// nullopt: it cannot be read.
std::optional<std::vector<SelectorRequirement>> ReadSelector(const json& selector) {
  std::vector<SelectorRequirement> requirements;
  const json& labels = MemberOf(selector, "matchLabels");
  if (labels.is_object()) {
    for (const auto& [key, value] : labels.items()) {
      if (!value.is_string()) return std::nullopt;
      requirements.push_back({.key = key, .values = {value.get<std::string>()}});
    }
  }
  const json& expressions = MemberOf(selector, "matchExpressions");
  if (!expressions.is_array()) return requirements;
  for (const json& expression : expressions) {
    const auto is = ReadOperator(TextOf(expression, "operator"));
    if (!is) return std::nullopt;
    SelectorRequirement requirement{.key = TextOf(expression, "key"), .is = *is, .values = {}};
    const json& values = MemberOf(expression, "values");
    if (values.is_array()) {
      for (const json& value : values) {
        if (!value.is_string()) return std::nullopt;
        requirement.values.push_back(value.get<std::string>());
      }
    }
    if (!scheduler::IsWellFormed(requirement)) return std::nullopt;
    requirements.push_back(std::move(requirement));
  }
  return requirements;
}

}  // namespace

std::optional<DisruptionBudget> ParseDisruptionBudget(const json& object) {
  const json& metadata = MemberOf(object, "metadata");
  auto selector = ReadSelector(MemberOf(MemberOf(object, "spec"), "selector"));
  DisruptionBudget budget{.name_space = TextOf(metadata, "namespace"),
                          .name = TextOf(metadata, "name"),
                          .selector = {},
                          .disrupted_pods = {}};
  if (budget.name.empty() || !selector) return std::nullopt;
  budget.selector = *std::move(selector);
  const json& status = MemberOf(object, "status");
  const json& allowed = MemberOf(status, "disruptionsAllowed");
  if (allowed.is_number_integer()) budget.disruptions_allowed = allowed.get<std::int64_t>();
  const json& disrupted = MemberOf(status, "disruptedPods");
  if (disrupted.is_object()) {
    for (const auto& [pod, since] : disrupted.items()) budget.disrupted_pods.push_back(pod);
  }
  return budget;
}

DisruptionBudgets::DisruptionBudgets(KubeClient& client, scheduler::StateStore& store,
                                     Metrics& metrics, ListWatchSettings settings)
    : store_(store),
      watch_(client,
             WatchedKind{.name = "poddisruptionbudgets",
                         .path = "/apis/policy/v1/poddisruptionbudgets"},
             WatchSinks{.replace = [this](const auto& items) { Replace(items); },
                        .upsert = [this](const auto& object) { Put(object); },
                        .remove = [this](const auto& object) { Remove(object); },
                        .observe =
                            [&metrics](const WatchStatus& status) {
                              metrics.SetWatch("poddisruptionbudgets", status.is_watching);
                            }},
             std::mt19937_64(std::random_device()()), settings) {}

void DisruptionBudgets::Replace(const std::vector<json>& items) {
  budgets_.clear();
  for (const json& item : items) {
    auto budget = ParseDisruptionBudget(item);
    if (!budget) continue;
    Name name(budget->name_space, budget->name);
    budgets_.insert_or_assign(std::move(name), *std::move(budget));
  }
  Publish();
}

void DisruptionBudgets::Put(const json& object) {
  auto budget = ParseDisruptionBudget(object);
  if (!budget) return Remove(object);
  DisruptionBudget& known = budgets_[{budget->name_space, budget->name}];
  if (known == *budget) return;
  known = *std::move(budget);
  Publish();
}

void DisruptionBudgets::Remove(const json& object) {
  const json& metadata = MemberOf(object, "metadata");
  if (budgets_.erase({TextOf(metadata, "namespace"), TextOf(metadata, "name")}) > 0) Publish();
}

void DisruptionBudgets::Publish() {
  auto list = std::make_shared<std::vector<DisruptionBudget>>();
  list->reserve(budgets_.size());
  for (const auto& [name, budget] : budgets_) list->push_back(budget);
  store_.Update([&](scheduler::Snapshot& next) { next.SetDisruptionBudgets(std::move(list)); });
}

}  // namespace offcut::api
