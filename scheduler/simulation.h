// A cluster under arrivals and departures, decided by the code that the server decides with: an
// EvaluationCache looks for the node, Reserve() gives the devices.
//
// One pod at a time, on all nodes; nobody has filtered before us. A pod that fits nowhere has
// failed: nobody tries it again. No clock: whoever counts time does it outside.
// Pure; not synchronised.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "scheduler/arrival_curve.h"
#include "scheduler/evaluation_cache.h"
#include "scheduler/snapshot.h"

namespace offcut::scheduler {

// Sums over all nodes, in kGpuUnits a GPU.
struct ClusterTotals {
  std::int64_t capacity_units = 0;
  std::int64_t used_units = 0;
  std::int64_t free_units = 0;          // of devices that take pods, on nodes that do
  std::int64_t weighted_fragments = 0;  // sum of F(M); see binpack/fragmentation.h

  // Neither used nor free: unhealthy, or on a node that takes no pod.
  std::int64_t closed_units() const { return capacity_units - used_units - free_units; }
  bool operator==(const ClusterTotals&) const = default;
};

// What the curves of a simulation are made of; `requests` is how many the workload counts, which
// the fragments are weighted by. Without any nothing is fragmented.
double FragmentedUnits(const ClusterTotals& totals, std::int64_t requests);
CurvePoint PointOf(const ClusterTotals& totals, std::int64_t requests);

// Pods that hold devices on the nodes.
std::int64_t CountHolders(const Snapshot& snapshot);

class Simulation {
 public:
  // The policy, with the workload that fragments are measured by, outlives the simulation.
  Simulation(Snapshot start, const Policy& policy);

  // Places the pod, or returns an empty name: it fits nowhere. Requires: its UID is new.
  std::string_view Arrive(const Pod& pod);

  // The pod has left. Requires: it was placed.
  void Depart(std::string_view uid);

  const Snapshot& snapshot() const { return snapshot_; }
  const ClusterTotals& totals() const { return totals_; }

 private:
  void Count(const Node& node, std::int64_t sign);

  Snapshot snapshot_;
  const Policy& policy_;
  EvaluationCache cache_;
  ClusterTotals totals_;
};

}  // namespace offcut::scheduler
