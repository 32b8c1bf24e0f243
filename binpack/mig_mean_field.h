// What a layout of a GPU is worth to a cluster of its like: the potential of the strategy `offcut`.
//
// One GPU among kPeers, each in its own random layout (a mean field). Pods of each profile arrive
// by chance in the workload's proportions, stay for a life of mean one, and take the GPU where they
// cost least; one that no GPU has room for is lost. h(s) is how many pods fewer are lost, over one
// mean life to come, because a GPU is in layout s. It satisfies
//
//   (1 + instances(s)) h(s) = sum over its instances i of h(s without i)
//                           + sum over profiles p of arrivals(p) x E[ (C(p) - c(p, s))+ ]
//
// with c(p, s) = min over starts of h(s) - h(s with p), the cost of p here, and C(p) what it would
// cost on the cheapest of the other GPUs: 1, the pod itself, where none has room (then c is paid
// even above 1: a pod that fits is never refused). So a GPU is credited with what its room spares
// the others, as the bidder of a second-price auction is, and not with pods they would have taken.
// How often the others are in which layout follows from the same choices, by balance of arrivals
// and exits; both are iterated together with falling steps.
//
// This is one step of policy improvement over independent GPUs, repeated until it reproduces
// itself; our own derivation, in the manner of Whittle's index and of shadow prices in loss
// networks (Kelly 1988). Constants are the same for every model and workload: chosen on the mixes
// of the churn yardstick with seeds apart from those that results are given for.
//
// Solved at three loads, since room for a 7g that is worth keeping in a half-full cluster costs
// more small pods than it saves in an overfull one. The fill that each load leads to is part of the
// solution, and is how the level is told from the state of a cluster. No higher load: its prices
// give the largest profile up, and a cluster that is only busy for a moment would, too.
// Floating point inside; results are integers. Some 10 ms a level for a 7-slice part. Pure.
#pragma once

#include <vector>

#include "binpack/mig_potential.h"

namespace offcut::binpack {

// Arriving slices by mean life in thousandths of the slices there are.
inline constexpr int kLoadsPermille[] = {850, 1000, 1100};

struct MeanFieldLevel {
  int fill_permille = 0;      // of the slices, how many are in use on average at that load
  LayoutPotential potential;  // -h, in millionths of a pod; 0 for the empty GPU
};

// One level for each of kLoadsPermille, in that order.
// Requires: `layouts` know every profile with a weight above 0.
std::vector<MeanFieldLevel> SolveMeanField(const MigLayouts& layouts,
                                           const ProfileWeights& weights);

}  // namespace offcut::binpack
