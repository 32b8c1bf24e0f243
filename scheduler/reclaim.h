// Who is evicted for a pod by our own hand (the Eviction API), where kube-scheduler's preemption
// cannot help: it takes lower priorities alone, and sees counts, not places. So a tenant gets back
// its guarantee from borrowers of any priority; and a pod gets a half of a GPU, a share, or what a
// smaller quota leaves to it.
//
// More careful than preemption: a disruption budget is a bar, a node's labels, taints, CPU and
// memory must admit the pod, and nobody is evicted for a pod of which we do not know that it would
// come: one that minds its neighbours, is a part of a gang, or is charged elsewhere. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "scheduler/policy.h"
#include "scheduler/snapshot.h"

namespace offcut::scheduler {

struct ReclaimPlan {
  std::string node;
  std::vector<std::shared_ptr<const Pod>> victims;  // by descending priority, then by UID
  std::vector<RecordedDevice> devices;  // what the pod would get; empty where the kubelet picks
};

// Whether pods may ever be evicted for the pod as it stands: kube-scheduler has refused it, nothing
// is expected for it, and what it would need to come is known to us.
bool MayReclaim(const Snapshot& snapshot, const PodEntry& entry);

// nullopt: it fits somewhere as things are, or no evictions would help. `spared`: UIDs of pods that
// are left alone. Requires: MayReclaim().
std::optional<ReclaimPlan> PlanReclaim(const Snapshot& snapshot, const Pod& pod,
                                       const Policy& policy,
                                       const std::unordered_set<std::string>& spared,
                                       std::int64_t now_s);

// Whether each of the victims that are left of a plan must still go, and may: as when it was made,
// though others have come or gone meanwhile. No UIDs: true.
bool MustStillGo(const Snapshot& snapshot, const Pod& pod, const std::string& node,
                 const std::vector<std::string>& victim_uids, const Policy& policy,
                 std::int64_t now_s);

}  // namespace offcut::scheduler
