#include <algorithm>
#include <cassert>
#include <numeric>

#include "scheduler/checked_shape.h"
#include "scheduler/decision.h"
#include "scheduler/expected_node.h"

namespace offcut::scheduler {
namespace {

// Lowest cost first; the rest makes the order strict, so that nothing else breaks ties.
bool IsCheaper(const NodeCost& a, const std::string& a_name, const NodeCost& b,
               const std::string& b_name, Ties ties) {
  if (a.cost != b.cost) return a.cost < b.cost;
  if (ties == Ties::kStrict && a.fill_level_permille != b.fill_level_permille) {
    return a.fill_level_permille > b.fill_level_permille;
  }
  return a_name < b_name;
}

// A pod's own soft wishes are in other scorers; a strict ten would outvote them.
bool HasSoftWishes(const Snapshot& snapshot, const Pod& pod,
                   std::span<const std::string> node_names) {
  if (pod.has_soft_constraints) return true;
  return std::ranges::any_of(node_names, [&](const std::string& name) {
    const Node* node = snapshot.FindNode(name);
    return node != nullptr && node->inventory.prefers_no_schedule;
  });
}

// Ranks of the distinct costs, spread over kScoreMax..0.
void ScoreByRank(const std::vector<NodeCost>& costs, std::vector<std::int64_t>& scores) {
  std::vector<std::int64_t> distinct;
  for (const NodeCost& cost : costs) {
    if (cost.fits) distinct.push_back(cost.cost);
  }
  std::ranges::sort(distinct);
  distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
  const auto steps = std::max<std::int64_t>(1, std::ssize(distinct) - 1);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (!costs[i].fits) continue;
    const auto rank = std::ranges::lower_bound(distinct, costs[i].cost) - distinct.begin();
    scores[i] = kScoreMax - kScoreMax * rank / steps;
  }
}

}  // namespace

NodeCost CostOf(const Node& node, const Pod& pod, const Policy& policy, Prefilter prefilter) {
  const auto shape = CheckedShape(node, pod, policy, prefilter);
  if (!shape || binpack::FindObstacle(node.state, *shape) != binpack::Obstacle::kNone) return {};
  const binpack::Strategy* strategy = binpack::FindStrategy(policy.strategy);
  assert(strategy != nullptr);
  auto costed = *shape;
  costed.host = pod.host;  // whoever checked the CPU, what is left of it is part of the cost
  auto choice = strategy->choose(node.state, costed, {policy.weights.gpu, policy.weights.cpu});
  if (!choice) return {};
  return {.fits = true,
          .cost = choice->cost,
          .fill_level_permille = binpack::FillLevelPermille(node.state, choice->placement),
          .terms = std::move(choice->terms),
          .placement = std::move(choice->placement)};
}

std::vector<std::int64_t> Score(const Snapshot& snapshot, const Pod& pod,
                                std::span<const std::string> node_names, const Policy& policy,
                                Prefilter prefilter) {
  std::vector<std::int64_t> scores(node_names.size(), 0);
  if (pod.request.empty()) return scores;
  std::vector<NodeCost> costs(node_names.size());
  const auto verdicts = Filter(snapshot, pod, node_names, policy, prefilter);
  for (std::size_t i = 0; i < node_names.size(); ++i) {
    const Node* node = snapshot.FindNode(node_names[i]);
    if (verdicts[i].fits() && node != nullptr) {
      const std::optional<Node> expected = WithExpected(snapshot, *node, pod);
      costs[i] = CostOf(expected ? *expected : *node, pod, policy, prefilter);
    }
    // A node where other hands serve the devices (DRA) costs us nothing and wins nothing either.
    if (costs[i].placement.pieces.empty()) costs[i].fits = false;
  }
  if (policy.scores == Scores::kProportional || HasSoftWishes(snapshot, pod, node_names)) {
    ScoreByRank(costs, scores);
    return scores;
  }
  std::size_t best = node_names.size();
  for (std::size_t i = 0; i < node_names.size(); ++i) {
    if (costs[i].fits &&
        (best == node_names.size() ||
         IsCheaper(costs[i], node_names[i], costs[best], node_names[best], policy.ties))) {
      best = i;
    }
  }
  if (best < node_names.size()) scores[best] = kScoreMax;
  return scores;
}

}  // namespace offcut::scheduler
