#include "scheduler/evaluation.h"

#include <algorithm>
#include <limits>

#include "binpack/integer_division.h"
#include "scheduler/checked_shape.h"
#include "scheduler/whole_nodes.h"

namespace offcut::scheduler {

Evaluation Evaluate(const Node& node, const Pod& pod, const Policy& policy,
                    const binpack::PackingModel& model, Prefilter prefilter) {
  auto shape = CheckedShape(node, pod, policy, prefilter);
  Evaluation evaluation{.prefers_no_schedule = node.inventory.prefers_no_schedule};
  if (!shape) {
    evaluation.reason = shape.error();
    return evaluation;
  }
  evaluation.reason = ReasonOf(binpack::FindObstacle(node.state, *shape));
  const bool is_ours = pod.request.empty() || shape->AsksForDevices();
  if (evaluation.reason != Reason::kFits || !is_ours) return evaluation;
  const auto price = binpack::PriceOf(PricingOf(node, pod, model, *shape));
  if (!price) return evaluation;
  evaluation.cost = price->cost;
  evaluation.fill_level_permille = static_cast<std::int16_t>(price->fill_level_permille);
  evaluation.opens_whole_node = OpensWholeNode(node, *price);
  constexpr std::int32_t free_gpus_max = std::numeric_limits<std::uint8_t>::max();
  evaluation.free_gpus = static_cast<std::uint8_t>(std::min(node.compact.free_gpus, free_gpus_max));
  return evaluation;
}

Rank RankOf(const Evaluation& evaluation, std::int64_t opening_cost) {
  const std::int64_t cost = evaluation.CostWith(opening_cost);
  if (opening_cost <= 0) return {evaluation.is_avoided, 0, 0, cost, evaluation.aversion};
  return {evaluation.is_avoided, binpack::CeilDiv(cost, kCoarseStep), evaluation.free_gpus, cost,
          evaluation.aversion};
}

bool IsCheaper(const Evaluation& a, std::string_view a_name, const Evaluation& b,
               std::string_view b_name, const Pod& pod, const Policy& policy,
               std::int64_t opening_cost) {
  const Rank a_rank = RankOf(a, opening_cost);
  const Rank b_rank = RankOf(b, opening_cost);
  if (a_rank != b_rank) return a_rank < b_rank;
  const Ties ties = TiesOf(policy);
  if (ties == Ties::kStrict && a.fill_level_permille != b.fill_level_permille) {
    return a.fill_level_permille > b.fill_level_permille;
  }
  if (ties == Ties::kRandom) {
    const std::uint64_t a_draw = binpack::Draw(policy.packing->seed, pod.uid, a_name);
    const std::uint64_t b_draw = binpack::Draw(policy.packing->seed, pod.uid, b_name);
    if (a_draw != b_draw) return a_draw < b_draw;
  }
  return a_name < b_name;
}

}  // namespace offcut::scheduler
