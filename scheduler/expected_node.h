// A node as a pod that is only asked about sees it: with the pods that are expected there. Pure.
#pragma once

#include <optional>

#include "scheduler/snapshot.h"

namespace offcut::scheduler {

// The node with every pod on it that `pod` must make way for: claims of others, and nominated pods
// of higher or equal priority; of equals that are nominated there like the pod itself, the earlier
// ones by age and UID. nullopt: there are none, the node is as it stands.
std::optional<Node> WithExpected(const Snapshot& snapshot, const Node& node, const Pod& pod);

}  // namespace offcut::scheduler
