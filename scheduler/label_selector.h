// Labels, and what selects objects by them.
// Source: Kubernetes API reference, LabelSelectorRequirement and NodeSelectorRequirement.
// Pure values.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace offcut::scheduler {

using Label = std::pair<std::string, std::string>;
using Labels = std::vector<Label>;

enum class SelectorOperator { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

struct SelectorRequirement {
  std::string key;
  SelectorOperator is = SelectorOperator::kIn;
  std::vector<std::string> values;  // kGt, kLt: one integer
  bool operator==(const SelectorRequirement&) const = default;
};

// Whether Kubernetes takes it: kIn and kNotIn list values, kExists and kDoesNotExist none, kGt and
// kLt one integer.
bool IsWellFormed(const SelectorRequirement& requirement);

// Requires: it is well-formed. Who has no such label meets kNotIn and kDoesNotExist alone.
bool Meets(const SelectorRequirement& requirement, const Labels& labels);

}  // namespace offcut::scheduler
