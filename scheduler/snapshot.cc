#include "scheduler/snapshot.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <set>
#include <tuple>
#include <unordered_set>

namespace offcut::scheduler {
namespace {

bool HoldsDevices(const PodEntry& entry) { return entry.phase != PodPhase::kPending; }

std::vector<Holder> Without(const std::vector<Holder>& holders, std::string_view uid) {
  std::vector<Holder> rest;
  rest.reserve(holders.size());
  std::ranges::copy_if(holders, std::back_inserter(rest),
                       [&](const Holder& holder) { return holder.pod->uid != uid; });
  return rest;
}

// What is on record for a pod that came with a node: its own annotation if that is this pod's and
// this node's, else what we reserved for it there. `reserved` is empty once the API server has
// shown the binding: then the object decides, as it does for whoever starts anew.
std::optional<DeviceRecord> ValidRecord(const Pod& pod,
                                        const std::optional<DeviceRecord>& reserved) {
  if (pod.record && pod.record->pod_uid == pod.uid && pod.record->node == pod.node_name) {
    return pod.record;
  }
  return reserved && reserved->node == pod.node_name ? reserved : std::nullopt;
}

}  // namespace

std::string_view NameOf(PodPhase phase) {
  switch (phase) {
    case PodPhase::kPending:
      return "pending";
    case PodPhase::kReserved:
      return "reserved";
    case PodPhase::kBound:
      return "bound";
    case PodPhase::kTerminating:
      return "terminating";
  }
  assert(false);
  return "";
}

const Node* Snapshot::FindNode(std::string_view name) const {
  const auto found = std::ranges::lower_bound(
      *nodes_, name, {}, [](const auto& node) { return std::string_view(node->name()); });
  return found != nodes_->end() && (*found)->name() == name ? found->get() : nullptr;
}

template <typename Edit>
void Snapshot::EditAccounts(Edit edit) {
  if (accounts_ == nullptr) return;
  auto copy = std::make_shared<Accounts>(*accounts_);
  edit(*copy);
  accounts_ = std::move(copy);
}

void Snapshot::ReplaceNode(std::shared_ptr<const Node>& slot, Node node) {
  auto next = std::make_shared<const Node>(std::move(node));
  EditAccounts([&](Accounts& accounts) { accounts.Replace(slot.get(), next.get()); });
  slot = std::move(next);
}

void Snapshot::SetTenancy(std::shared_ptr<const Tenancy> tenancy) {
  if (tenancy == nullptr) {
    accounts_ = nullptr;
    return;
  }
  accounts_ = std::make_shared<Accounts>(std::move(tenancy), nodes());
  ChargeClaimsAnew();
}

std::string_view Snapshot::QueueOf(const Pod& pod) const {
  const Admission* admission = AdmissionOf(pod);
  if (admission == nullptr) return {};
  const auto rank = static_cast<std::int64_t>(workload_pods_->RankIn(*admission, pod));
  return rank < admission->pods ? std::string_view(admission->queue) : std::string_view();
}

bool Snapshot::HasHolderBeyondWorkload(const Pod& pod) const {
  const Admission* admission = AdmissionOf(pod);
  if (admission == nullptr) return false;
  const auto pods = workload_pods_->Of(*admission);
  const auto covered = std::min<std::int64_t>(admission->pods, std::ssize(pods));
  return std::ranges::any_of(pods.subspan(static_cast<std::size_t>(covered)),
                             [&](const auto& each) { return HoldsDevices(*FindPod(each->uid)); });
}

// Those that may be of another Workload than before, or of one that is another now. Some may be
// named twice.
WorkloadPods::Pods Snapshot::PodsThatDiffer(const Admissions& before) const {
  WorkloadPods::Pods pods;
  const auto add = [&](std::span<const std::shared_ptr<const Pod>> some) {
    pods.insert(pods.end(), some.begin(), some.end());
  };
  for (const WorkloadName& name : admissions_->DifferencesFrom(before)) {
    for (const Admission* each : {before.FindNamed(name), admissions_->FindNamed(name)}) {
      if (each == nullptr) continue;
      add(workload_pods_->Of(*each));
      add(workload_pods_->CandidatesFor(*each));
      for (const std::string& uid : each->owner_uids) {
        if (const PodEntry* owner = FindPod(uid)) pods.push_back(owner->pod);
      }
    }
  }
  return pods;
}

void Snapshot::SetAdmissions(std::shared_ptr<const Admissions> admissions) {
  const auto before = std::exchange(admissions_, std::move(admissions));
  WorkloadPods::Pods changed;
  if (before != nullptr && admissions_ != nullptr) {
    changed = PodsThatDiffer(*before);
  } else {
    ForEachPod([&](const PodEntry& entry) { changed.push_back(entry.pod); });
    workload_pods_ = nullptr;
  }
  std::set<WorkloadName> touched;
  const auto touch = [&](const Admission* admission) {
    if (admission != nullptr) touched.emplace(admission->name_space, admission->workload);
  };
  if (admissions_ != nullptr) {
    auto copy = workload_pods_ == nullptr ? std::make_shared<WorkloadPods>()
                                          : std::make_shared<WorkloadPods>(*workload_pods_);
    for (const auto& pod : changed) {
      const Admission* old = before == nullptr ? nullptr : before->Find(*pod);
      copy->Remove(*pod, old);
      touch(old);
    }
    for (const auto& pod : changed) {
      copy->Put(pod, AdmissionOf(*pod));
      touch(AdmissionOf(*pod));
    }
    workload_pods_ = std::move(copy);
  }
  for (const WorkloadName& name : touched) {
    const Admission* admission = admissions_->FindNamed(name);
    if (admission == nullptr) continue;
    const auto pods = workload_pods_->Of(*admission);
    changed.insert(changed.end(), pods.begin(), pods.end());
  }
  for (const auto& pod : changed) ChargeAnew(pod->uid);
  ChargeClaimsAnew();
}

// Takes the known pod out of its Workload, which is returned.
const Admission* Snapshot::LeaveWorkload(std::string_view uid) {
  const PodEntry* known = workload_pods_ == nullptr ? nullptr : FindPod(uid);
  if (known == nullptr) return nullptr;
  const Admission* admission = AdmissionOf(*known->pod);
  auto copy = std::make_shared<WorkloadPods>(*workload_pods_);
  copy->Remove(*known->pod, admission);
  workload_pods_ = std::move(copy);
  return admission;
}

const Admission* Snapshot::JoinWorkload(const std::shared_ptr<const Pod>& pod) {
  if (workload_pods_ == nullptr) return nullptr;
  const Admission* admission = AdmissionOf(*pod);
  auto copy = std::make_shared<WorkloadPods>(*workload_pods_);
  copy->Put(pod, admission);
  workload_pods_ = std::move(copy);
  return admission;
}

void Snapshot::ChargeAnew(std::string_view uid) {
  const PodEntry* known = FindPod(uid);
  if (known != nullptr && QueueOf(*known->pod) != known->pod->admitted_queue) PutPod(*known->pod);
}

// One pod has come to the Workload, or left it: of the others two may be on the other side now.
void Snapshot::ChargeLastOnes(const Admission* admission) {
  if (admission == nullptr) return;
  for (const std::int64_t rank : {admission->pods - 1, admission->pods}) {
    const auto pods = workload_pods_->Of(*admission);
    if (rank < 0 || rank >= std::ssize(pods)) continue;
    ChargeAnew(std::string(pods[static_cast<std::size_t>(rank)]->uid));
  }
}

// Charged as if the pod stood there.
void Snapshot::ClaimIn(Accounts& accounts, const std::shared_ptr<const Pod>& pod,
                       std::string_view node_name) const {
  const Node* node = FindNode(node_name);
  const int tenant = PayerOf(accounts.tenancy(), *pod, QueueOf(*pod)).tenant;
  if (node == nullptr || tenant == kNoTenant) return accounts.DropClaim(pod->uid);
  std::vector<Holder> holders = node->holders;
  holders.push_back({.pod = pod, .record = {}, .placement = {}});
  const Node with_pod = BuildNode(node->inventory, std::move(holders));
  const auto claimed =
      std::ranges::find_if(with_pod.holders, [&](const Holder& each) { return each.pod == pod; });
  accounts.Claim(pod->uid, tenant, claimed->charge);
}

// The pod's tenant is charged for what is claimed or held for the pod, and for nothing else.
void Snapshot::SettleClaim(std::string_view uid) {
  if (accounts_ == nullptr) return;
  const auto [pod, node_name] = expectations_->FindCharged(uid);
  EditAccounts([&](Accounts& accounts) {
    if (pod == nullptr) {
      accounts.DropClaim(uid);
    } else {
      ClaimIn(accounts, pod, node_name);
    }
  });
}

// Those whose payer is another than the one who is charged.
void Snapshot::ChargeClaimsAnew() {
  if (accounts_ == nullptr || expectations_->empty()) return;
  std::vector<std::pair<std::shared_ptr<const Pod>, std::string_view>> moved;
  expectations_->ForEach([&](std::string_view node_name, const Expectation& expected) {
    if (expected.kind == ExpectationKind::kNominated) return;
    const int tenant = PayerOf(accounts_->tenancy(), *expected.pod, QueueOf(*expected.pod)).tenant;
    if (tenant == accounts_->TenantOfClaim(expected.pod->uid)) return;
    moved.emplace_back(expected.pod, node_name);
  });
  if (moved.empty()) return;
  EditAccounts([&](Accounts& accounts) {
    for (const auto& [pod, node_name] : moved) ClaimIn(accounts, pod, node_name);
  });
}

Snapshot::NodeList& Snapshot::MutableNodes() {
  auto copy = std::make_shared<NodeList>(*nodes_);
  NodeList& result = *copy;
  nodes_ = std::move(copy);
  return result;
}

std::shared_ptr<const Node>* Snapshot::FindSlot(std::string_view name) {
  if (FindNode(name) == nullptr) return nullptr;
  NodeList& nodes = MutableNodes();
  return &*std::ranges::lower_bound(
      nodes, name, {}, [](const auto& node) { return std::string_view(node->name()); });
}

const PodEntry* Snapshot::FindPod(std::string_view uid) const {
  const auto& shard = pods_[std::hash<std::string_view>()(uid) % kPodShards];
  if (shard == nullptr) return nullptr;
  const auto found = shard->find(std::string(uid));
  return found == shard->end() ? nullptr : &found->second;
}

Snapshot::PodShard& Snapshot::MutableShard(std::string_view uid) {
  auto& shard = pods_[std::hash<std::string_view>()(uid) % kPodShards];
  auto copy = shard == nullptr ? std::make_shared<PodShard>() : std::make_shared<PodShard>(*shard);
  PodShard& result = *copy;
  shard = std::move(copy);
  return result;
}

void Snapshot::PutEntry(PodEntry entry) {
  PodShard& shard = MutableShard(entry.pod->uid);
  const std::string uid = entry.pod->uid;
  if (shard.insert_or_assign(uid, std::move(entry)).second) ++pod_count_;
}

void Snapshot::Attach(const PodEntry& entry, std::optional<DeviceRecord> record) {
  auto* slot = FindSlot(entry.node_name);
  if (slot == nullptr) {
    orphans_[entry.node_name].push_back(
        {.pod = entry.pod, .record = std::move(record), .placement = {}});
    return;
  }
  std::vector<Holder> holders = Without((*slot)->holders, entry.pod->uid);
  holders.push_back({.pod = entry.pod, .record = std::move(record), .placement = {}});
  ReplaceNode(*slot, BuildNode((*slot)->inventory, std::move(holders)));
}

void Snapshot::Detach(const PodEntry& entry) {
  if (auto* slot = FindSlot(entry.node_name); slot != nullptr) {
    ReplaceNode(*slot, BuildNode((*slot)->inventory, Without((*slot)->holders, entry.pod->uid)));
  } else if (const auto orphans = orphans_.find(entry.node_name); orphans != orphans_.end()) {
    orphans->second = Without(orphans->second, entry.pod->uid);
    if (orphans->second.empty()) orphans_.erase(orphans);
  }
}

std::optional<DeviceRecord> Snapshot::RecordOfHolder(const PodEntry& entry) const {
  const std::vector<Holder>* holders = nullptr;
  if (const Node* node = FindNode(entry.node_name); node != nullptr) {
    holders = &node->holders;
  } else if (const auto orphans = orphans_.find(entry.node_name); orphans != orphans_.end()) {
    holders = &orphans->second;
  }
  if (holders == nullptr) return std::nullopt;
  const auto found = std::ranges::find_if(
      *holders, [&](const Holder& holder) { return holder.pod->uid == entry.pod->uid; });
  return found == holders->end() ? std::nullopt : found->record;
}

void Snapshot::PutNode(Inventory inventory) {
  const std::string name = inventory.name;
  if (auto* slot = FindSlot(name); slot != nullptr) {
    ReplaceNode(*slot, BuildNode(std::move(inventory), (*slot)->holders));
    return;
  }
  std::vector<Holder> holders;
  if (const auto orphans = orphans_.find(name); orphans != orphans_.end()) {
    holders = std::move(orphans->second);
    orphans_.erase(orphans);
  }
  NodeList& nodes = MutableNodes();
  const auto place = std::ranges::lower_bound(
      nodes, name, {}, [](const auto& node) -> const std::string& { return node->name(); });
  const auto inserted = nodes.insert(place, nullptr);
  ReplaceNode(*inserted, BuildNode(std::move(inventory), std::move(holders)));
  ChargeClaimsAnew();  // what is held here, and was known before the node
}

void Snapshot::RemoveNode(std::string_view name) {
  const Node* node = FindNode(name);
  if (node == nullptr) return;
  if (!node->holders.empty()) orphans_[node->name()] = node->holders;
  EditAccounts([&](Accounts& accounts) { accounts.Replace(node, nullptr); });
  std::erase_if(MutableNodes(), [&](const auto& each) { return each.get() == node; });
}

void Snapshot::PutPod(Pod pod) {
  if (pod.is_finished) {
    RemovePod(pod.uid);
    return;
  }
  const Admission* left = LeaveWorkload(pod.uid);
  pod.admitted_queue = QueueOf(pod);
  PodEntry entry{.pod = nullptr, .phase = PodPhase::kPending, .node_name = pod.node_name};
  std::optional<DeviceRecord> reserved;
  if (const PodEntry* known = FindPod(pod.uid); known != nullptr && HoldsDevices(*known)) {
    if (pod.node_name.empty() || !IsSeen(*known)) reserved = RecordOfHolder(*known);
    if (pod.node_name.empty()) {
      // A bound pod never becomes unbound: this update is older than what we know.
      entry.node_name = known->node_name;
      entry.phase = known->phase;
    }
    Detach(*known);
  }
  if (!pod.node_name.empty()) {
    entry.phase = pod.is_terminating ? PodPhase::kTerminating : PodPhase::kBound;
  }
  std::optional<DeviceRecord> record =
      pod.node_name.empty() ? std::move(reserved) : ValidRecord(pod, reserved);
  entry.pod = std::make_shared<const Pod>(std::move(pod));
  const Admission* joined = JoinWorkload(entry.pod);
  const bool is_claimed = IsClaimed(entry.pod->uid);
  if (HoldsDevices(entry)) Attach(entry, std::move(record));
  ExpectOrForget(entry);
  PutEntry(std::move(entry));
  ChargeLastOnes(left);
  if (joined != left) ChargeLastOnes(joined);
  if (left != nullptr || joined != nullptr || is_claimed) ChargeClaimsAnew();
}

template <typename Edit>
void Snapshot::EditExpectations(Edit edit) {
  auto copy = std::make_shared<Expectations>(*expectations_);
  edit(*copy);
  expectations_ = std::move(copy);
}

void Snapshot::ExpectOrForget(const PodEntry& entry) {
  const std::string& uid = entry.pod->uid;
  const bool is_new = !entry.pod->nominated_node_name.empty() || entry.pod->hold.has_value();
  if (!is_new && !expectations_->Knows(uid)) return;
  const bool was_held = IsHeld(uid);
  EditExpectations([&](Expectations& expectations) {
    if (HoldsDevices(entry)) {
      expectations.Forget(uid);
    } else {
      expectations.Expect(entry.pod);
      expectations.RenewClaim(entry.pod);
    }
  });
  if (HoldsDevices(entry) || was_held || IsHeld(uid)) SettleClaim(uid);
}

void Snapshot::Claim(std::shared_ptr<const Pod> pod, std::string_view node_name) {
  if (const PodEntry* known = FindPod(pod->uid); known != nullptr && HoldsDevices(*known)) return;
  const std::string uid = pod->uid;
  EditExpectations(
      [&](Expectations& expectations) { expectations.Claim(std::move(pod), node_name); });
  SettleClaim(uid);
}

void Snapshot::DropClaim(std::string_view uid) {
  if (!expectations_->Knows(uid)) return;
  EditExpectations([&](Expectations& expectations) { expectations.DropClaim(uid); });
  SettleClaim(uid);
}

void Snapshot::LapseNomination(std::string_view uid) {
  if (!expectations_->Knows(uid)) return;
  EditExpectations([&](Expectations& expectations) { expectations.LapseNomination(uid); });
  SettleClaim(uid);
}

void Snapshot::LapseHold(std::string_view uid) {
  if (!expectations_->Knows(uid)) return;
  EditExpectations([&](Expectations& expectations) { expectations.LapseHold(uid); });
  SettleClaim(uid);
}

std::vector<std::string> Snapshot::ReplacePods(std::vector<Pod> pods) {
  std::unordered_set<std::string_view> listed;
  for (const Pod& pod : pods) listed.insert(pod.uid);
  std::vector<std::string> ghosts;
  ForEachPod([&](const PodEntry& entry) {
    if (!listed.contains(entry.pod->uid) && IsSeen(entry)) ghosts.push_back(entry.pod->uid);
  });
  for (const std::string& uid : ghosts) RemovePod(uid);
  for (Pod& pod : pods) {
    // Most have not changed, and to put each on its node anew takes seconds in a large cluster.
    pod.admitted_queue = QueueOf(pod);
    const PodEntry* known = FindPod(pod.uid);
    if (known != nullptr && IsSeen(*known) && *known->pod == pod) continue;
    PutPod(std::move(pod));
  }
  return ghosts;
}

void Snapshot::ReplaceNodes(std::vector<Inventory> nodes) {
  std::unordered_set<std::string_view> listed;
  for (const Inventory& node : nodes) listed.insert(node.name);
  std::vector<std::string> gone;
  for (const auto& node : *nodes_) {
    if (!listed.contains(node->name())) gone.push_back(node->name());
  }
  for (const std::string& name : gone) RemoveNode(name);
  for (Inventory& node : nodes) PutNode(std::move(node));
}

bool IsSeen(const PodEntry& entry) {
  switch (entry.phase) {
    case PodPhase::kPending:
    case PodPhase::kTerminating:
      return true;
    case PodPhase::kReserved:
      return false;
    case PodPhase::kBound:
      return !entry.pod->node_name.empty();
  }
  assert(false);
  return true;
}

void Snapshot::RemovePod(std::string_view uid) {
  if (expectations_->Knows(uid)) {
    EditExpectations([&](Expectations& expectations) { expectations.Forget(uid); });
    SettleClaim(uid);
  }
  const PodEntry* known = FindPod(uid);
  if (known == nullptr) return;
  const Admission* left = LeaveWorkload(uid);
  if (HoldsDevices(*known)) Detach(*known);
  MutableShard(uid).erase(std::string(uid));
  --pod_count_;
  ChargeLastOnes(left);
  if (left != nullptr) ChargeClaimsAnew();
}

void Snapshot::Reserve(std::string_view uid, std::string_view node_name, DeviceRecord record) {
  const PodEntry* known = FindPod(uid);
  assert(known != nullptr && known->phase == PodPhase::kPending && FindNode(node_name) != nullptr);
  PodEntry entry = *known;
  entry.phase = PodPhase::kReserved;
  entry.node_name = node_name;
  Attach(entry, std::move(record));
  ExpectOrForget(entry);
  PutEntry(std::move(entry));
}

void Snapshot::Confirm(std::string_view uid) {
  const PodEntry* known = FindPod(uid);
  if (known == nullptr || known->phase != PodPhase::kReserved) return;
  PodEntry entry = *known;
  entry.phase = PodPhase::kBound;
  PutEntry(std::move(entry));
}

void Snapshot::Unreserve(std::string_view uid) {
  const PodEntry* known = FindPod(uid);
  if (known == nullptr || known->phase != PodPhase::kReserved) return;
  PodEntry entry = *known;
  Detach(entry);
  entry.phase = PodPhase::kPending;
  entry.node_name.clear();
  ExpectOrForget(entry);
  PutEntry(std::move(entry));
}

const PodEntry* FindPodByName(const Snapshot& snapshot, std::string_view name_space,
                              std::string_view name) {
  const PodEntry* youngest = nullptr;
  snapshot.ForEachPod([&](const PodEntry& entry) {
    if (entry.pod->name != name || entry.pod->name_space != name_space) return;
    const auto age = [](const Pod& pod) {
      return std::tuple(pod.created_s, std::string_view(pod.uid));
    };
    if (youngest == nullptr || age(*entry.pod) > age(*youngest->pod)) youngest = &entry;
  });
  return youngest;
}

}  // namespace offcut::scheduler
