// What is odd in a policy that reads well: tenants that no pod can be of, limits and weights that
// change nothing, namespaces whose pods need only leave their label out to be held to nothing, and,
// beside a cluster, guarantees beyond it and pools without GPUs.
// Pure.
#pragma once

#include <string_view>
#include <vector>

#include "api/policy_error.h"
#include "scheduler/policy.h"
#include "scheduler/snapshot.h"

namespace offcut::api {

// In the order of the text, that of the policy. Errors: guarantees beyond the cluster. All others
// are warnings: a tenant may be there before its namespaces, and a pool before its nodes.
// `snapshot` may be null: no cluster to compare with.
std::vector<PolicyError> CheckPolicy(std::string_view text, std::string_view file,
                                     const scheduler::Policy& policy,
                                     const scheduler::Snapshot* snapshot);

}  // namespace offcut::api
