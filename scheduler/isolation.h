// What beside room decides whether a pod may go to a node: how well it is kept apart there, from
// whom, how much memory a slot has, and whether the provider may take the node back. And which of
// several nodes suits it better by these.
//
// It reads the pod's tenant and the tenancy, which change while a node does not, and so it stands
// beside the evaluations that are kept.
// Pure; not synchronised.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "scheduler/evaluation.h"
#include "scheduler/snapshot.h"
#include "scheduler/tenancy.h"

namespace offcut::scheduler {

// How well a pod is kept apart that shares these; kHardware where it shares nothing.
IsolationLevel LevelOf(Commons commons);

// MiB of one slot where `slots` share that much: what MPS leaves each, and all that can be promised
// where nobody is held to it.
std::int64_t SlotMemoryMib(std::int64_t memory_mib, int slots);

// One pod's question to many nodes: what is the same on nodes that are alike is worked out once.
// All arguments outlive the object.
class IsolationCheck {
 public:
  IsolationCheck(const Snapshot& snapshot, const Pod& pod);

  // False: no rule narrows down where the pod may go.
  bool HasRules() const { return has_rules_; }
  // Whether Restrict() could change the reason, whatever the node.
  bool Minds(Reason reason) const { return has_rules_ || reason == Reason::kFractionsNotServed; }

  // The verdict of the devices, or the rule that speaks against the node where it could serve the
  // pod now or later. Holders and those who are expected are the node's.
  Verdict Restrict(Verdict by_devices, const Node& node) {
    return Restrict(by_devices, node, node.occupants);
  }
  // The same where those occupy the node.
  Verdict Restrict(Verdict by_devices, const Node& node, const Occupants& occupants);
  void Restrict(const Node& node, Evaluation& evaluation);

  // False: one node is as welcome as the other.
  bool HasWishes() const { return has_wishes_; }

  // Whether the pod's tenant wants other nodes first, whatever they cost.
  bool Avoids(const Node& node) const;

  // Which of two nodes of equal cost is the less welcome: the higher. First whether the pod would
  // share with whom it should not; then whether those who borrow are kept together, so that to
  // reclaim what they hold frees whole placements.
  std::uint8_t AversionTo(const Node& node);

 private:
  // What holds on all nodes that are alike.
  struct OnKind {
    Commons commons = 0;
    Reason reason = Reason::kFits;  // of the rules that the node's holders are no matter to
    bool borrows = false;           // the pod's charge would be more than its tenant has
  };
  struct KnownOwner {
    Owner owner;
    int tenant = kNoTenant;
  };

  const OnKind& OnKindOf(const Node& node);
  Reason StaticReason(const binpack::NodeState& devices, const binpack::RequestShape& shape,
                      Commons commons) const;
  bool ExceedsSlots(const binpack::NodeState& devices, const binpack::RequestShape& shape) const;
  bool Exceeds(std::int64_t memory_mib, int slots) const;
  bool Borrows(const binpack::NodeState& devices, const binpack::RequestShape& shape) const;
  bool SharesAgainst(const SharingRule& rule, Commons commons, const Occupants& occupants);
  bool SharesAgainstRules(Commons commons, const Occupants& occupants, bool is_required);
  std::uint8_t AversionToHolders(const Node& node, bool borrows);
  int TenantOfOccupant(const Occupant& occupant);
  bool IsBorrower(int tenant);

  const Snapshot& snapshot_;
  const Pod& pod_;
  const Tenancy* tenancy_;  // nullptr: there are no tenants
  IsolationRules rules_;
  TenantRules tenant_rules_;
  Owner owner_;  // of the pod
  int tenant_ = kNoTenant;
  bool has_rules_ = false;
  bool has_wishes_ = false;
  std::unordered_map<std::uint64_t, OnKind> by_kind_;       // by Node::kind_hash
  std::unordered_map<std::uint64_t, KnownOwner> by_owner_;  // by Occupant::hash
  std::unordered_map<int, bool> borrowers_;                 // by tenant
};

}  // namespace offcut::scheduler
