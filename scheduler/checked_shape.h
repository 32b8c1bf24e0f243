// The first half of every decision about a node: what the pod asks of it, or why that cannot be.
// Pure.
#pragma once

#include <expected>

#include "binpack/strategy.h"
#include "scheduler/evaluation.h"

namespace offcut::scheduler {

// The shape that is to be looked for on the node. Host resources are left out where kube-scheduler
// has checked them. Error: the reason why the node is closed to the request, whatever is free.
std::expected<binpack::RequestShape, Reason> CheckedShape(const Node& node, const Pod& pod,
                                                          const Policy& policy,
                                                          Prefilter prefilter);

// What binpack calls an obstacle, as the pod's owner reads it.
Reason ReasonOf(binpack::Obstacle obstacle);

// The strategy's question. `shape` gets the pod's host resources back: whoever checked the CPU,
// what is left of it is part of the cost. All arguments outlive the result.
binpack::PricingInput PricingOf(const Node& node, const Pod& pod,
                                const binpack::PackingModel& model, binpack::RequestShape& shape);

}  // namespace offcut::scheduler
