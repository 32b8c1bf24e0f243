// Where a pod that kube-scheduler has refused could stand once others have left: what evictions and
// holds with a date both ask before they keep or free anything for it. Unlike filter they look at
// labels, taints, CPU and memory themselves, since nobody has done so before them. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/policy.h"
#include "scheduler/snapshot.h"

namespace offcut::scheduler {

// Whether the pod waits for devices, and what it needs to come is known to us: kube-scheduler has
// refused it, it is nominated nowhere and told of no place, and neither its neighbours nor its gang
// decide.
bool WaitsForDevices(const Snapshot& snapshot, const PodEntry& entry);

// By name: where the pod could stand if enough left.
std::vector<const Node*> NodesFor(const Snapshot& snapshot, const Pod& pod);

bool FitsSomewhere(const Snapshot& snapshot, const Pod& pod, std::span<const Node* const> nodes,
                   const Policy& policy);

// The node with those who are expected there (WithExpected), and without the pods of those UIDs.
Node NodeWithout(const Snapshot& snapshot, const Node& node, const Pod& pod,
                 std::span<const std::string> gone_uids);

// What the pod would get there, CPU and memory included; nullopt: it does not fit.
std::optional<binpack::Placement> PlacementOn(const Snapshot& snapshot, const Node& node,
                                              const Pod& pod, const Policy& policy);

}  // namespace offcut::scheduler
