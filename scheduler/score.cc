#include <algorithm>
#include <optional>

#include "scheduler/checked_shape.h"
#include "scheduler/decision.h"
#include "scheduler/isolation.h"
#include "scheduler/whole_nodes.h"

namespace offcut::scheduler {
namespace {

// A pod's own soft wishes are in other scorers; a strict ten would outvote them.
bool HasSoftWishes(const Pod& pod, std::span<const Evaluation> evaluations) {
  return pod.has_soft_constraints ||
         std::ranges::any_of(evaluations, &Evaluation::prefers_no_schedule);
}

// Adds what the pod's tenant wishes of the nodes. How welcome a node is matters among those of
// equal cost alone, so where only the best counts it is worked out for the cheapest.
void AddWishes(const Snapshot& snapshot, std::span<const std::size_t> indices, bool only_the_best,
               std::int64_t opening_cost, IsolationCheck& isolation,
               std::span<Evaluation> evaluations) {
  const auto node_of = [&](std::size_t i) -> const Node& { return *snapshot.nodes()[indices[i]]; };
  std::optional<Rank> best;
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    Evaluation& each = evaluations[i];
    if (!each.has_cost()) continue;
    each.is_avoided = isolation.Avoids(node_of(i));
    const Rank rank = RankOf(each, opening_cost);
    if (!best || rank < *best) best = rank;
  }
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    Evaluation& each = evaluations[i];
    if (!each.has_cost() || (only_the_best && RankOf(each, opening_cost) != *best)) continue;
    each.aversion = isolation.AversionTo(node_of(i));
  }
}

// The distinct ranks, spread over kScoreMax..0.
void ScoreByRank(std::span<const Evaluation> evaluations, std::int64_t opening_cost,
                 std::vector<std::int64_t>& scores) {
  std::vector<Rank> distinct;
  for (const Evaluation& each : evaluations) {
    if (each.has_cost()) distinct.push_back(RankOf(each, opening_cost));
  }
  std::ranges::sort(distinct);
  distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
  const auto steps = std::max<std::int64_t>(1, std::ssize(distinct) - 1);
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    if (!evaluations[i].has_cost()) continue;
    const auto rank =
        std::ranges::lower_bound(distinct, RankOf(evaluations[i], opening_cost)) - distinct.begin();
    scores[i] = kScoreMax - kScoreMax * rank / steps;
  }
}

std::vector<std::int64_t> ScoresOf(const Pod& pod, std::span<const std::string> node_names,
                                   std::span<const Evaluation> evaluations, const Policy& policy,
                                   std::int64_t opening_cost, bool by_rank) {
  std::vector<std::int64_t> scores(node_names.size(), 0);
  if (by_rank) {
    ScoreByRank(evaluations, opening_cost, scores);
    return scores;
  }
  const auto name_of = [&](std::size_t i) { return std::string_view(node_names[i]); };
  const auto best = CheapestOf(evaluations, name_of, pod, policy, opening_cost);
  if (best) scores[*best] = kScoreMax;
  return scores;
}

}  // namespace

NodeCost CostOf(const Node& node, const Pod& pod, const Policy& policy,
                const binpack::PackingModel& model, Prefilter prefilter) {
  auto shape = CheckedShape(node, pod, policy, prefilter);
  if (!shape || binpack::FindObstacle(node.state, *shape) != binpack::Obstacle::kNone) return {};
  auto choice = binpack::Choose(PricingOf(node, pod, model, *shape));
  if (!choice) return {};
  return {.fits = true,
          .cost = choice->price.cost,
          .fill_level_permille = choice->price.fill_level_permille,
          .opens_whole_node = OpensWholeNode(node, choice->price),
          .terms = std::move(choice->terms),
          .placement = std::move(choice->placement)};
}

std::vector<std::int64_t> Score(const Snapshot& snapshot, const Pod& pod,
                                std::span<const std::string> node_names, const Policy& policy,
                                Prefilter prefilter) {
  if (pod.request.empty()) return std::vector<std::int64_t>(node_names.size(), 0);
  EvaluationCache cache(policy, prefilter);
  return Score(snapshot, pod, node_names, cache);
}

std::vector<std::int64_t> Score(const Snapshot& snapshot, const Pod& pod,
                                std::span<const std::string> node_names, EvaluationCache& cache) {
  if (pod.request.empty()) return std::vector<std::int64_t>(node_names.size(), 0);
  std::vector<Evaluation> evaluations = EvaluateNames(snapshot, pod, node_names, cache);
  const Policy& policy = cache.policy();
  const std::int64_t opening_cost = cache.opening_cost();
  const bool by_rank = policy.scores == Scores::kProportional || HasSoftWishes(pod, evaluations);
  if (IsolationCheck isolation(snapshot, pod); isolation.HasWishes()) {
    const std::vector<std::size_t> indices = cache.IndicesOf(node_names);
    AddWishes(snapshot, indices, !by_rank, opening_cost, isolation, evaluations);
  }
  return ScoresOf(pod, node_names, evaluations, policy, opening_cost, by_rank);
}

}  // namespace offcut::scheduler
