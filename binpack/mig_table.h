// Strategies for MIG as tables: for each layout of a GPU and each profile, what an instance costs
// the future and where it should start. A decision is then one look-up a GPU.
//
// The potentials behind them are those of mig_potential.h; `offcut` is mig_mean_field.h. First fit
// and best fit are the textbooks'.
// Units: a cost has its strategy's own; lower is better. Memory slices, thousandths of all slices.
// Pure; not synchronised.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "binpack/mig_layouts.h"
#include "binpack/mig_potential.h"

namespace offcut::binpack {

struct MigOffer {
  std::int64_t cost = 0;
  int start = 0;
  int layout_after = 0;
  bool operator==(const MigOffer&) const = default;
};

struct MigTable {
  std::vector<std::vector<std::optional<MigOffer>>> offers;  // [layout][profile]; null: no room
  // Of equal costs the GPU with fewer free slices comes first. In any case the lowest index does
  // among what is still equal.
  bool prefers_full = false;
};

MigTable FirstFitTable(const MigLayouts& layouts);  // any GPU, lowest start
MigTable BestFitTable(const MigLayouts& layouts);   // fewest free slices, highest start
// The start that raises the potential least, the highest of several; prefers full.
MigTable TableOf(const MigLayouts& layouts, const LayoutPotential& potential);

// One strategy's tables for one workload. A table is meant for a cluster that is as full as `fill`
// says; strategies that do not look at the cluster have one.
struct MigLevel {
  int fill_permille = 0;
  MigTable table;
};
struct MigStrategy {
  std::string_view name;
  std::vector<MigLevel> levels;  // at least one, ascending
};

// "mig-first-fit", "mig-best-fit", "mfi", "fgd-mask", "cap-mask", "offcut".
std::span<const std::string_view> MigStrategyNames();

// The strategy of that name, or nullopt. First fit, best fit and MFI ignore the weights; the
// layouts must know every profile with a weight above 0.
std::optional<MigStrategy> MakeMigStrategy(std::string_view name, const MigLayouts& layouts,
                                           const ProfileWeights& weights);

// The table of the level whose fill is nearest; the lower one of two.
const MigTable& TableAt(const MigStrategy& strategy, std::int64_t slices_used, std::int64_t slices);

struct MigPick {
  int gpu = 0;
  MigOffer offer;
  bool operator==(const MigPick&) const = default;
};

// The GPU that takes the profile at the least cost, or nullopt where none has room. Element i of
// `gpus` is the layout of GPU i.
std::optional<MigPick> PickGpu(const MigLayouts& layouts, const MigTable& table,
                               std::span<const int> gpus, int profile);

}  // namespace offcut::binpack
