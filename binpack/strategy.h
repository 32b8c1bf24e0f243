// A strategy: of the placements that a node offers, the one that costs the future least, and what
// it costs, so that nodes can be compared. Lower cost is better; costs are integers, so that equal
// means equal.
//
// A strategy has no state of its own: what it says is a function of the PackingModel, the node and
// the request. A further one is a type in a file like baseline_pricing.h and a row in the table; if
// it needs tables, they are members of PackingModel, prepared with it. Pure; thread-safe by being
// so.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "binpack/candidate.h"
#include "binpack/packing_model.h"

namespace offcut::binpack {

struct CostTerm {
  std::string_view name;  // of static storage
  std::int64_t value = 0;
};

// What one decision is about.
struct PricingInput {
  const PackingModel& model;
  NodeView node;
  const RequestShape& shape;
  std::uint64_t draw = 0;  // a random number of this decision and this node; see Draw()
};

struct Price {
  std::int64_t cost = 0;
  int fill_level_permille = 0;  // with the pod on the node; 0 on one without devices
  // It takes a part of a node that is entirely free: what that costs, PackingModel::whole_nodes
  // says, by how many others there are. Not a part of `cost`.
  bool opens_whole_node = false;
};

struct Choice {
  Placement placement;
  Price price;
  std::vector<CostTerm> terms;  // add up to the cost
};

struct Strategy {
  std::string_view name;
  bool is_offered = false;  // to the server's policy; all are offered to simulations
  bool is_random = false;   // draws, so that a price holds for one decision only
  bool reads_workload = false;
  bool breaks_ties_by_name = false;  // packs better so than by fill level first
  bool prices_whole_nodes = false;   // see whole_node_price.h
  std::optional<Price> (*price)(const PricingInput& input);
  std::optional<Choice> (*choose)(const PricingInput& input);
};

std::span<const Strategy> Strategies();
const Strategy* FindStrategy(std::string_view name);  // nullptr: none of that name

// The best placement by the model's strategy, or what it costs. nullopt: the shape has no placement
// on the node. The two agree; the second builds nothing.
std::optional<Choice> Choose(const PricingInput& input);
std::optional<Price> PriceOf(const PricingInput& input);

// The random number of a decision on a node: a hash, so that it depends on nothing else, least of
// all on the order in which nodes are looked at. `decision` is the pod's UID.
std::uint64_t Draw(std::uint64_t seed, std::string_view decision, std::string_view node_name);

// A second draw, of the same decision and node.
std::uint64_t NextDraw(std::uint64_t draw, std::uint64_t number);

}  // namespace offcut::binpack
