// Potentials over the layouts of a GPU in MIG mode: what a layout is worth giving up. An instance
// costs what it raises the potential by, so a sum over GPUs is the potential of a cluster.
//
// Sources: MFI is Zambianco et al., arXiv 2511.18906 (its formula as far as what is public shows
// it); the FGD mask is the measure of "Beware of Fragmentation" (USENIX ATC '23) on one GPU; the
// CAP mask counts copies where FGD asks for one fit. Units: memory slices, times a weight where
// there are weights. Pure; not synchronised.
#pragma once

#include <cstdint>
#include <vector>

#include "binpack/mig_layouts.h"

namespace offcut::binpack {

// How often each profile is asked for: element i is the weight of the model's profile i. Weights
// are not negative, add up to at most kProfileWeightsMax, and at least one is above 0.
using ProfileWeights = std::vector<std::int64_t>;
inline constexpr std::int64_t kProfileWeightsMax = 1'000'000;

using LayoutPotential = std::vector<std::int64_t>;  // element i: of layout i

// Sum over the layouts' profiles that no more than the free slices would hold, of slices times the
// legal starts that overlap a used slice. 0 for an empty GPU and for a full one.
LayoutPotential MfiPotential(const MigLayouts& layouts);

// Sum over the profiles of weight times the free slices where the profile does not fit.
LayoutPotential FgdPotential(const MigLayouts& layouts, const ProfileWeights& weights);

// Sum over the profiles of weight times the free slices that as many copies of it as fit leave.
LayoutPotential CapPotential(const MigLayouts& layouts, const ProfileWeights& weights);

// The most instances of the profile that fit beside what the layout has.
int CopiesThatFit(const MigLayouts& layouts, int layout, int profile);

}  // namespace offcut::binpack
