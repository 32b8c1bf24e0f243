// Evaluations by (request, node), worked out again only for nodes that have changed. One binding
// changes one node of thousands, and the requests of a cluster are few, so that a decision mostly
// reads what is there.
//
// The identity of a shared_ptr<const Node> is the node's version: an edit of a snapshot replaces
// the nodes that it touches and shares all others. The cache keeps the last version of each, so
// that no other node can come to lie at its address. Likewise of the packing model: with another
// one everything is worked out anew. What it answers depends on the snapshot alone, never on what
// it was asked before: equal to Evaluate() on every node. So does the number of nodes that are
// entirely free, which is counted as nodes change.
//
// Memory: 16 bytes a node and request; beyond the limits the request that was asked for longest ago
// is forgotten. Not synchronised: one owner, one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scheduler/evaluation.h"
#include "scheduler/snapshot.h"

namespace offcut::scheduler {

struct EvaluationLimits {
  std::size_t requests = 512;
  std::size_t bytes = 64U << 20U;  // of evaluations; one request is kept however large it is
};

class EvaluationCache {
 public:
  // The policy outlives the cache and does not change.
  EvaluationCache(const Policy& policy, Prefilter prefilter, EvaluationLimits limits = {})
      : policy_(policy), prefilter_(prefilter), limits_(limits) {}

  const Policy& policy() const { return policy_; }
  Prefilter prefilter() const { return prefilter_; }
  // Of the last snapshot. Requires: there was one.
  const binpack::PackingModel& model() const { return *model_; }
  // Likewise: what it costs to open a node that is entirely free.
  std::int64_t opening_cost() const { return model_->whole_nodes.CostAt(free_whole_nodes_); }

  // One evaluation a node, in the order of snapshot.nodes(); expectations are not counted in. Valid
  // until the next call.
  std::span<const Evaluation> EvaluateAll(const Snapshot& snapshot, const Pod& pod);

  // The index of each node in snapshot.nodes() of the last call; kNoIndex: there is no such node.
  // A scheduler names its nodes in the same order again and again, so each name is first looked for
  // where it followed the one before it last time.
  static constexpr std::size_t kNoIndex = static_cast<std::size_t>(-1);
  std::vector<std::size_t> IndicesOf(std::span<const std::string> node_names);

  std::size_t request_count() const { return rows_.size(); }
  // How many evaluations have been worked out so far, and not read.
  std::uint64_t evaluated_count() const { return evaluated_count_; }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };

  struct Row {
    std::vector<Evaluation> evaluations;  // as nodes_
    std::uint64_t seen = 0;               // changes up to this one are in it
    std::uint64_t used = 0;               // when it was last asked for
  };

  std::size_t IndexOf(std::string_view node_name) const;
  void Follow(const Snapshot& snapshot);
  void FollowModel(const Snapshot& snapshot);
  void Renumber(std::span<const std::shared_ptr<const Node>> nodes);
  Row& RowOf(const Pod& pod);
  void MakeRoom();

  const Policy& policy_;
  Prefilter prefilter_;
  EvaluationLimits limits_;
  std::shared_ptr<const binpack::PackingModel> model_;  // that the rows go by
  std::vector<std::shared_ptr<const Node>> nodes_;      // by name
  std::vector<std::string> names_;                      // of nodes_, side by side
  std::vector<std::size_t> successors_;                 // the node that was named after each one
  std::vector<std::uint64_t> changed_;                  // when each node last changed
  std::int64_t free_whole_nodes_ = 0;                   // of nodes_, as the model has it
  std::unordered_map<std::string, std::size_t, TextHash, std::equal_to<>> index_by_name_;
  std::unordered_map<std::string, Row> rows_;  // by what Evaluate() reads of a pod
  std::uint64_t now_ = 0;                      // counts calls
  std::uint64_t evaluated_count_ = 0;
};

// One evaluation a name, as Filter() and Score() judge: pods that are expected on a node are
// counted in, rules of isolation hold, and a pod that holds devices fits its own node only.
std::vector<Evaluation> EvaluateNames(const Snapshot& snapshot, const Pod& pod,
                                      std::span<const std::string> node_names,
                                      EvaluationCache& cache);

}  // namespace offcut::scheduler
