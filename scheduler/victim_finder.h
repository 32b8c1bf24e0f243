// Finds who must leave a node so that a pod fits there, by devices, isolation and quota at once:
// for each place that could serve the pod those that stand on it, and of all such sets the one that
// costs least. None of a set can be left out (quota/victims.h gives back who went in vain); where
// several places are asked for together it need not be the smallest.
//
// Sets are compared by, in this order: whether anybody goes who does not leave already; violations
// of disruption budgets; the highest priority among them; how many are of tenants within their
// guarantee; how many there are; the GPU time that is lost; what of GPUs they give up; their UIDs.
// So one instance of 3g goes before two of 1g.
//
// Where kube-scheduler names victims of its own, they stay, and others join them where they do not
// suffice. Where one of them may not go, or is on the wrong device, those of them that hold devices
// are swapped for others that free at least as much CPU and memory; not where what kube-scheduler
// weighs of neighbours (host ports, required affinity, spreading) may depend on who leaves.
// Pure; not synchronised.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "binpack/request_shape.h"
#include "scheduler/evaluation.h"
#include "scheduler/policy.h"
#include "scheduler/preemptor.h"
#include "scheduler/snapshot.h"

namespace offcut::scheduler {

// A node of kube-scheduler's preemption, and who would be evicted there.
struct PreemptionCandidate {
  std::string node_name;
  std::vector<std::string> victim_uids;
  std::int64_t pdb_violations = 0;
};

// One pod's question to many nodes. All arguments outlive the object.
class VictimFinder {
 public:
  VictimFinder(const Snapshot& snapshot, const Pod& pod, const Policy& policy, Prefilter prefilter,
               std::int64_t now_s);

  // Victims by descending priority, then by UID. `named`: who kube-scheduler would evict there;
  // those that we do not know are kept, and free nothing that we know of. nullopt: evictions there
  // cannot help, or are not needed and nobody was named.
  std::optional<PreemptionCandidate> Find(const PreemptionCandidate& named);
  // The same on that node, for what the pod asks of it.
  std::optional<PreemptionCandidate> Find(const Node& node, binpack::RequestShape shape,
                                          const PreemptionCandidate& named);

 private:
  const Policy& policy_;
  const Prefilter prefilter_;
  Preemptor preemptor_;
};

}  // namespace offcut::scheduler
