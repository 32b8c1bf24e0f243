// Which nodes a pod may stand on by their labels and taints, as kube-scheduler's filters
// NodeAffinity, NodeName and TaintToleration have it. Asked where kube-scheduler has not looked at
// the node before us: when we ourselves evict or keep devices for the pod there.
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

// All of the requirements; one without any matches no node.
struct NodeTerm {
  std::vector<SelectorRequirement> labels;
  std::vector<SelectorRequirement> fields;  // metadata.name alone
  bool operator==(const NodeTerm&) const = default;
};

// What a pod says of the nodes that it wants.
struct NodeRules {
  Labels selector;                             // spec.nodeSelector
  std::optional<std::vector<NodeTerm>> terms;  // of required node affinity: any of them
  std::vector<Toleration> tolerations;
  bool operator==(const NodeRules&) const = default;
};

// What a node says of itself.
struct NodeMarks {
  Labels labels;
  std::vector<Taint> taints;
  bool operator==(const NodeMarks&) const = default;
};

bool Admits(std::string_view node_name, const NodeMarks& marks, const NodeRules& rules);

}  // namespace offcut::scheduler
