// Reads which nodes a pod wants, and what a node says of itself for that.
//
// What the API server would not have taken is an error here, and so is what this version does not
// know: a guess would let us evict for a pod on a node where kube-scheduler never puts it.
// Tolerations by Gt and Lt tolerate nothing: they count only where a feature gate says so, which
// nobody tells us. tolerationSeconds is no matter to scheduling.
// Source: Kubernetes API reference, NodeSelectorTerm, Toleration, Taint; its validation as of 1.37.
// Pure.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "api/error.h"
#include "api/json_object.h"
#include "scheduler/node_match.h"

namespace offcut::api {

inline constexpr std::string_view kRequiredAffinity =
    "requiredDuringSchedulingIgnoredDuringExecution";

// Kubernetes itself has no limits but for the size of an object.
inline constexpr std::size_t kNodeRulesMax = 4096;   // a pod's terms, keys and values together
inline constexpr std::size_t kNodeLabelsMax = 4096;  // of a node

// "key=value:NoSchedule", as kubectl writes it.
std::string TaintText(const scheduler::Taint& taint);

// Of a v1.Pod: spec.nodeSelector, required node affinity, spec.tolerations. Selector by key.
// Errors name the member.
std::expected<scheduler::NodeRules, Error> ParseNodeRules(JsonElement pod);

// Of a v1.Node: metadata.labels, by key, and spec.taints. Likewise.
std::expected<scheduler::NodeMarks, Error> ParseNodeMarks(JsonElement node);

}  // namespace offcut::api
