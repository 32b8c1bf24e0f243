// The bodies of kube-scheduler's extender protocol: what it asks and what it is answered.
//
// Names are those of Kubernetes' extender/v1 types, and so are the keys on the wire: PascalCase,
// all of them always printed, `null` for what is not there. Reading is as lenient as Go's decoder
// about keys (any ASCII case; unknown ones are ignored; the last of several counts; null is as good
// as absent) and stricter about the rest: what is ignored must be sound JSON too, and nothing may
// follow the body's value.
//
// Views point into the body that was read or into the reader: they are valid while the body is, and
// until the reader reads again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace offcut::api {

// Full nodes, as they come where nodeCacheCapable is false. A name stands once: of nodes that come
// twice, the first counts.
struct NodeList {
  std::vector<std::string> names;       // metadata.name of each
  std::vector<std::string_view> items;  // its JSON text, parallel to `names`
};

// Of filter and of prioritize.
struct ExtenderArgs {
  std::optional<std::string_view> pod;  // JSON text of an object, checked for soundness
  std::optional<NodeList> nodes;
  std::optional<std::vector<std::string>> node_names;  // each once, at its first place
};

struct FailedNode {
  std::string_view node_name;
  std::string_view text;  // for people; kube-scheduler merges equal ones
};

struct ExtenderFilterResult {
  std::optional<std::vector<std::string_view>> nodes;  // JSON text of each; nullopt prints null
  std::optional<std::vector<std::string_view>> node_names;
  std::vector<FailedNode> failed_nodes;  // eviction may be tried there
  std::vector<FailedNode> failed_and_unresolvable_nodes;
  std::string error;  // empty: none
};

struct HostPriority {
  std::string_view host;
  std::int64_t score = 0;  // 0..10
};
using HostPriorityList = std::vector<HostPriority>;

// The pods that would be evicted on one node. kube-scheduler sends them with all their members
// (Victims) or by UID alone (MetaVictims), and reads UIDs.
struct Victim {
  std::string uid;
  std::string_view pod;  // JSON text of the whole pod; empty in MetaVictims
};
struct Victims {
  std::vector<Victim> pods;
  std::int64_t num_pdb_violations = 0;
};
using NodeNameToVictims = std::map<std::string, Victims>;

struct ExtenderPreemptionArgs {
  std::optional<std::string_view> pod;
  std::optional<NodeNameToVictims> node_name_to_victims;       // nodeCacheCapable: false
  std::optional<NodeNameToVictims> node_name_to_meta_victims;  // nodeCacheCapable: true
};

struct ExtenderPreemptionResult {
  NodeNameToVictims node_name_to_meta_victims;
};

struct ExtenderBindingArgs {
  std::string pod_name;
  std::string pod_namespace;
  std::string pod_uid;
  std::string node;
};

struct ExtenderBindingResult {
  std::string error;  // empty: bound
};

// Appends the text as a JSON string, quotes included. Requires: UTF-8.
void AppendJsonString(std::string& out, std::string_view text);

// Compact JSON. Text members are spliced in as they are.
std::string Print(const ExtenderArgs& args);
std::string Print(const ExtenderPreemptionArgs& args);
std::string Print(const ExtenderBindingArgs& args);
std::string Print(const ExtenderFilterResult& result);
std::string Print(const HostPriorityList& list);
std::string Print(const ExtenderPreemptionResult& result);
std::string Print(const ExtenderBindingResult& result);

}  // namespace offcut::api
