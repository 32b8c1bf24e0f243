// The first half of every decision about a node: what the pod asks of it, or why that cannot be.
// Pure.
#pragma once

#include <expected>

#include "scheduler/decision.h"

namespace offcut::scheduler {

// The shape that is to be looked for on the node. Host resources are left out where kube-scheduler
// has checked them. Error: the reason why the node is closed to the request, whatever is free.
std::expected<binpack::RequestShape, Reason> CheckedShape(const Node& node, const Pod& pod,
                                                          const Policy& policy,
                                                          Prefilter prefilter);

}  // namespace offcut::scheduler
