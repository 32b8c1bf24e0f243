// Whose pods hold devices of a node, and where on it they may meet: what rules of sharing read.
//
// Where the kubelet picks the device, any two pods that hold slots of a node may end on one GPU,
// whatever is on record; so the commons of a node are told apart by kind, not by GPU.
// Pure; not synchronised.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "binpack/node_state.h"
#include "binpack/request_shape.h"
#include "scheduler/pod.h"

namespace offcut::scheduler {

// Sets of devices of one node on which pods share a device, as bits; 0: on none, each has its
// devices for itself. From kReplicas on a bit stands for a pool of replicas of MIG instances; pools
// beyond the last bit share it.
using Commons = std::uint64_t;
inline constexpr Commons kTimeSlices = 1;
inline constexpr Commons kMpsSlots = 2;
inline constexpr Commons kFractions = 4;
inline constexpr Commons kReplicas = 8;
// Replicas are time-sliced, too: the device plugin refuses MPS on MIG.
inline constexpr Commons kAllTimeSlices = ~(kMpsSlots | kFractions);

// Where the pod would be, and where one that holds the placement is.
Commons CommonsOf(const binpack::NodeState& devices, const binpack::RequestShape& shape);
Commons CommonsOf(const binpack::NodeState& devices, const binpack::Placement& placement);

// All of a pod that may lead to its tenant: pods that agree in it are of one, whatever the policy.
struct Owner {
  std::string name_space;
  std::string tenant_label;
  std::string queue;  // Pod::admitted_queue
  auto operator<=>(const Owner&) const = default;
};

// The pods of one owner.
struct Occupant {
  std::uint64_t hash = 0;  // of the owner
  Commons commons = 0;     // where any of them is
  Owner owner;

  bool operator==(const Occupant&) const = default;
};

// Ordered by hash and owner; each once.
using Occupants = std::vector<Occupant>;

void AddOccupant(const Pod& pod, Commons commons, Occupants& occupants);

}  // namespace offcut::scheduler
