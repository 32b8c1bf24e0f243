// All that a strategy knows besides the node and the request: prepared once for a strategy and a
// target workload, then shared and never changed. A decision reads tables here and computes none.
//
// This is a strategy's whole state. What it makes of a node is a function of this model, of the
// node and of the request; never of earlier decisions, of the order of nodes, or of a clock.
// A strategy that needs further tables (prices of residuals, costs of MIG masks) adds a member.
// Immutable; may be shared between threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "binpack/fragmentation.h"
#include "binpack/potential.h"
#include "binpack/target_workload.h"
#include "binpack/whole_node_price.h"

namespace offcut::binpack {

struct Strategy;

// What best fit minimises: weight times the normalised leftover. Not both are 0.
struct CostWeights {
  int gpu = 1;
  int cpu = 1;
  bool operator==(const CostWeights&) const = default;
};

// FGD's score of a change of fragmentation d, in GPUs a request of the workload: floor(100 s(d))
// with the logistic function s. One step is about 0.04 GPUs near 0. The rounding is part of the
// strategy: it makes small gains ties, which then keep to nodes that are in use.
struct GradientScale {
  static constexpr int kScoreMax = 99;
  // Element i: the least sum of F(M) before less F(M) after that scores i + 1.
  std::array<std::int64_t, kScoreMax> least{};

  int ScoreOf(std::int64_t decrease) const;  // 0..kScoreMax
};

struct PackingModel {
  const Strategy* strategy = nullptr;  // of Strategies()
  CostWeights weights;
  std::uint64_t seed = 0;  // of strategies that draw
  TargetWorkload workload;
  std::uint64_t workload_hash = 0;
  std::vector<GpuCapacity> capacities;  // of the outlook
  std::vector<int> node_sizes;          // of the outlook
  ClassTable classes;
  GradientScale gradient;
  PotentialTables potential;   // of the strategy offcut
  WholeNodePrice whole_nodes;  // likewise
};

// What the strategy offcut is prepared for. Its workload covers more than FGD's: the few jobs that
// want whole nodes are most of what fragments cost.
struct Outlook {
  TargetWorkload workload;
  std::vector<GpuCapacity> capacities;
  // How many GPUs nodes have whose GPUs are all given whole or by percent; each number once,
  // ascending. Empty: no node has a price as a whole.
  std::vector<int> node_sizes;
};

// `before` changes nothing but the time that it takes: tables that stay equal are shared.
// nullptr: no strategy has that name. Without a workload every placement is as good as any other to
// FGD.
std::shared_ptr<const PackingModel> PreparePacking(
    std::string_view strategy_name, CostWeights weights = {}, TargetWorkload workload = {},
    std::uint64_t seed = 0, const Outlook& outlook = {}, const PackingModel* before = nullptr);

}  // namespace offcut::binpack
