#include "scheduler/gates.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "quota/fair_order.h"
#include "scheduler/accounts.h"

namespace offcut::scheduler {
namespace {

using Pods = std::vector<const Pod*>;

// One node of each kind that charges requests differently, the first by name.
std::vector<const Node*> KindsOf(const Snapshot& snapshot) {
  std::vector<const Node*> kinds;
  for (const auto& node : snapshot.nodes()) {
    if (std::ranges::find(kinds, node->charge_key, &Node::charge_key) == kinds.end()) {
      kinds.push_back(node.get());
    }
  }
  return kinds;
}

std::int64_t DevicesOf(const PodCharge& charge) { return SumOf(charge).devices; }

// What the pod will be charged at least on such a node; nullopt: it could not stand there.
std::optional<PodCharge> ChargeOnKind(const Node& node, const Pod& pod) {
  NodeShape on_node = ShapeOn(node.inventory, pod);
  if (on_node.mismatch || !on_node.missing.empty()) return std::nullopt;
  on_node.shape.host = {};
  const auto healed = binpack::Healed(node.inventory.devices);
  if (binpack::FindObstacle(healed, on_node.shape) != binpack::Obstacle::kNone) return std::nullopt;
  ExpectedCharge expected = ExpectCharge(node.inventory.devices, on_node.shape);
  if (!expected.charge.empty()) expected.charge[0].amount.devices -= expected.devices_slack;
  return std::move(expected.charge);
}

// Where no node serves the request, somebody may be about to add one: it counts as whole GPUs of no
// pool.
PodCharge ChargeOfUnserved(const Pod& pod) {
  quota::Amount amount;
  for (const ResourceCount& asked : pod.request.devices) {
    amount.devices += quota::kWholeDevice * std::min<std::int64_t>(asked.count, 1'000'000);
  }
  return {{.model = nullptr, .product = {}, .amount = amount}};
}

class Turns {
 public:
  explicit Turns(const Snapshot& snapshot)
      : accounts_(*snapshot.accounts()), kinds_(KindsOf(snapshot)), ledger_(accounts_.charged()) {}

  int TenantOfPod(const Pod& pod) const { return TenantOf(accounts_.tenancy(), pod); }

  // Quota is kept for a pod that has passed the gate, where there is any for it.
  void Keep(const Pod& pod) {
    const int tenant = TenantOfPod(pod);
    if (tenant == kNoTenant) return;
    const quota::Charge charge = ChargeOfPod(pod, tenant);
    if (IsFitting(tenant, charge)) ledger_.Add(tenant, charge);
  }

  // These together, or none.
  void Offer(Pods pods) {
    const int tenant = TenantOfPod(*pods.front());
    quota::Waiting waiting{
        .tenant = tenant, .priority = pods.front()->priority, .since = pods.front()->created_s};
    for (const Pod* pod : pods) {
      for (const auto& [cell, amount] : ChargeOfPod(*pod, tenant)) {
        quota::AddToCharge(cell, amount, waiting.charge);
      }
    }
    waiting_.push_back(std::move(waiting));
    offered_.push_back(std::move(pods));
  }

  void Take(std::size_t at_most, std::vector<std::string>& uids) const {
    for (const std::size_t next : quota::FairOrder(ledger_, waiting_, at_most)) {
      if (uids.size() >= at_most) return;
      for (const Pod* pod : offered_[next]) uids.push_back(pod->uid);
    }
  }

 private:
  bool IsFitting(int tenant, const quota::Charge& charge) const {
    return ledger_.Check(tenant, charge).answer == quota::Answer::kFits;
  }

  // Pods that ask for the same are many, and kinds of node few.
  quota::Charge ChargeOfPod(const Pod& pod, int tenant) {
    const auto known = std::ranges::find_if(known_, [&](const Known& each) {
      return each.tenant == tenant && *each.request == pod.request;
    });
    if (known != known_.end()) return known->charge;
    quota::Charge charge = CheapestFor(pod, tenant);
    known_.push_back({tenant, &pod.request, charge});
    return charge;
  }

  quota::Charge CheapestFor(const Pod& pod, int tenant) const {
    std::vector<PodCharge> charges;
    for (const Node* node : kinds_) {
      if (auto charge = ChargeOnKind(*node, pod)) charges.push_back(*std::move(charge));
    }
    if (charges.empty()) charges.push_back(ChargeOfUnserved(pod));
    std::ranges::stable_sort(charges, {}, DevicesOf);
    for (const PodCharge& each : charges) {
      quota::Charge charge = ToCells(accounts_.tenancy(), each);
      if (IsFitting(tenant, charge)) return charge;
    }
    return ToCells(accounts_.tenancy(), charges.front());
  }

  struct Known {
    int tenant;
    const DeviceRequest* request;
    quota::Charge charge;
  };

  const Accounts& accounts_;
  const std::vector<const Node*> kinds_;
  quota::Ledger ledger_;
  std::vector<quota::Waiting> waiting_;
  std::vector<Pods> offered_;
  std::vector<Known> known_;
};

bool IsBefore(const Pod* a, const Pod* b) {
  const auto key = [](const Pod& pod) {
    return std::tuple(-std::int64_t{pod.priority}, pod.created_s, std::string_view(pod.uid));
  };
  return key(*a) < key(*b);
}

struct GangMembers {
  Pods gated;
  int beyond_gate = 0;  // waiting for devices, or on a node
};

using Gangs = std::map<std::pair<std::string_view, std::string_view>, GangMembers>;

bool IsOfGang(const Pod& pod) { return !pod.gang.empty() && pod.gang_min_count > 1; }

// The members that the gang lacks go together; further ones each for itself. Where fewer exist than
// it needs, nobody goes.
void OfferGang(const GangMembers& members, Turns& turns) {
  const int lacking = members.gated.front()->gang_min_count - members.beyond_gate;
  const auto together = static_cast<std::size_t>(std::max(0, lacking));
  if (together > members.gated.size()) return;
  if (together > 0) turns.Offer(Pods(members.gated.begin(), members.gated.begin() + lacking));
  for (std::size_t i = together; i < members.gated.size(); ++i) turns.Offer({members.gated[i]});
}

}  // namespace

std::vector<std::string> GatesToLift(const Snapshot& snapshot, std::size_t at_most) {
  Pods gated;
  Pods passed;
  Gangs gangs;
  snapshot.ForEachPod([&](const PodEntry& entry) {
    const Pod& pod = *entry.pod;
    const bool is_pending = entry.phase == PodPhase::kPending && !pod.is_terminating;
    if (is_pending && pod.has_other_gates) return;
    if (is_pending && pod.has_quota_gate) {
      gated.push_back(&pod);
      return;
    }
    if (is_pending) passed.push_back(&pod);
    if (IsOfGang(pod)) ++gangs[{pod.name_space, pod.gang}].beyond_gate;
  });
  std::vector<std::string> uids;
  if (gated.empty()) return uids;
  std::ranges::sort(gated, IsBefore);
  const bool has_tenants = snapshot.accounts() != nullptr;
  const auto needs_gate = [&](const Pod* pod) {
    if (!has_tenants) return false;
    const Tenancy& tenancy = snapshot.accounts()->tenancy();
    const Payer payer = PayerOf(tenancy, *pod);
    return payer.tenant != kNoTenant && !payer.is_charged_elsewhere;
  };
  for (const Pod* pod : gated) {
    if (!needs_gate(pod) && uids.size() < at_most) uids.push_back(pod->uid);
  }
  if (!has_tenants) return uids;
  Turns turns(snapshot);
  std::ranges::sort(passed, IsBefore);
  for (const Pod* pod : passed) turns.Keep(*pod);
  for (const Pod* pod : gated) {
    if (!needs_gate(pod)) continue;
    if (IsOfGang(*pod)) {
      gangs[{pod->name_space, pod->gang}].gated.push_back(pod);
    } else {
      turns.Offer({pod});
    }
  }
  for (const auto& [name, members] : gangs) {
    if (!members.gated.empty()) OfferGang(members, turns);
  }
  turns.Take(at_most, uids);
  return uids;
}

}  // namespace offcut::scheduler
