// A node as the decisions see it: an inventory that its labels, allocatable and annotations give,
// and the pods that hold parts of it.
//
// Code that decides never asks which agent runs the devices: what matters of it (who picks, which
// knowledge is exact) stands as values in the inventory.
// Pure; not synchronised.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "binpack/compact_node.h"
#include "binpack/fragmentation.h"
#include "binpack/node_state.h"
#include "binpack/placement.h"
#include "scheduler/charge.h"
#include "scheduler/node_match.h"
#include "scheduler/occupants.h"
#include "scheduler/pod.h"
#include "scheduler/reason.h"
#include "scheduler/shared_value.h"

namespace offcut::scheduler {

enum class OfferKind {
  kWholeGpus,
  kSlots,
  kInstances,        // of a pool, which nobody but the kubelet tells apart
  kPlacedInstances,  // of a profile: we choose the GPU and the start, and its agent makes them
  kFullShares,       // of all of a GPU's memory: what a GPU that an agent shares is, unless less is
                     // asked for
};

// What one unit of an extended resource is on this node.
struct Offer {
  std::string resource;  // "nvidia.com/gpu"
  OfferKind kind = OfferKind::kWholeGpus;
  int pool = -1;                   // kInstances: index in NodeState::pools
  bool one_per_container = false;  // the device plugin fails containers that ask for more
  std::string profile = {};        // kPlacedInstances: a name, or an alias, of the GPUs' models
  bool operator==(const Offer&) const = default;
};

struct Inventory {
  std::string name;
  std::string agent = "nvidia";  // for records and for people; no decision reads it
  std::optional<Reason> closed;  // the node takes no pod that asks for devices, and why; cordoned,
                                 // where nothing else closes it, closes it to some pods only
  bool serves_fractions = false;
  bool prefers_no_schedule = false;  // has a taint of effect PreferNoSchedule
  bool is_spot = false;              // the provider may take the node back (spot, preemptible)
  SharedValue<NodeMarks> marks;
  std::vector<Offer> offers;   // by resource name, ascending
  binpack::NodeState devices;  // nothing taken

  bool operator==(const Inventory&) const = default;
};

// A pod on a node.
struct Holder {
  std::shared_ptr<const Pod> pod;
  std::optional<DeviceRecord> record;  // of this pod on this node; none: bound by others
  binpack::Placement placement;        // as far as it could be placed
  // The placement is the record's. False with a record: it names what is not there, is taken by
  // another, or is not what the pod asks for, amounts included; the pod is then placed like one
  // bound by others.
  bool follows_record = false;
  // The placement is what the kubelet reports: a UUID for each piece. Empty: it is not.
  std::vector<std::string> observed_uuids;
  bool is_drifted = false;   // and the kubelet chose other GPUs than the record says
  bool is_unplaced = false;  // asks for devices, and the node as we know it has no room for them
  PodCharge charge;          // of the placement; of one that is not placed, what its like would be
};

// The order in which holders are put back on an empty node: what the kubelet reports first, then
// what is on record, those that are only expected last; by age.
bool ComesBefore(const Holder& a, const Holder& b);

struct Node {
  Inventory inventory;
  std::vector<Holder> holders;   // ordered by ComesBefore
  binpack::NodeState state;      // the inventory with the holders on it
  binpack::CompactNode compact;  // of `state`, and the kinds of its holders
  std::optional<Reason> closed;  // the inventory's reason, or that a holder is unreadable
  SlotsCharged slots_charged;
  std::uint64_t charge_key = 0;  // equal where equal requests are expected to be charged the same
  std::uint64_t kind_hash = 0;   // likewise, and where they would share devices alike
  Occupants occupants;           // of holders that hold devices, or ask for some

  const std::string& name() const { return inventory.name; }
  binpack::NodeView view() const { return {state, compact}; }
};

// The node with those holders: places each by its record, else as the picker would. Deterministic:
// the result depends on the set of holders, not on the order in which they came.
Node BuildNode(Inventory inventory, std::vector<Holder> holders);

// What a pod would be charged for the placement, beside those who hold parts of the node.
PodCharge ChargeOn(const Node& node, const binpack::Placement& placement);

const Offer* FindOffer(const Inventory& inventory, std::string_view resource);  // nullptr: none

// What a pod asks of this node, by what the node's resource names mean.
struct NodeShape {
  binpack::RequestShape shape;       // without what the node does not offer
  std::optional<Reason> mismatch;    // why the request makes no sense on this node's devices
  std::vector<std::string> missing;  // resources that the node does not offer
};
NodeShape ShapeOn(const Inventory& inventory, const Pod& pod);

// The pieces that a record names, or nullopt where it names what the node does not have.
std::optional<binpack::Placement> PlacementOf(const Inventory& inventory,
                                              const DeviceRecord& record);

// Those devices of the node, where they are free and are what the pod asks for; else nullopt.
std::optional<binpack::Placement> FreePlacement(const Node& node, const Pod& pod,
                                                std::vector<RecordedDevice> devices);

}  // namespace offcut::scheduler
