// The packing model that decisions on a snapshot go by, and the target workload behind it: what the
// policy declares, else what the pods that run and wait ask for.
//
// A workload that is derived is a function of the snapshot: equal on every replica and after a
// restart, whatever the order of events. It must change seldom, for with it all costs change:
// counts are rounded down to three bits, and there is no memory of what was before. Pods
// without devices do not count. As if they waited too, one of each kind of request that the nodes
// serve is added, so that an empty cluster has a workload as well: one GPU, all GPUs of a node, a
// quarter of one that is shared, a slot, an instance of each profile.
// Pure.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "binpack/packing_model.h"
#include "scheduler/policy.h"
#include "scheduler/snapshot.h"

namespace offcut::scheduler {

// Never null.
std::shared_ptr<const binpack::PackingModel> PackingOf(const Snapshot& snapshot,
                                                       const Policy& policy);

// Of requests that wait and differ in anything, and of nodes that differ in what they offer, no
// more are looked at: the most frequent, and the first by name.
inline constexpr std::size_t kPendingRequestsMax = 500;
inline constexpr std::size_t kNodeKindsMax = 64;
inline constexpr std::size_t kCapacitiesMax = 32;  // models of GPUs that are told apart

// What is expected of the nodes and pods of the snapshot. Some milliseconds for 5,000 nodes.
binpack::Outlook DeriveOutlook(const Snapshot& snapshot);

// The model for the snapshot, be it the one that it has already; null where the strategy reads no
// workload. Prepares another only where the workload has become another, in some milliseconds.
std::shared_ptr<const binpack::PackingModel> RenewedPacking(const Snapshot& snapshot,
                                                            const Policy& policy);

// Sixteen hexadecimal digits: what stands for the workload in records. Empty: the model reads none.
std::string WorkloadText(const binpack::PackingModel& model);

}  // namespace offcut::scheduler
