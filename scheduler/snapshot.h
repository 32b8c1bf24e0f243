// Everything that a decision reads, at one instant: nodes with the pods that hold parts of them,
// and the pods that wait. Keyed as Kubernetes keys them: nodes by name, pods by UID.
//
// A published snapshot never changes. An edit works on a copy, which costs a few hundred pointers,
// and one a node where nodes change; it replaces the nodes and pods that it touches and shares all
// others.
//
// A pod's life:  pending --Reserve--> reserved --Confirm--> bound --deletion--> terminating -->
// gone
//                   ^------Unreserve-----'        (whoever bound it)
//
// Pure; const use from many threads is safe, edits happen inside StateStore::Update.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "binpack/packing_model.h"
#include "scheduler/accounts.h"
#include "scheduler/admissions.h"
#include "scheduler/disruption_budget.h"
#include "scheduler/expectations.h"
#include "scheduler/node.h"
#include "scheduler/pod.h"
#include "scheduler/resource_quota.h"
#include "scheduler/workload_pods.h"

namespace offcut::scheduler {

enum class PodPhase {
  kPending,      // holds nothing
  kReserved,     // we chose devices, and the binding is on its way
  kBound,        // spec.nodeName is set
  kTerminating,  // likewise, and deletion has begun: holds until gone
};

inline constexpr std::array kPodPhases = {PodPhase::kPending, PodPhase::kReserved, PodPhase::kBound,
                                          PodPhase::kTerminating};

// "pending", "reserved", "bound", "terminating".
std::string_view NameOf(PodPhase phase);

struct PodEntry {
  std::shared_ptr<const Pod> pod;
  PodPhase phase = PodPhase::kPending;
  std::string node_name;  // empty while pending
};

class Snapshot {
 public:
  // Ordered by name.
  std::span<const std::shared_ptr<const Node>> nodes() const { return *nodes_; }
  const Node* FindNode(std::string_view name) const;    // nullptr: not known
  const PodEntry* FindPod(std::string_view uid) const;  // nullptr: not known
  std::size_t pod_count() const { return pod_count_; }

  std::span<const Expectation> ExpectedOn(std::string_view node_name) const {
    return expectations_->On(node_name);
  }
  bool HasExpectations() const { return !expectations_->empty(); }
  bool IsClaimed(std::string_view uid) const { return expectations_->IsClaimed(uid); }
  bool IsHeld(std::string_view uid) const { return expectations_->IsHeld(uid); }
  bool IsNominationLapsed(std::string_view uid, std::string_view node_name) const {
    return expectations_->IsLapsed(uid, node_name);
  }

  // What costs go by, where it follows from the pods and nodes; null: what the policy says. It is a
  // part of the state so that a decision reads both at one instant; scheduler/packing.h makes it.
  const std::shared_ptr<const binpack::PackingModel>& packing() const { return packing_; }
  void SetPacking(std::shared_ptr<const binpack::PackingModel> packing) {
    packing_ = std::move(packing);
  }

  // What tenants are charged; nullptr: there are no tenants.
  const Accounts* accounts() const { return accounts_.get(); }
  // Other tenants, or other quotas of them, from now on: whatever is held is charged to them, and
  // nothing is taken from anybody. nullptr: none.
  void SetTenancy(std::shared_ptr<const Tenancy> tenancy);

  // What is charged elsewhere, from now on: known pods are charged anew. nullptr: nothing.
  void SetAdmissions(std::shared_ptr<const Admissions> admissions);
  const std::shared_ptr<const Admissions>& admissions() const { return admissions_; }
  // The queue that was charged for the pod; empty: none. Of the known pods of a Workload as many as
  // it was charged for have one, by creation time and UID; a pod that is not known yet is judged as
  // if it were. A pod that is gone, or has finished, leaves its place to the next.
  std::string_view QueueOf(const Pod& pod) const;
  // Whether one that is beyond those of the pod's Workload holds devices: whoever is charged for it
  // has perhaps not been asked.
  bool HasHolderBeyondWorkload(const Pod& pod) const;

  // For people; no decision reads them. Ordered by namespace and name.
  std::span<const ResourceQuota> resource_quotas() const {
    if (resource_quotas_ == nullptr) return {};
    return *resource_quotas_;
  }
  void SetResourceQuotas(std::shared_ptr<const std::vector<ResourceQuota>> quotas) {
    resource_quotas_ = std::move(quotas);
  }

  // Ordered by namespace and name; nullptr: not known, kube-scheduler's own counts stand.
  const std::vector<DisruptionBudget>* disruption_budgets() const {
    return disruption_budgets_.get();
  }
  void SetDisruptionBudgets(std::shared_ptr<const std::vector<DisruptionBudget>> budgets) {
    disruption_budgets_ = std::move(budgets);
  }

  // Every pod, in no order that means anything.
  template <typename Visit>
  void ForEachPod(Visit visit) const {
    for (const auto& shard : pods_) {
      if (shard == nullptr) continue;
      for (const auto& [uid, entry] : *shard) visit(entry);
    }
  }

  // Adds the node, or gives a known one a new inventory; its holders stay.
  void PutNode(Inventory inventory);
  // Forgets the node. Its pods stay known, and are put back on a node of that name that comes
  // later.
  void RemoveNode(std::string_view name);

  // Adds the pod, or replaces the one of that UID, and puts it where spec.nodeName says. A finished
  // pod is forgotten. A pod that we reserved stays so while it comes without a node: a late update
  // takes no device away.
  void PutPod(Pod pod);
  void RemovePod(std::string_view uid);

  // A complete list in place of all that was known. Pods that are not in it are gone, and their
  // deletion was missed: returns their UIDs. Stays: what we reserve or have bound and not
  // yet seen bound, for the list may be older; see IsSeen().
  std::vector<std::string> ReplacePods(std::vector<Pod> pods);
  void ReplaceNodes(std::vector<Inventory> nodes);

  // Gives the pending pod the placement on that node. Requires: pod and node are known, the pod is
  // pending, the placement is free.
  void Reserve(std::string_view uid, std::string_view node_name, DeviceRecord record);
  // The binding has been made: reserved becomes bound.
  void Confirm(std::string_view uid);
  // The binding has not been made and never will be: reserved becomes pending.
  void Unreserve(std::string_view uid);

  // An advisory claim of the pod on that node, in place of an earlier one. Nothing where the pod
  // holds devices already.
  void Claim(std::shared_ptr<const Pod> pod, std::string_view node_name);
  void DropClaim(std::string_view uid);
  // The pod's nomination to the node that it is nominated to counts no more.
  void LapseNomination(std::string_view uid);
  // The devices that are held for the pod are anybody's.
  void LapseHold(std::string_view uid);

 private:
  using PodShard = std::unordered_map<std::string, PodEntry>;
  static constexpr std::size_t kPodShards = 256;

  std::shared_ptr<const Node>* FindSlot(std::string_view name);
  void ReplaceNode(std::shared_ptr<const Node>& slot, Node node);
  template <typename Edit>
  void EditAccounts(Edit edit);
  void ClaimIn(Accounts& accounts, const std::shared_ptr<const Pod>& pod,
               std::string_view node_name) const;
  void SettleClaim(std::string_view uid);
  void ChargeClaimsAnew();
  PodShard& MutableShard(std::string_view uid);
  void PutEntry(PodEntry entry);
  void Attach(const PodEntry& entry, std::optional<DeviceRecord> record);
  void Detach(const PodEntry& entry);
  std::optional<DeviceRecord> RecordOfHolder(const PodEntry& entry) const;

  using NodeList = std::vector<std::shared_ptr<const Node>>;
  NodeList& MutableNodes();
  void ExpectOrForget(const PodEntry& entry);

  // nullptr: none.
  const Admission* AdmissionOf(const Pod& pod) const {
    return admissions_ == nullptr ? nullptr : admissions_->Find(pod);
  }
  const Admission* LeaveWorkload(std::string_view uid);
  const Admission* JoinWorkload(const std::shared_ptr<const Pod>& pod);
  WorkloadPods::Pods PodsThatDiffer(const Admissions& before) const;
  void ChargeAnew(std::string_view uid);
  void ChargeLastOnes(const Admission* admission);
  template <typename Edit>
  void EditExpectations(Edit edit);

  // Shared with the snapshot that this one was copied from until one of them is edited.
  std::shared_ptr<const NodeList> nodes_ = std::make_shared<const NodeList>();
  std::shared_ptr<const Expectations> expectations_ = std::make_shared<const Expectations>();
  std::shared_ptr<const binpack::PackingModel> packing_;
  std::shared_ptr<const Admissions> admissions_;
  std::shared_ptr<const WorkloadPods> workload_pods_;  // null where `admissions_` is
  std::shared_ptr<const std::vector<ResourceQuota>> resource_quotas_;
  std::shared_ptr<const std::vector<DisruptionBudget>> disruption_budgets_;
  std::shared_ptr<const Accounts> accounts_;  // follows the nodes' holders, and the claims
  std::array<std::shared_ptr<const PodShard>, kPodShards> pods_;
  std::size_t pod_count_ = 0;
  // Pods on nodes that are not known (yet, or any more), by node name. Mostly empty.
  std::map<std::string, std::vector<Holder>> orphans_;
};

// Whether the API server has told us of the binding that the entry's phase speaks of. A pod that we
// bound is not seen until its update comes; should a relist come first, it must be asked for.
bool IsSeen(const PodEntry& entry);

// The pod of that name, or nullptr. Of several (one that terminates, and its successor) the
// youngest. Looks at every pod: for people, not for decisions.
const PodEntry* FindPodByName(const Snapshot& snapshot, std::string_view name_space,
                              std::string_view name);

}  // namespace offcut::scheduler
