// The price of opening an entirely free node, by how many are left.
//
// What a node by itself loses to a pod of one GPU says nothing of how many other nodes could still
// hold the jobs that want all GPUs of one. Where pods come and go, each that opens a whole node
// while a broken one had room leaves a hole that nobody closes again, so the free GPUs end up on
// many nodes, and no job of whole nodes fits. So the potential of a cluster is the sum over its
// nodes plus G(F), a term for the F nodes that are entirely free: what the missing ones cost,
//   G(F) = CostAt(F + 1) + CostAt(F + 2) + ... + CostAt(T),
// where T such jobs are expected. Opening one of F raises it by CostAt(F).
// Units: costs as in offcut_pricing.h, ten-thousandths of a GPU. Pure values.
#pragma once

#include <cstdint>
#include <span>

#include "binpack/compact_node.h"
#include "binpack/target_workload.h"

namespace offcut::binpack {

struct WholeNodePrice {
  int gpus = 0;               // of such a node; 0: no node has a price
  std::int64_t expected = 0;  // pods that want one, if the cluster is full of what is expected

  // Whether it is one of those nodes, and entirely free.
  bool IsFreeWhole(const CompactNode& node) const {
    return gpus > 0 && std::ssize(node.gpus) == gpus && node.free_gpus == gpus;
  }

  // What it costs to open one of so many that are entirely free, in whole steps of the cost. 0: as
  // many as expected are free, or there are no such nodes; else positive.
  std::int64_t CostAt(std::int64_t free_nodes) const;
};

// The nodes are those of the largest number of GPUs that a noteworthy part of the demand wants, all
// of one node; see kWholeNodeDemandPermille. `node_sizes`: how many GPUs nodes have, of those that
// can be wanted whole. `capacity`: GPUs of the cluster.
WholeNodePrice MakeWholeNodePrice(const TargetWorkload& workload, std::span<const int> node_sizes,
                                  std::int64_t capacity);

// Of the GPUs that are asked for. One node larger than all others, which somebody may once have
// asked for, must not put an end to the price of the others.
inline constexpr std::int64_t kWholeNodeDemandPermille = 10;

}  // namespace offcut::binpack
