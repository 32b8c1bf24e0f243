// Of nodes where evictions would let a pod in, the one that kube-scheduler would choose. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace offcut::scheduler {

// What kube-scheduler weighs of a victim.
struct VictimFact {
  std::int32_t priority = 0;
  std::int64_t start_s = 0;  // when it started; seconds of any clock
};

// A node, and who would be evicted there. Owns nothing.
struct NodeVictims {
  std::string_view node;
  std::int64_t pdb_violations = 0;
  std::span<const VictimFact> victims;  // in any order
};

// The index of the node with, in this order: the fewest violations of disruption budgets; the
// lowest priority of its highest victim; the lowest sum of priorities, each raised by 2^31 so that
// none is below 0; the fewest victims; the latest start, that of a node being the earliest of its
// victims of the highest priority. Of nodes that are equal in all of that kube-scheduler takes any;
// here it is the lowest name. nullopt: there is no node.
// Source: kube-scheduler, pickOneNodeForPreemption.
std::optional<std::size_t> PickNode(std::span<const NodeVictims> nodes);

}  // namespace offcut::scheduler
