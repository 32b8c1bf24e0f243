// What a pod asks for in terms of GPUs, whatever the resource is called: for a target workload and
// for counting how much has been asked for. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "binpack/potential.h"
#include "binpack/target_workload.h"
#include "scheduler/snapshot.h"

namespace offcut::scheduler {

struct Demand {
  binpack::ExpectedRequest request;
  std::int64_t units = 0;     // kGpuUnits a GPU
  bool fits_no_node = false;  // not even an empty one: what it asks for cannot be told
};

// What its request means on the first node that could hold it if it were empty and healthy. One
// that no node could hold, even empty, asks for nothing as far as we can tell. A pod that asks for
// devices of several kinds counts as asking for the first.
Demand DemandOf(const Snapshot& snapshot, const Pod& pod);

// "no GPU", "share", "1 GPU", "8 GPUs", "2 slots", "1 x 1g.5gb", kUnplaceable: by what failures
// are told.
std::string ClassNameOf(const Demand& demand);
inline constexpr std::string_view kUnplaceable = "unplaceable";  // fits no node

// What the request means on that node, if it were empty and healthy; nullopt: it could not hold it.
// UUIDs that the pod names do not count.
std::optional<Demand> DemandOn(const Inventory& inventory, const Pod& pod);

// What the pod asks for by what it has been given on a node of these devices. Requires: a piece.
Demand DemandOf(const binpack::NodeState& devices, const binpack::Placement& placement,
                const Pod& pod);

// The GPUs of the cluster by model and product, in the order in which they first stand on the
// nodes.
std::vector<binpack::GpuCapacity> CapacitiesOf(const Snapshot& snapshot);

// How many GPUs nodes have, as binpack::Outlook counts them.
std::vector<int> NodeSizesOf(const Snapshot& snapshot);

}  // namespace offcut::scheduler
