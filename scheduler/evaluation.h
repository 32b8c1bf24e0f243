// What one request finds on one node: whether it fits and, if so, what its best placement costs.
// That is a function of the node alone, so that it can be kept while other nodes change. What the
// cluster adds to it, the price of opening a node that is entirely free, is one number for all
// nodes at one instant, and comes in when they are compared. The decisions compare these; which
// devices are taken is only worked out for the node that wins. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>

#include "scheduler/node.h"
#include "scheduler/policy.h"

namespace offcut::scheduler {

// Who has looked at the nodes before us. kube-scheduler's own filters have: then CPU, memory, pod
// count and who tolerates a cordon are its business, and a node without a resource that it counts
// is served by DRA. Nobody has: simulate and explain, where we look at everything ourselves.
enum class Prefilter { kByKubeScheduler, kNone };

struct Evaluation {
  Reason reason = Reason::kNodeUnknown;
  bool prefers_no_schedule = false;  // of the node: has such a taint
  bool opens_whole_node = false;     // the placement does; see scheduler/whole_nodes.h
  std::uint8_t free_gpus = 0;        // entirely, without the pod; 255: so many or more
  // Of the pod's tenant, and so never of a kept evaluation; see scheduler/isolation.h.
  bool is_avoided = false;    // other nodes first, whatever they cost
  std::uint8_t aversion = 0;  // of nodes of equal cost, the one with the least
  // -1: it has no cost, and is not compared. The pod does not fit, or other hands serve its devices
  // there (DRA): that costs us nothing and wins nothing.
  std::int16_t fill_level_permille = -1;  // with the pod on the node
  std::int64_t cost = 0;                  // without that of opening a whole node

  bool has_cost() const { return fill_level_permille >= 0; }
  std::int64_t CostWith(std::int64_t opening_cost) const {
    return cost + (opens_whole_node ? opening_cost : 0);
  }
  bool operator==(const Evaluation&) const = default;
};

Evaluation Evaluate(const Node& node, const Pod& pod, const Policy& policy,
                    const binpack::PackingModel& model, Prefilter prefilter);

// While opening a whole node costs anything, costs are compared in these steps first: 40 milli of a
// GPU, about what a step of FGD's score is. Finer differences are worth less than a hole closed.
inline constexpr std::int64_t kCoarseStep = 400;

// What nodes are compared by before a policy's ties, the least first: those that are not avoided,
// then lowest cost, then least aversion. While opening a whole node costs anything: lowest cost in
// coarse steps, then the fewest free GPUs, so that small pods close the holes in nodes that are
// broken already, and only then the cost itself. Requires: it has a cost.
using Rank = std::tuple<bool, std::int64_t, std::uint8_t, std::int64_t, std::uint8_t>;
Rank RankOf(const Evaluation& evaluation, std::int64_t opening_cost);

// Lowest rank first, then as `policy.ties` says: the order is strict, so that nothing else breaks
// ties. Requires: both have a cost.
bool IsCheaper(const Evaluation& a, std::string_view a_name, const Evaluation& b,
               std::string_view b_name, const Pod& pod, const Policy& policy,
               std::int64_t opening_cost);

// The index of the cheapest, or nullopt where none has a cost. Element i is of node `name_of(i)`.
template <typename NameOf>
std::optional<std::size_t> CheapestOf(std::span<const Evaluation> evaluations, NameOf name_of,
                                      const Pod& pod, const Policy& policy,
                                      std::int64_t opening_cost) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < evaluations.size(); ++i) {
    if (!evaluations[i].has_cost()) continue;
    if (!best || IsCheaper(evaluations[i], name_of(i), evaluations[*best], name_of(*best), pod,
                           policy, opening_cost)) {
      best = i;
    }
  }
  return best;
}

}  // namespace offcut::scheduler
