#include "scheduler/victim_finder.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "scheduler/checked_shape.h"
#include "scheduler/expected_node.h"
#include "scheduler/named_victims.h"
#include "scheduler/node_victims.h"
#include "scheduler/victim_choice.h"

namespace offcut::scheduler {
namespace {

bool DependsOnNeighbours(const Pod& pod, const Node& node, const NamedVictims& named) {
  return pod.minds_neighbours || std::ranges::any_of(named.holders, [&](std::size_t h) {
           return node.holders[h].pod->minds_neighbours;
         });
}

// A set that has all who are named; or, where there is none, one that frees at least what those
// would that were named for the sake of devices.
std::optional<VictimPrice> Choose(VictimChoice& choice, const Pod& pod, const Node& node,
                                  const NamedVictims& named) {
  if (named.units) {
    if (auto best = choice.Best(*named.units, {})) return best;
  }
  if (named.holders.empty() || DependsOnNeighbours(pod, node, named)) return std::nullopt;
  binpack::HostResources must_free;
  for (const std::size_t h : named.holders) must_free += node.holders[h].pod->host;
  return choice.Best({}, must_free);
}

std::vector<std::string> UidsOf(const Units& units, const NodeVictims& victims,
                                std::vector<NamedVictim> others) {
  for (const std::size_t i : units) {
    for (const std::size_t h : victims.units()[i].holders) {
      const Pod& pod = *victims.node().holders[h].pod;
      others.push_back({pod.uid, pod.priority});
    }
  }
  std::ranges::sort(others, [](const NamedVictim& a, const NamedVictim& b) {
    return std::tuple(b.priority, std::string_view(a.uid)) <
           std::tuple(a.priority, std::string_view(b.uid));
  });
  std::vector<std::string> uids;
  uids.reserve(others.size());
  for (NamedVictim& victim : others) uids.push_back(std::move(victim.uid));
  return uids;
}

}  // namespace

VictimFinder::VictimFinder(const Snapshot& snapshot, const Pod& pod, const Policy& policy,
                           Prefilter prefilter, std::int64_t now_s)
    : policy_(policy), prefilter_(prefilter), preemptor_(snapshot, pod, policy, now_s) {}

std::optional<PreemptionCandidate> VictimFinder::Find(const PreemptionCandidate& named) {
  const Snapshot& snapshot = preemptor_.snapshot();
  const Node* node = snapshot.FindNode(named.node_name);
  if (node == nullptr) return std::nullopt;
  const std::optional<Node> expected = WithExpected(snapshot, *node, preemptor_.pod());
  const Node& judged = expected ? *expected : *node;
  auto shape = CheckedShape(judged, preemptor_.pod(), policy_, prefilter_);
  if (!shape) return std::nullopt;
  return Find(judged, *std::move(shape), named);
}

std::optional<PreemptionCandidate> VictimFinder::Find(const Node& node, binpack::RequestShape shape,
                                                      const PreemptionCandidate& named) {
  NodeVictims victims(preemptor_, node, std::move(shape));
  auto read = ReadNamed(preemptor_, node, victims.units(), named.victim_uids);
  if (!read) return std::nullopt;
  for (const std::size_t h : read->lifted) victims.vacancy().Lift(h);
  VictimChoice choice(victims, read->lifted);
  const auto best = Choose(choice, preemptor_.pod(), node, *read);
  if (!best || (named.victim_uids.empty() && best->units.empty())) return std::nullopt;
  const bool is_as_named = best->units == read->units;
  const bool knows_budgets = preemptor_.snapshot().disruption_budgets() != nullptr;
  // kube-scheduler knows its own victims better than we do.
  return PreemptionCandidate{.node_name = node.name(),
                             .victim_uids = UidsOf(best->units, victims, std::move(read->others)),
                             .pdb_violations = is_as_named || !knows_budgets
                                                   ? named.pdb_violations
                                                   : best->pdb_violations};
}

}  // namespace offcut::scheduler
