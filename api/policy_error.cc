#include "api/policy_error.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include <fmt/format.h>

#include "api/printable.h"

namespace offcut::api {

std::string_view CodeText(PolicyErrorCode code) {
  switch (code) {
    case PolicyErrorCode::kSyntax:
      return "syntax";
    case PolicyErrorCode::kTooLarge:
      return "too-large";
    case PolicyErrorCode::kDuplicateField:
      return "duplicate-field";
    case PolicyErrorCode::kUnknownField:
      return "unknown-field";
    case PolicyErrorCode::kMissingField:
      return "missing-field";
    case PolicyErrorCode::kWrongType:
      return "wrong-type";
    case PolicyErrorCode::kUnknownValue:
      return "unknown-value";
    case PolicyErrorCode::kOutOfRange:
      return "out-of-range";
    case PolicyErrorCode::kInvalidName:
      return "invalid-name";
    case PolicyErrorCode::kNameConflict:
      return "name-conflict";
    case PolicyErrorCode::kConflict:
      return "conflict";
    case PolicyErrorCode::kUnreachableTenant:
      return "unreachable-tenant";
    case PolicyErrorCode::kNoEffect:
      return "no-effect";
    case PolicyErrorCode::kUnownedNamespace:
      return "unowned-namespace";
    case PolicyErrorCode::kBeyondCluster:
      return "beyond-cluster";
    case PolicyErrorCode::kEmptyPool:
      return "empty-pool";
    case PolicyErrorCode::kTooManyErrors:
      return "too-many-errors";
  }
  assert(false && "a code without a text");
  return "";
}

std::string OneLineOf(const PolicyError& error) {
  std::string line =
      fmt::format("{}:{}:{}: {}: ", error.file, error.line, error.column, CodeText(error.code));
  if (!error.pointer.empty()) line += error.pointer + ": ";
  line += error.message;
  if (!error.suggestion.empty()) line += fmt::format(" (did you mean \"{}\"?)", error.suggestion);
  return Printable(line);
}

void ErrorList::Add(const Place& place, PolicyErrorCode code, std::string message,
                    std::string_view suggestion) {
  if (errors_.size() > kMaxPolicyErrors) return;
  const bool is_last = errors_.size() == kMaxPolicyErrors;
  errors_.push_back({.file = file_,
                     .line = place.position.line,
                     .column = place.position.column,
                     .pointer = place.pointer,
                     .code = is_last ? PolicyErrorCode::kTooManyErrors : code,
                     .message = is_last ? "further errors are not shown" : std::move(message),
                     .suggestion = is_last ? "" : std::string(suggestion)});
}

std::vector<PolicyError> ErrorList::InOrderOfText() && {
  // The one that says that there are more stays last.
  const auto end = errors_.size() > kMaxPolicyErrors ? errors_.end() - 1 : errors_.end();
  std::stable_sort(errors_.begin(), end, [](const PolicyError& a, const PolicyError& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  return std::move(errors_);
}

}  // namespace offcut::api
