// A node as a set of bins: its GPUs, what each of them can be and what of it is taken, and the CPU,
// memory and pod count beside them.
//
// What surprises: under NVIDIA's stock device plugin nobody sees which GPU carries a MIG instance,
// nor at which slice it starts. Such instances are an InstancePool, known by count alone. Where an
// agent obeys us, MIG GPUs stand in `gpus` with every start known.
//
// Units: MiB, percent of a GPU's cores, memory slices, thousandths of a CPU, bytes.
// Pure; not synchronised.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "binpack/gpu_model.h"
#include "binpack/mig_states.h"

namespace offcut::binpack {

// What a pod asks of a node, or a node has, beside devices.
struct HostResources {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t pods = 0;

  HostResources& operator+=(const HostResources& other);
  bool operator==(const HostResources&) const = default;
};

enum class GpuHealth {
  kHealthy,
  kUnhealthy,  // takes no new pod; its holders stay
  kCordoned,   // likewise, by a person's wish
};

// Given to one pod, or to none.
struct WholeGpu {
  bool taken = false;
  bool operator==(const WholeGpu&) const = default;
};

// In MIG mode, where an agent makes the instances that we ask for. `instances` are those in use;
// every other slice is free. Ordered by start.
struct MigGpu {
  std::vector<MigInstance> instances;
  bool operator==(const MigGpu&) const = default;
};

enum class Sharing { kTimeSlicing, kMps };

struct SharedGpu {
  Sharing sharing = Sharing::kTimeSlicing;
  int slots = 0;
  int slots_used = 0;  // at most `slots`
  bool operator==(const SharedGpu&) const = default;
};

// Shared by MiB and percent of cores, as HAMi enforces them.
struct FractionalGpu {
  int memory_mib_used = 0;
  int cores_percent = 100;  // what the GPU has; an agent may oversubscribe it
  int cores_percent_used = 0;
  int sharers_max = 0;
  int sharers = 0;
  bool operator==(const FractionalGpu&) const = default;
};

struct Gpu {
  std::shared_ptr<const GpuModel> model;  // null: no model of ours, and so no MIG
  std::string product;                    // as BaseProduct gives it: "Tesla-T4"
  std::string uuid;                       // empty: not known
  int memory_mib = 0;
  GpuHealth health = GpuHealth::kHealthy;
  std::variant<WholeGpu, MigGpu, SharedGpu, FractionalGpu> state;

  bool operator==(const Gpu&) const = default;
};

// Whether a pod could not tell one GPU from the other but by its UUID, nor a later pod.
bool Interchangeable(const Gpu& a, const Gpu& b);

// MIG instances, or replicas of them, that the device plugin counts under one resource name.
struct InstancePool {
  std::string profile;      // "1g.5gb"
  int memory_slices = 0;    // of one instance; 0: not known
  int replicas = 1;         // units that share an instance
  int units = 0;            // healthy ones: what the node offers as allocatable
  int units_unhealthy = 0;  // beyond those
  int units_used = 0;       // may pass `units` where used ones fell ill
  bool operator==(const InstancePool&) const = default;
};

// Who turns a request into devices. The kubelet picks by its own rule, so that a placement is only
// assumed; the scheduler's choice is obeyed.
enum class DevicePicker { kKubelet, kScheduler };

struct NodeState {
  HostResources allocatable;
  HostResources used;
  std::vector<Gpu> gpus;
  std::vector<InstancePool> pools;
  std::shared_ptr<const GpuModel> pool_model;  // of the GPUs that carry the pools; may be null
  std::string pool_product;                    // likewise, as BaseProduct gives it
  DevicePicker picker = DevicePicker::kKubelet;

  bool operator==(const NodeState&) const = default;
};

// Exact unit of GPU capacity: lcm of the 7 and 8 slices and the 100 percent that GPUs are cut into.
inline constexpr int kGpuUnits = 1400;

// What of the GPU is taken, 0..kGpuUnits: slices of memory for MIG, slots, or the larger of memory
// and cores.
int UsedUnits(const Gpu& gpu);
int UsedUnits(const InstancePool& pool, const GpuModel* model);

// The same over all GPUs and pools of the node, and what it has in all. Unhealthy ones count.
std::int64_t UsedUnits(const NodeState& node);
std::int64_t TotalUnits(const NodeState& node);

// The node with nothing taken, or with every device healthy.
NodeState Emptied(NodeState node);
NodeState Healed(NodeState node);

}  // namespace offcut::binpack
