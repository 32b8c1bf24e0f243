#include "api/node_rules_json.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json_words.h"
#include "api/node_json.h"
#include "api/pod_json.h"
#include "api/pod_membership.h"
#include "api/selector_words.h"
#include "api/text_fields.h"

namespace offcut::api {
namespace {

using scheduler::Labels;
using scheduler::NodeMarks;
using scheduler::NodeRules;
using scheduler::NodeTerm;
using scheduler::SelectorOperator;
using scheduler::SelectorRequirement;
using scheduler::Taint;
using scheduler::TaintEffect;
using scheduler::Toleration;

constexpr std::size_t kLabelNameBytesMax = 63;  // of a key, behind the '/'

constexpr std::array<Word<TaintEffect>, 3> kEffectWords = {{
    {TaintEffect::kNoSchedule, "NoSchedule"},
    {TaintEffect::kPreferNoSchedule, "PreferNoSchedule"},
    {TaintEffect::kNoExecute, "NoExecute"},
}};

// How much more may be read of one object.
class Allowance {
 public:
  explicit Allowance(std::size_t count_max) : count_max_(count_max), left_(count_max) {}

  // Whether there is room for `count` more; an error where there is not.
  bool Take(std::size_t count, const JsonPath& path, JsonErrors& errors) {
    if (count <= left_) {
      left_ -= count;
      return true;
    }
    left_ = 0;
    errors.Add(path, "is beyond the " + std::to_string(count_max_) + " entries that are read",
               ErrorKind::kTooLarge);
    return false;
  }

 private:
  std::size_t count_max_;
  std::size_t left_;
};

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool IsAlphanumeric(char c) { return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z'); }

// Letters, digits, and between them '-', '_' and '.'.
bool IsLabelName(std::string_view text) {
  return !text.empty() && text.size() <= kLabelNameBytesMax && IsAlphanumeric(text.front()) &&
         IsAlphanumeric(text.back()) && std::ranges::all_of(text, [](char c) {
           return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsLabelValue(std::string_view text) { return text.empty() || IsLabelName(text); }

// A DNS subdomain: lower case, parts between dots that neither begin nor end with '-'.
bool IsDomain(std::string_view text) {
  if (text.size() > kNameBytesMax) return false;
  return std::ranges::all_of(SplitFields(text, '.'), [](std::string_view part) {
    return !part.empty() && IsLowerOrDigit(part.front()) && IsLowerOrDigit(part.back()) &&
           std::ranges::all_of(part, [](char c) { return IsLowerOrDigit(c) || c == '-'; });
  });
}

// "name", or "domain/name".
bool IsLabelKey(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsLabelName(text);
  return IsDomain(text.substr(0, slash)) && IsLabelName(text.substr(slash + 1));
}

// A map of texts, by key. Of entries of one key the last counts.
Labels ReadLabelMap(const JsonObject& map, Allowance& allowance) {
  std::map<std::string_view, std::string_view> by_key;
  map.ForEachEntry([&](std::string_view key, JsonElement value, const JsonPath& path) {
    if (!allowance.Take(1, path, map.Errors())) return;
    const std::optional<std::string_view> text = ReadString(value, path, map.Errors());
    if (!text) return;
    if (key.size() > kLabelKeyBytesMax || text->size() > kLabelBytesMax) {
      map.Errors().Add(path, "is too long for a label", ErrorKind::kTooLarge);
      return;
    }
    by_key.insert_or_assign(key, *text);
  });
  Labels labels;
  labels.reserve(by_key.size());
  for (const auto& [key, value] : by_key) labels.emplace_back(key, value);
  return labels;
}

std::vector<std::string> ReadValues(const JsonObject& requirement, Allowance& allowance) {
  std::vector<std::string> values;
  const std::optional<JsonElement> member = requirement.Find("values");
  if (!member) return values;
  JsonErrors& errors = requirement.Errors();
  const JsonPath path{.parent = &requirement.Path(), .key = "values"};
  const auto array = ReadArray(*member, path, kNodeRulesMax, errors);
  if (!array || !allowance.Take(array->size(), path, errors)) return values;
  values.reserve(array->size());
  for (const JsonElement each : *array) {
    const std::optional<std::string_view> text = ReadString(each, path, errors);
    if (!text) return {};
    if (text->size() > kNameBytesMax) {
      errors.Add(path, "has a value that is too long", ErrorKind::kTooLarge);
      return {};
    }
    values.emplace_back(*text);
  }
  return values;
}

SelectorRequirement ReadRequirement(const JsonObject& object, Allowance& allowance) {
  SelectorRequirement requirement{
      .key = std::string(object.String("key", kLabelKeyBytesMax)),
      .is = ReadWord<SelectorOperator>(object, "operator", kSelectorWords),
      .values = ReadValues(object, allowance)};
  if (!scheduler::IsWellFormed(requirement)) {
    object.AddError("values", "does not suit the operator");
  }
  return requirement;
}

SelectorRequirement ReadLabelRequirement(const JsonObject& object, Allowance& allowance) {
  SelectorRequirement requirement = ReadRequirement(object, allowance);
  if (!IsLabelKey(requirement.key)) object.AddError("key", "is no label's key");
  if (!std::ranges::all_of(requirement.values, IsLabelValue)) {
    object.AddError("values", "has what is no label's value");
  }
  return requirement;
}

// Kubernetes knows one field, and knows it to be one name or not to be it.
SelectorRequirement ReadFieldRequirement(const JsonObject& object, Allowance& allowance) {
  SelectorRequirement requirement = ReadRequirement(object, allowance);
  if (requirement.key != scheduler::kNodeNameField) object.AddError("key", "is no field of nodes");
  if (requirement.is != SelectorOperator::kIn && requirement.is != SelectorOperator::kNotIn) {
    object.AddError("operator", "must be In or NotIn");
  }
  if (requirement.values.size() != 1) object.AddError("values", "must be one name");
  return requirement;
}

// A term, a requirement or a toleration is one entry, whatever it has beside its values.
template <typename Read>
void ForEachCounted(const JsonObject& object, std::string_view key, Allowance& allowance,
                    Read read) {
  object.ForEach(key, kNodeRulesMax, [&](const JsonObject& each) {
    if (allowance.Take(1, each.Path(), each.Errors())) read(each);
  });
}

NodeTerm ReadTerm(const JsonObject& object, Allowance& allowance) {
  NodeTerm term;
  ForEachCounted(object, "matchExpressions", allowance, [&](const JsonObject& each) {
    term.labels.push_back(ReadLabelRequirement(each, allowance));
  });
  ForEachCounted(object, "matchFields", allowance, [&](const JsonObject& each) {
    term.fields.push_back(ReadFieldRequirement(each, allowance));
  });
  return term;
}

std::optional<std::vector<NodeTerm>> ReadTerms(const JsonObject& spec, Allowance& allowance) {
  const JsonObject affinity = spec.Object("affinity");
  const JsonObject node_affinity = affinity.Object("nodeAffinity");
  const JsonObject required = node_affinity.Object(kRequiredAffinity);
  if (!required.IsPresent()) return std::nullopt;
  std::vector<NodeTerm> terms;
  ForEachCounted(required, "nodeSelectorTerms", allowance,
                 [&](const JsonObject& term) { terms.push_back(ReadTerm(term, allowance)); });
  return terms;
}

void ReadToleration(const JsonObject& object, std::vector<Toleration>& tolerations) {
  const std::string_view is = object.String("operator");
  if (is == "Gt" || is == "Lt") return;
  Toleration toleration{.key = std::string(object.String("key", kLabelKeyBytesMax)),
                        .exists = is == "Exists",
                        .value = std::string(object.String("value", kLabelBytesMax)),
                        .effect = {}};
  if (!object.String("effect").empty()) {
    toleration.effect = ReadWord<TaintEffect>(object, "effect", kEffectWords);
  }
  if (!is.empty() && is != "Equal" && is != "Exists") {
    object.AddError("operator", "is not a word of this version");
  }
  if (toleration.key.empty() && !toleration.exists) {
    object.AddError("operator", "must be Exists where there is no key");
  }
  if (toleration.exists && !toleration.value.empty()) {
    object.AddError("value", "must be empty where the operator is Exists");
  }
  tolerations.push_back(std::move(toleration));
}

Taint ReadTaint(const JsonObject& object) {
  Taint taint{.key = std::string(object.String("key", kLabelKeyBytesMax)),
              .value = std::string(object.String("value", kLabelBytesMax)),
              .effect = ReadWord<TaintEffect>(object, "effect", kEffectWords)};
  if (taint.key.empty()) object.AddError("key", "is missing");
  return taint;
}

}  // namespace

std::string TaintText(const Taint& taint) {
  std::string text = taint.key;
  if (!taint.value.empty()) text += "=" + taint.value;
  return text.append(":").append(WordOf(kEffectWords, taint.effect));
}

std::expected<NodeRules, Error> ParseNodeRules(JsonElement pod) {
  JsonErrors errors;
  Allowance allowance(kNodeRulesMax);
  const JsonObject root(pod, errors);
  const JsonObject spec = root.Object("spec");
  NodeRules rules;
  rules.selector = ReadLabelMap(spec.Object("nodeSelector"), allowance);
  rules.terms = ReadTerms(spec, allowance);
  ForEachCounted(spec, "tolerations", allowance,
                 [&](const JsonObject& each) { ReadToleration(each, rules.tolerations); });
  if (errors.First()) return std::unexpected(*errors.First());
  return rules;
}

std::expected<NodeMarks, Error> ParseNodeMarks(JsonElement node) {
  JsonErrors errors;
  Allowance allowance(kNodeLabelsMax);
  const JsonObject root(node, errors);
  const JsonObject metadata = root.Object("metadata");
  const JsonObject spec = root.Object("spec");
  NodeMarks marks;
  marks.labels = ReadLabelMap(metadata.Object("labels"), allowance);
  spec.ForEach("taints", kTaintsMax,
               [&](const JsonObject& taint) { marks.taints.push_back(ReadTaint(taint)); });
  if (errors.First()) return std::unexpected(*errors.First());
  return marks;
}

}  // namespace offcut::api
