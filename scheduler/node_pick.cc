#include "scheduler/node_pick.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace offcut::scheduler {
namespace {

// The least is picked.
auto KeyOf(const NodeVictims& node) {
  constexpr std::int64_t shift = std::int64_t{1} << 31;
  std::int32_t highest = std::numeric_limits<std::int32_t>::min();
  std::int64_t sum = 0;
  for (const VictimFact& victim : node.victims) {
    highest = std::max(highest, victim.priority);
    sum += victim.priority + shift;
  }
  std::int64_t start_s = std::numeric_limits<std::int64_t>::max();
  for (const VictimFact& victim : node.victims) {
    if (victim.priority == highest) start_s = std::min(start_s, victim.start_s);
  }
  // ~ reverses the order, and has no value that overflows.
  return std::tuple(node.pdb_violations, highest, sum, node.victims.size(), ~start_s, node.node);
}

}  // namespace

std::optional<std::size_t> PickNode(std::span<const NodeVictims> nodes) {
  if (nodes.empty()) return std::nullopt;
  const auto picked = std::ranges::min_element(nodes, {}, KeyOf);
  return static_cast<std::size_t>(picked - nodes.begin());
}

}  // namespace offcut::scheduler
