#include "scheduler/simulation.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "scheduler/decision.h"
#include "scheduler/isolation.h"

namespace offcut::scheduler {

double FragmentedUnits(const ClusterTotals& totals, std::int64_t requests) {
  if (requests == 0) return 0;
  return static_cast<double>(totals.weighted_fragments) / static_cast<double>(requests);
}

CurvePoint PointOf(const ClusterTotals& totals, std::int64_t requests) {
  const auto percent = [](double part, std::int64_t whole) {
    return whole == 0 ? 0 : 100 * part / static_cast<double>(whole);
  };
  const double fragmented = FragmentedUnits(totals, requests);
  return {
      .allocated_percent = percent(static_cast<double>(totals.used_units), totals.capacity_units),
      .fragmentation_percent = percent(fragmented, totals.capacity_units),
      .fragmentation_rate_percent = percent(fragmented, totals.free_units)};
}

std::int64_t CountHolders(const Snapshot& snapshot) {
  std::int64_t count = 0;
  for (const auto& node : snapshot.nodes()) {
    count += std::ranges::count_if(node->holders, [](const Holder& holder) {
      return holder.is_unplaced || !holder.placement.pieces.empty();
    });
  }
  return count;
}

Simulation::Simulation(Snapshot start, const Policy& policy)
    : snapshot_(std::move(start)), policy_(policy), cache_(policy, Prefilter::kNone) {
  for (const auto& node : snapshot_.nodes()) Count(*node, 1);
}

void Simulation::Count(const Node& node, std::int64_t sign) {
  totals_.capacity_units += sign * node.compact.total_units;
  totals_.used_units += sign * node.compact.used_units;
  if (node.closed) return;
  totals_.free_units += sign * node.compact.free_units;
  totals_.weighted_fragments +=
      sign * binpack::Fragmentation(policy_.packing->classes, node.view());
}

std::string_view Simulation::Arrive(const Pod& pod) {
  std::span<const Evaluation> evaluations = cache_.EvaluateAll(snapshot_, pod);
  const auto nodes = snapshot_.nodes();
  std::vector<Evaluation> restricted;
  if (IsolationCheck isolation(snapshot_, pod); isolation.HasRules()) {
    restricted.assign(evaluations.begin(), evaluations.end());
    for (std::size_t i = 0; i < nodes.size(); ++i) isolation.Restrict(*nodes[i], restricted[i]);
    evaluations = restricted;
  }
  const auto name_of = [&](std::size_t i) { return std::string_view(nodes[i]->name()); };
  const auto best = CheapestOf(evaluations, name_of, pod, policy_, cache_.opening_cost());
  if (!best) return {};
  const std::string node_name = nodes[*best]->name();
  Count(*nodes[*best], -1);
  const Reservation reservation = Reserve(snapshot_, pod, node_name, policy_, Prefilter::kNone);
  assert(reservation.verdict.fits());
  const Node* node = snapshot_.FindNode(node_name);
  Count(*node, 1);
  return node->name();
}

void Simulation::Depart(std::string_view uid) {
  const PodEntry* entry = snapshot_.FindPod(uid);
  assert(entry != nullptr && entry->phase != PodPhase::kPending);
  const std::string node_name = entry->node_name;
  Count(*snapshot_.FindNode(node_name), -1);
  snapshot_.RemovePod(uid);
  Count(*snapshot_.FindNode(node_name), 1);
}

}  // namespace offcut::scheduler
