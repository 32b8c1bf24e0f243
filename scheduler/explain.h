// Why a pod goes where it goes, or nowhere: every node with its verdict and, where it fits, what it
// costs. Judges as if nobody had filtered before us, but for what Offcut does not decide
// (selectors, affinity, taints, volumes), and says what the decisions themselves say: it calls
// them. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/decision.h"
#include "scheduler/held_places.h"
#include "scheduler/quota_refusal.h"

namespace offcut::scheduler {

struct NodeExplanation {
  std::shared_ptr<const Node> node;
  Verdict verdict;
  NodeCost cost;                // if it fits; with what opening a whole node costs
  std::int64_t score = 0;       // as prioritize would give it
  std::vector<HeldPlace> held;  // refused for what is kept there: whose it is
};

struct ReasonCount {
  Reason reason = Reason::kFits;
  int nodes = 0;
};

// Nodes that quota refuses alike.
struct QuotaRefusalCount {
  QuotaRefusal refusal;
  int nodes = 0;
};

struct Explanation {
  Pod pod;
  std::string tenant;  // empty: none
  PodPhase phase = PodPhase::kPending;
  std::string node_name;                 // where it is, or where it would go; empty: nowhere
  std::optional<DeviceRecord> record;    // of a pod that is on a node: what it holds
  bool is_drifted = false;               // the kubelet chose other GPUs than are on record
  std::optional<HeldPlace> held;         // what is kept for a pod that is on no node
  std::vector<NodeExplanation> nodes;    // by name; empty for a pod that is on a node
  std::vector<ReasonCount> refusals;     // most frequent first, then in the order of the enum
  std::vector<QuotaRefusalCount> quota;  // those by quota in numbers, in the order of the nodes
  std::shared_ptr<const binpack::PackingModel> packing;  // what the costs go by
  std::int64_t free_whole_nodes = 0;  // of the nodes that have a price as a whole
  std::int64_t opening_cost = 0;      // of taking a part of one; 0: costs count to the unit
};

// Whether the kubelet gave the pod other GPUs than are on record for it.
bool HasDrifted(const Snapshot& snapshot, std::string_view uid);

// Explains a pod of the snapshot. Requires: `uid` is known.
Explanation Explain(const Snapshot& snapshot, std::string_view uid, const Policy& policy);

}  // namespace offcut::scheduler
