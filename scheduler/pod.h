// A pod as the decisions see it: what its containers ask for, who it is, and what is on record for
// it. Names of resources stay names here: what `nvidia.com/gpu: 1` means depends on the node.
// Pure values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "binpack/request_shape.h"
#include "scheduler/device_record.h"
#include "scheduler/hold.h"
#include "scheduler/label_selector.h"
#include "scheduler/node_match.h"

namespace offcut::scheduler {

struct ResourceCount {
  std::string resource;    // "nvidia.com/mig-1g.5gb"
  std::int64_t count = 0;  // positive
  bool operator==(const ResourceCount&) const = default;
};

enum class ContainerKind {
  kApp,
  kInit,     // runs to its end before the app containers start
  kSidecar,  // an init container with restartPolicy Always: runs beside all that come after it
};

// What one container asks for: requests, or limits where only those are given.
struct ContainerRequest {
  std::string name;
  ContainerKind kind = ContainerKind::kApp;
  std::vector<ResourceCount> devices;           // counted resources of ours, by name
  std::optional<binpack::Fraction> fraction;    // gpumem, gpumem-percentage or gpucores asked;
                                                // then `devices` does not have the GPU count
  std::vector<ResourceCount> unshared_devices;  // with a fraction: `devices` and the GPU count
  binpack::HostResources host;                  // its CPU and memory; pods 0
  bool operator==(const ContainerRequest&) const = default;
};

// What the whole pod asks for at once.
struct DeviceRequest {
  std::vector<ResourceCount> devices;        // by name, ascending; each name once
  std::vector<binpack::Fraction> fractions;  // one a container
  // With fractions: what the kubelet gives where nobody serves them, which is whole GPUs, or slots.
  std::vector<ResourceCount> unshared_devices;
  binpack::GpuConstraint constraint;

  bool empty() const { return devices.empty() && fractions.empty(); }
  bool operator==(const DeviceRequest&) const = default;
};

// What a pod says that it uses of each GPU's memory, whether or not anybody holds it to that.
struct DeclaredMemory {
  int mib = 0;               // 0: not said
  int share_millionths = 0;  // of the memory of the whole GPU; 0: not said
  bool operator==(const DeclaredMemory&) const = default;
};

// A GPU that the kubelet says a container got.
struct ObservedDevice {
  std::string gpu_uuid;  // "GPU-..."; without the number of a replica
  bool is_unhealthy = false;
  bool operator==(const ObservedDevice&) const = default;
};

struct Pod {
  std::string uid;
  std::string name_space;
  std::string name;
  std::string node_name;            // spec.nodeName; empty: not bound
  std::string nominated_node_name;  // status.nominatedNodeName; empty: none
  std::int32_t priority = 0;
  bool is_terminating = false;  // has a deletionTimestamp; holds its devices until gone
  bool is_finished = false;     // phase Succeeded or Failed: holds nothing
  // It stands on a node, and what it asks for cannot be read: it may hold anything there.
  bool is_unreadable = false;
  bool has_unreadable_shares = false;  // likewise, but of what only nodes with fractions serve
  bool has_soft_constraints = false;   // preferred affinity or ScheduleAnyway spread of its own
  bool selects_nodes = false;          // by nodeSelector, or by affinity that is required
  // Where it may stand depends on which pods are there: host ports, required (anti-)affinity to
  // pods, spread that is DoNotSchedule.
  bool minds_neighbours = false;
  std::string tenant_label;      // offcut.dev/tenant; empty: none
  bool has_quota_gate = false;   // spec.schedulingGates has offcut.dev/quota
  bool has_other_gates = false;  // and gates of others
  std::string gang;              // pods of its namespace that start together; empty: none
  int gang_min_count = 0;        // how many of them at least; 0: not known
  std::string owner_uid;         // of its controller; empty: none
  std::string kueue_workload;    // annotation kueue.x-k8s.io/workload; empty: none
  std::string kueue_queue;       // label kueue.x-k8s.io/cluster-queue-name; empty: none
  // The queue that was charged for it elsewhere, as scheduler/admissions.h knows; empty: none. Set
  // by the snapshot.
  std::string admitted_queue;
  // What kube-scheduler last wrote about why it waits (condition PodScheduled); for people.
  std::string unscheduled_message;
  bool never_preempts = false;  // preemptionPolicy Never: nobody is evicted for it
  std::int64_t created_s = 0;   // creationTimestamp, seconds since 1970
  std::int64_t started_s = 0;   // status.startTime; 0: not started
  std::int64_t run_s_max = 0;   // spec.activeDeadlineSeconds, from its start; 0: no limit
  // When it must have ended, were it started now; seconds since 1970, 0: not known. Set by whoever
  // asks about it now.
  std::int64_t would_end_s = 0;
  NodeRules node_rules;      // of a pod on no node
  std::optional<Hold> hold;  // of its annotations, where they are readable; likewise
  std::vector<ContainerRequest> containers;  // init containers first, in the order of the spec
  DeviceRequest request;
  DeclaredMemory declared_memory;        // beside the fractions of the request
  binpack::HostResources host;           // effective, overhead included; pods 1
  std::optional<DeviceRecord> record;    // of its annotations, where they are readable
  Labels labels;                         // of a pod on a node; what budgets select it by
  std::vector<ObservedDevice> observed;  // of its status, in its order; MIG instances left out
  bool operator==(const Pod&) const = default;
};

// Sets when the pod must have ended, were it started at `now_s`.
void SetWouldEnd(Pod& pod, std::int64_t now_s);

// What the containers ask for together: app containers and sidecars are summed, an init container
// counts by its maximum with the sidecars started before it.
// Source: Kubernetes, "Resource sharing within containers" of init and sidecar containers.
// Counts saturate at INT64_MAX.
DeviceRequest EffectiveRequest(const std::vector<ContainerRequest>& containers,
                               binpack::GpuConstraint constraint);

// The same for CPU and memory, plus `overhead`; pods is 1.
binpack::HostResources EffectiveHost(const std::vector<ContainerRequest>& containers,
                                     const binpack::HostResources& overhead);

}  // namespace offcut::scheduler
