#include "binpack/mig_table.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <tuple>
#include <utility>

#include "binpack/indexing.h"
#include "binpack/mig_mean_field.h"

namespace offcut::binpack {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"mig-first-fit", "mig-best-fit", "mfi",
                                                    "fgd-mask",      "cap-mask",     "offcut"};

MigTable EmptyTable(const MigLayouts& layouts) {
  MigTable table;
  table.offers.resize(layouts.layouts.size());
  for (auto& row : table.offers) row.resize(layouts.model->profiles.size());
  return table;
}

// A table of what `offer` says of each layout and profile with room.
template <typename Offer>
MigTable Fill(const MigLayouts& layouts, Offer offer) {
  MigTable table = EmptyTable(layouts);
  for (int i = 0; const MigLayout& layout : layouts.layouts) {
    for (const int p : layouts.profiles) {
      const std::vector<LayoutStep>& steps = At(layout.steps, p);
      if (!steps.empty()) At(At(table.offers, i), p) = offer(i, steps);
    }
    ++i;
  }
  return table;
}

MigStrategy OneLevel(std::string_view name, MigTable table) {
  MigStrategy strategy{.name = name, .levels = {}};
  strategy.levels.push_back({.fill_permille = 0, .table = std::move(table)});
  return strategy;
}

MigStrategy Offcut(const MigLayouts& layouts, const ProfileWeights& weights) {
  MigStrategy strategy{.name = "offcut", .levels = {}};
  for (const MeanFieldLevel& level : SolveMeanField(layouts, weights)) {
    strategy.levels.push_back({level.fill_permille, TableOf(layouts, level.potential)});
  }
  return strategy;
}

}  // namespace

MigTable FirstFitTable(const MigLayouts& layouts) {
  return Fill(layouts, [](int, const std::vector<LayoutStep>& steps) {
    return MigOffer{.cost = 0, .start = steps.front().start, .layout_after = steps.front().layout};
  });
}

MigTable BestFitTable(const MigLayouts& layouts) {
  return Fill(layouts, [&](int i, const std::vector<LayoutStep>& steps) {
    return MigOffer{.cost = At(layouts.layouts, i).free_slices,
                    .start = steps.back().start,
                    .layout_after = steps.back().layout};
  });
}

MigTable TableOf(const MigLayouts& layouts, const LayoutPotential& potential) {
  MigTable table = Fill(layouts, [&](int i, const std::vector<LayoutStep>& steps) {
    const LayoutStep* best = &steps.front();
    for (const LayoutStep& step : steps) {
      if (At(potential, step.layout) <= At(potential, best->layout)) best = &step;
    }
    return MigOffer{.cost = At(potential, best->layout) - At(potential, i),
                    .start = best->start,
                    .layout_after = best->layout};
  });
  table.prefers_full = true;
  return table;
}

std::span<const std::string_view> MigStrategyNames() { return kNames; }

std::optional<MigStrategy> MakeMigStrategy(std::string_view name, const MigLayouts& layouts,
                                           const ProfileWeights& weights) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  switch (found - kNames.begin()) {
    case 0:
      return OneLevel(*found, FirstFitTable(layouts));
    case 1:
      return OneLevel(*found, BestFitTable(layouts));
    case 2:
      return OneLevel(*found, TableOf(layouts, MfiPotential(layouts)));
    case 3:
      return OneLevel(*found, TableOf(layouts, FgdPotential(layouts, weights)));
    case 4:
      return OneLevel(*found, TableOf(layouts, CapPotential(layouts, weights)));
    default:
      return Offcut(layouts, weights);
  }
}

const MigTable& TableAt(const MigStrategy& strategy, std::int64_t slices_used,
                        std::int64_t slices) {
  assert(!strategy.levels.empty());
  const auto distance = [&](const MigLevel& level) {
    const std::int64_t above = 1000 * slices_used - level.fill_permille * slices;
    return std::max(above, -above);
  };
  return std::ranges::min_element(strategy.levels, {}, distance)->table;
}

std::optional<MigPick> PickGpu(const MigLayouts& layouts, const MigTable& table,
                               std::span<const int> gpus, int profile) {
  std::optional<MigPick> best;
  const auto rank = [&](int gpu, const MigOffer& offer) {
    const int layout = gpus[static_cast<std::size_t>(gpu)];
    return std::tuple(offer.cost, table.prefers_full ? At(layouts.layouts, layout).free_slices : 0,
                      gpu);
  };
  for (int g = 0; const int layout : gpus) {
    const std::optional<MigOffer>& offer = At(At(table.offers, layout), profile);
    if (offer && (!best || rank(g, *offer) < rank(best->gpu, best->offer))) {
      best = MigPick{.gpu = g, .offer = *offer};
    }
    ++g;
  }
  return best;
}

}  // namespace offcut::binpack
