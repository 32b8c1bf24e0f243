// Which nodes a pod may stand on by their labels and taints, as kube-scheduler's filters
// NodeAffinity and TaintToleration have it, but for the affinity that its profile may add
// (addedAffinity). Asked where kube-scheduler has not looked at the node before us: when we
// ourselves evict or keep devices for the pod there.
// Pure; values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/label_selector.h"

namespace offcut::scheduler {

enum class TaintEffect { kNoSchedule, kPreferNoSchedule, kNoExecute };

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNoSchedule;
  bool operator==(const Taint&) const = default;
};

struct Toleration {
  std::string key;      // empty: of every taint, where `exists`
  bool exists = false;  // operator Exists; else the value must be equal
  std::string value;
  std::optional<TaintEffect> effect;  // nullopt: of every effect
  bool operator==(const Toleration&) const = default;
};

inline constexpr std::string_view kNodeNameField = "metadata.name";

// All of the requirements; one without any matches no node.
struct NodeTerm {
  std::vector<SelectorRequirement> labels;
  std::vector<SelectorRequirement> fields;  // of kNodeNameField alone
  bool operator==(const NodeTerm&) const = default;
};

// What a pod says of the nodes that it wants.
struct NodeRules {
  Labels selector;                             // spec.nodeSelector
  std::optional<std::vector<NodeTerm>> terms;  // of required node affinity: any of them
  std::vector<Toleration> tolerations;
  bool is_unreadable = false;  // it says what cannot be read: no node is known to suit it
  bool operator==(const NodeRules&) const = default;
};

// What a node says of itself.
struct NodeMarks {
  Labels labels;
  std::vector<Taint> taints;
  bool is_unreadable = false;  // likewise: no pod is known to suit it
  bool operator==(const NodeMarks&) const = default;
};

// Whether the pod's selector and its required affinity choose the node.
bool Chooses(const NodeRules& rules, std::string_view node_name, const NodeMarks& marks);

// The first taint that keeps the pod off the node; nullptr: none does.
const Taint* FindUntolerated(const NodeMarks& marks, const NodeRules& rules);

// Whether the pod may stand there by both. Not where either cannot be read.
bool Admits(std::string_view node_name, const NodeMarks& marks, const NodeRules& rules);

}  // namespace offcut::scheduler
