// A policy as an operator writes it: `apiVersion: offcut.dev/v1alpha1`, `kind: Policy`, JSON or
// YAML. Everything else is optional and defaults to scheduler/policy.h. What may stand where is
// also deploy/policy.schema.json, for editors; this reader is the one that counts. Pure; the
// functions may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "scheduler/policy.h"

namespace offcut::api {

inline constexpr std::string_view kPolicyApiVersion = "offcut.dev/v1alpha1";
inline constexpr std::string_view kPolicyKind = "Policy";
inline constexpr int kMaxPackingWeight = 1000;
// Of /packing/targetWorkload.
inline constexpr std::size_t kMaxWorkloadClasses = binpack::kWorkloadClassesMax;
inline constexpr int kMaxClassWeight = 100'000;
inline constexpr int kMaxClassGpus = 64;  // or slots, or instances
inline constexpr std::int64_t kMaxClassCpuMilli = 10'000'000;
inline constexpr std::size_t kMaxClassModels = 64;
inline constexpr std::size_t kMaxResourcesListed = 64;  // in each list or map of resources
inline constexpr std::size_t kMaxPolicyErrors = 100;    // that are told; further ones are not

enum class PolicyErrorCode {
  kSyntax,          // not JSON or YAML, or not one document; nothing else was looked at
  kTooLarge,        // above a named limit
  kDuplicateField,  // a field stands more than once in its object
  kUnknownField,
  kUnsupportedField,  // of a later version
  kMissingField,
  kWrongType,
  kUnknownValue,  // not one of the values allowed
  kOutOfRange,
  kInvalidName,    // not an extended resource name, or the part of one that is asked for
  kNameConflict,   // two resources with one name
  kConflict,       // fields that do not go together
  kTooManyErrors,  // the last of kMaxPolicyErrors + 1: there may be more
};

// Returns the code as it is printed: "unknown-field". Stable: scripts may compare it.
std::string_view CodeText(PolicyErrorCode code);

struct PolicyError {
  std::string file;     // as the caller named it
  int line = 1;         // from 1
  int column = 1;       // from 1, in bytes
  std::string pointer;  // RFC 6901: "/packing/strategy"; empty: the document
  PolicyErrorCode code = PolicyErrorCode::kSyntax;
  std::string message;     // for a person; lower case, no final full stop
  std::string suggestion;  // the word that was probably meant; empty: none comes close
};

// Reads a policy, or returns everything that is wrong with it, in the order of the text. `file`
// only names the text in errors; `strategies` are the names that /packing/strategy may take.
std::expected<scheduler::Policy, std::vector<PolicyError>> ReadPolicy(
    std::string_view text, std::string_view file, std::span<const std::string_view> strategies);

// Returns `policy` as JSON with every default written out and a final line feed; what is derived
// where it is not declared (the target workload) is left out. ReadPolicy() makes
// the same policy of it.
std::string PrintPolicy(const scheduler::Policy& policy);

// The classes as /packing/targetWorkload has them, shares rounded up to whole percent.
nlohmann::ordered_json ToJson(const binpack::TargetWorkload& workload);

}  // namespace offcut::api
