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
  evaluation.fill_level_permille = price->fill_level_permille;
  evaluation.opens_whole_node = OpensWholeNode(node, *price);
  constexpr std::int32_t free_gpus_max = std::numeric_limits<std::uint8_t>::max();
  evaluation.free_gpus = static_cast<std::uint8_t>(std::min(node.compact.free_gpus, free_gpus_max));
  return evaluation;
}

bool IsCheaper(const Evaluation& a, std::string_view a_name, const Evaluation& b,
               std::string_view b_name, const Pod& pod, const Policy& policy,
               std::int64_t opening_cost) {
  const std::int64_t a_cost = a.CostWith(opening_cost);
  const std::int64_t b_cost = b.CostWith(opening_cost);
  if (opening_cost > 0) {
    const std::int64_t a_steps = binpack::CeilDiv(a_cost, kCoarseStep);
    const std::int64_t b_steps = binpack::CeilDiv(b_cost, kCoarseStep);
    if (a_steps != b_steps) return a_steps < b_steps;
    if (a.free_gpus != b.free_gpus) return a.free_gpus < b.free_gpus;
  }
  if (a_cost != b_cost) return a_cost < b_cost;
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
