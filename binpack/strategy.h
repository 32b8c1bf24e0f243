// A strategy: of the placements that a node offers, the one that costs the future least, and what
// it costs, so that nodes can be compared. Lower cost is better; costs are integers, so that equal
// means equal. A further strategy is one function and one row in the table.
// Pure; not synchronised.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "binpack/placement.h"

namespace offcut::binpack {

struct CostTerm {
  std::string_view name;  // of static storage
  std::int64_t value = 0;
};

struct Choice {
  Placement placement;
  std::int64_t cost = 0;
  std::vector<CostTerm> terms;  // add up to the cost
};

struct CostWeights {
  int gpu = 1;
  int cpu = 1;
};

// nullopt: the shape has no placement on the node.
using ChooseFunction = std::optional<Choice> (*)(const NodeState& node, const RequestShape& shape,
                                                 CostWeights weights);

struct Strategy {
  std::string_view name;
  ChooseFunction choose;
};

std::span<const Strategy> Strategies();
const Strategy* FindStrategy(std::string_view name);  // nullptr: none of that name

// How full the node's devices would be, in thousandths; what strict ties fall back on (fuller
// first). A node without devices is 0.
int FillLevelPermille(const NodeState& node, const Placement& placement);

}  // namespace offcut::binpack
