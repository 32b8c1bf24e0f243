#include "binpack/mig_potential.h"

#include <algorithm>
#include <cstddef>

#include "binpack/indexing.h"

namespace offcut::binpack {
namespace {

// A sum over the profiles, for each layout.
template <typename Term>
LayoutPotential SumOverProfiles(const MigLayouts& layouts, Term term) {
  LayoutPotential potential(layouts.layouts.size());
  for (int i = 0; std::int64_t& sum : potential) {
    for (const int p : layouts.profiles) sum += term(i, p);
    ++i;
  }
  return potential;
}

// Adds copies in ascending order of start, so that each set is met once.
int Copies(const MigLayouts& layouts, int layout, int profile, int first_start) {
  int most = 0;
  for (const LayoutStep& step : At(At(layouts.layouts, layout).steps, profile)) {
    if (step.start < first_start) continue;
    most = std::max(most, 1 + Copies(layouts, step.layout, profile, step.start + 1));
  }
  return most;
}

}  // namespace

int CopiesThatFit(const MigLayouts& layouts, int layout, int profile) {
  return Copies(layouts, layout, profile, 0);
}

LayoutPotential MfiPotential(const MigLayouts& layouts) {
  return SumOverProfiles(layouts, [&](int i, int p) -> std::int64_t {
    const MigLayout& layout = At(layouts.layouts, i);
    const MigProfile& profile = At(layouts.model->profiles, p);
    if (profile.memory_slices > layout.free_slices) return 0;
    const auto blocked = std::ranges::count_if(profile.starts, [&](int start) {
      return (layout.used_slices & SliceMask({start, profile.memory_slices})) != 0;
    });
    return profile.memory_slices * blocked;
  });
}

LayoutPotential FgdPotential(const MigLayouts& layouts, const ProfileWeights& weights) {
  return SumOverProfiles(layouts, [&](int i, int p) -> std::int64_t {
    const MigLayout& layout = At(layouts.layouts, i);
    return At(layout.steps, p).empty() ? At(weights, p) * layout.free_slices : 0;
  });
}

LayoutPotential CapPotential(const MigLayouts& layouts, const ProfileWeights& weights) {
  return SumOverProfiles(layouts, [&](int i, int p) -> std::int64_t {
    const int slices = At(layouts.model->profiles, p).memory_slices;
    return At(weights, p) *
           (At(layouts.layouts, i).free_slices - slices * CopiesThatFit(layouts, i, p));
  });
}

}  // namespace offcut::binpack
