// Nodes that are entirely free, as the cluster's part of a cost; see binpack/whole_node_price.h.
// A node that takes no pod counts as none of them: what nobody can have is no reserve. Pods that
// are only expected on a node take nothing from it here. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "binpack/packing_model.h"
#include "binpack/strategy.h"
#include "scheduler/node.h"

namespace offcut::scheduler {

bool IsFreeWhole(const Node& node, const binpack::PackingModel& model);

std::int64_t CountFreeWhole(std::span<const std::shared_ptr<const Node>> nodes,
                            const binpack::PackingModel& model);

// Whether the placement of that price leaves one of them fewer for who wants it whole.
bool OpensWholeNode(const Node& node, const binpack::Price& price);

}  // namespace offcut::scheduler
