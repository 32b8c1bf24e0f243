// A policy as an operator writes it: `apiVersion: offcut.dev/v1alpha1`, `kind: Policy`, JSON or
// YAML. Everything else is optional and defaults to scheduler/policy.h. What may stand where is
// also deploy/policy.schema.json, for editors; this reader is the one that counts. Pure; the
// functions may be called from any thread.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/policy_error.h"
#include "scheduler/policy.h"

namespace offcut::api {

inline constexpr std::string_view kPolicyApiVersion = "offcut.dev/v1alpha1";
inline constexpr std::string_view kPolicyKind = "Policy";
inline constexpr int kMaxPackingWeight = 1000;

// Reads a policy, or returns everything that is wrong with it, in the order of the text. `file`
// only names the text in errors; `strategies` are the names that /packing/strategy may take.
std::expected<scheduler::Policy, std::vector<PolicyError>> ReadPolicy(
    std::string_view text, std::string_view file, std::span<const std::string_view> strategies);

// Returns `policy` as JSON with every default written out and a final line feed; left out are
// the target workload where it is not declared, for it is derived, and tenants where there are
// none. ReadPolicy() makes the same policy of it.
std::string PrintPolicy(const scheduler::Policy& policy);

}  // namespace offcut::api
