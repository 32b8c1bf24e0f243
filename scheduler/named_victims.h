// Whom kube-scheduler would evict on a node, as far as we know them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/preemptor.h"
#include "scheduler/victim_units.h"

namespace offcut::scheduler {

struct NamedVictim {
  std::string uid;
  std::int32_t priority = 0;  // the lowest where not known
};

struct NamedVictims {
  std::vector<NamedVictim> others;   // no choice of ours: without devices, or not known
  std::vector<std::size_t> lifted;   // those of them that are holders, as indices
  std::vector<std::size_t> holders;  // who holds devices
  std::optional<Units> units;        // theirs, ascending; nullopt: one of them may not go
};

// nullopt: one of them stands elsewhere or is of no lower priority: no answer for that node.
std::optional<NamedVictims> ReadNamed(const Preemptor& preemptor, const Node& node,
                                      std::span<const VictimUnit> units,
                                      std::span<const std::string> uids);

}  // namespace offcut::scheduler
