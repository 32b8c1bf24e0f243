#include "scheduler/label_selector.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace offcut::scheduler {
namespace {

std::optional<std::int64_t> IntegerOf(std::string_view text) {
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

bool MeetsOrder(const SelectorRequirement& requirement, std::string_view label) {
  if (!IsWellFormed(requirement)) return false;
  const std::optional<std::int64_t> have = IntegerOf(label);
  const std::optional<std::int64_t> bound = IntegerOf(requirement.values.front());
  if (!have || !bound) return false;
  return requirement.is == SelectorOperator::kGt ? *have > *bound : *have < *bound;
}

}  // namespace

bool IsWellFormed(const SelectorRequirement& requirement) {
  const std::vector<std::string>& values = requirement.values;
  switch (requirement.is) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      return !values.empty();
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      return values.empty();
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      return values.size() == 1 && IntegerOf(values.front()).has_value();
  }
  assert(false);
  return false;
}

bool Meets(const SelectorRequirement& requirement, const Labels& labels) {
  const auto label = std::ranges::find(labels, requirement.key, &Label::first);
  const bool is_there = label != labels.end();
  const auto is_listed = [&] {
    return is_there &&
           std::ranges::find(requirement.values, label->second) != requirement.values.end();
  };
  switch (requirement.is) {
    case SelectorOperator::kIn:
      return is_listed();
    case SelectorOperator::kNotIn:
      return !is_listed();
    case SelectorOperator::kExists:
      return is_there;
    case SelectorOperator::kDoesNotExist:
      return !is_there;
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      return is_there && MeetsOrder(requirement, label->second);
  }
  assert(false);
  return false;
}

}  // namespace offcut::scheduler
