#include "scheduler/evaluation_cache.h"

#include <algorithm>
#include <utility>

#include "binpack/strategy.h"
#include "scheduler/expected_node.h"
#include "scheduler/isolation.h"
#include "scheduler/packing.h"
#include "scheduler/request_key.h"
#include "scheduler/whole_nodes.h"

namespace offcut::scheduler {

std::span<const Evaluation> EvaluationCache::EvaluateAll(const Snapshot& snapshot, const Pod& pod) {
  ++now_;
  Follow(snapshot);
  Row& row = RowOf(pod);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (changed_[i] <= row.seen) continue;
    row.evaluations[i] = Evaluate(*nodes_[i], pod, policy_, *model_, prefilter_);
    ++evaluated_count_;
  }
  row.seen = now_;
  row.used = now_;
  return row.evaluations;
}

std::size_t EvaluationCache::IndexOf(std::string_view node_name) const {
  const auto found = index_by_name_.find(node_name);
  return found == index_by_name_.end() ? kNoIndex : found->second;
}

std::vector<std::size_t> EvaluationCache::IndicesOf(std::span<const std::string> node_names) {
  std::vector<std::size_t> indices(node_names.size(), kNoIndex);
  std::size_t before = kNoIndex;
  for (std::size_t i = 0; i < node_names.size(); ++i) {
    std::size_t& index = indices[i];
    if (before != kNoIndex) index = successors_[before];
    if (index == kNoIndex || names_[index] != node_names[i]) index = IndexOf(node_names[i]);
    if (before != kNoIndex) successors_[before] = index;
    before = index;
  }
  return indices;
}

// Costs, and which nodes count when they are whole, are of one model alone.
void EvaluationCache::FollowModel(const Snapshot& snapshot) {
  auto model = PackingOf(snapshot, policy_);
  if (model == model_) return;
  model_ = std::move(model);
  rows_.clear();
  free_whole_nodes_ = CountFreeWhole(nodes_, *model_);
}

// Notes which nodes have changed since the last call.
void EvaluationCache::Follow(const Snapshot& snapshot) {
  FollowModel(snapshot);
  const auto nodes = snapshot.nodes();
  if (nodes.size() != nodes_.size()) return Renumber(nodes);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i] == nodes_[i]) continue;
    if (nodes[i]->name() != nodes_[i]->name()) return Renumber(nodes);
    free_whole_nodes_ +=
        (IsFreeWhole(*nodes[i], *model_) ? 1 : 0) - (IsFreeWhole(*nodes_[i], *model_) ? 1 : 0);
    nodes_[i] = nodes[i];
    changed_[i] = now_;
  }
}

// Nodes have come or gone: what is known of the others moves to their new places.
void EvaluationCache::Renumber(std::span<const std::shared_ptr<const Node>> nodes) {
  std::vector<std::size_t> old_places(nodes.size());
  std::vector<std::uint64_t> changed(nodes.size(), now_);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::size_t old_place = IndexOf(nodes[i]->name());
    old_places[i] = old_place;
    if (old_place != kNoIndex && nodes_[old_place] == nodes[i]) changed[i] = changed_[old_place];
  }
  for (auto& [key, row] : rows_) {
    std::vector<Evaluation> moved(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (old_places[i] != kNoIndex) moved[i] = row.evaluations[old_places[i]];
    }
    row.evaluations = std::move(moved);
  }
  nodes_.assign(nodes.begin(), nodes.end());
  free_whole_nodes_ = CountFreeWhole(nodes_, *model_);
  changed_ = std::move(changed);
  names_.clear();
  index_by_name_.clear();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    names_.push_back(nodes_[i]->name());
    index_by_name_.emplace(nodes_[i]->name(), i);
  }
  successors_.assign(nodes_.size(), kNoIndex);
}

EvaluationCache::Row& EvaluationCache::RowOf(const Pod& pod) {
  std::string key = model_->strategy->is_random ? KeyOfPod(pod) : KeyOfRequest(pod);
  if (const auto found = rows_.find(key); found != rows_.end()) return found->second;
  MakeRoom();
  Row& row = rows_[std::move(key)];
  row.evaluations.resize(nodes_.size());
  return row;
}

// Leaves room for one row more.
void EvaluationCache::MakeRoom() {
  const std::size_t row_bytes = std::max<std::size_t>(1, nodes_.size() * sizeof(Evaluation));
  const std::size_t rows_max =
      std::max<std::size_t>(1, std::min(limits_.requests, limits_.bytes / row_bytes));
  while (rows_.size() >= rows_max) {
    rows_.erase(
        std::ranges::min_element(rows_, {}, [](const auto& entry) { return entry.second.used; }));
  }
}

std::vector<Evaluation> EvaluateNames(const Snapshot& snapshot, const Pod& pod,
                                      std::span<const std::string> node_names,
                                      EvaluationCache& cache) {
  std::vector<Evaluation> evaluations(node_names.size());
  const PodEntry* entry = snapshot.FindPod(pod.uid);
  const bool holds_devices = entry != nullptr && entry->phase != PodPhase::kPending;
  const auto all = cache.EvaluateAll(snapshot, pod);
  const auto indices = cache.IndicesOf(node_names);
  const bool are_expected = snapshot.HasExpectations();
  IsolationCheck isolation(snapshot, pod);
  for (std::size_t i = 0; i < node_names.size(); ++i) {
    const bool is_known = indices[i] != EvaluationCache::kNoIndex;
    if (is_known) evaluations[i] = all[indices[i]];
    if (holds_devices) {
      evaluations[i].reason =
          entry->node_name == node_names[i] ? Reason::kFits : Reason::kPodReservedElsewhere;
      if (evaluations[i].reason != Reason::kFits) evaluations[i].fill_level_permille = -1;
    } else if (is_known && (are_expected || isolation.Minds(evaluations[i].reason))) {
      const Node& node = *snapshot.nodes()[indices[i]];
      std::optional<Node> expected;
      if (are_expected) expected = WithExpected(snapshot, node, pod);
      if (expected) {
        const bool would_fit = evaluations[i].reason == Reason::kFits;
        evaluations[i] = Evaluate(*expected, pod, cache.policy(), cache.model(), cache.prefilter());
        const bool is_held = would_fit && evaluations[i].reason != Reason::kFits &&
                             HasHeldAgainst(snapshot, node, pod);
        if (is_held) evaluations[i].reason = Reason::kDevicesHeld;
      }
      isolation.Restrict(expected ? *expected : node, evaluations[i]);
    }
  }
  return evaluations;
}

}  // namespace offcut::scheduler
