// The words by which Kubernetes' selectors name their operators. Those of labels (LabelSelector)
// have no kGt and kLt.
#pragma once

#include <array>

#include "api/json_words.h"
#include "scheduler/label_selector.h"

namespace offcut::api {

inline constexpr std::array<Word<scheduler::SelectorOperator>, 6> kSelectorWords = {{
    {scheduler::SelectorOperator::kIn, "In"},
    {scheduler::SelectorOperator::kNotIn, "NotIn"},
    {scheduler::SelectorOperator::kExists, "Exists"},
    {scheduler::SelectorOperator::kDoesNotExist, "DoesNotExist"},
    {scheduler::SelectorOperator::kGt, "Gt"},
    {scheduler::SelectorOperator::kLt, "Lt"},
}};

}  // namespace offcut::api
