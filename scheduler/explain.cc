#include "scheduler/explain.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "scheduler/expected_node.h"
#include "scheduler/packing.h"
#include "scheduler/whole_nodes.h"

namespace offcut::scheduler {
namespace {

void CountRefusal(Reason reason, std::vector<ReasonCount>& refusals) {
  const auto found = std::ranges::find(refusals, reason, &ReasonCount::reason);
  if (found == refusals.end()) {
    refusals.push_back({reason, 1});
  } else {
    ++found->nodes;
  }
}

bool IsByQuota(Verdict verdict) {
  return verdict.reason == Reason::kQuotaWait || verdict.reason == Reason::kQuotaNever;
}

void CountQuota(QuotaRefusal refusal, std::vector<QuotaRefusalCount>& quota) {
  const auto found = std::ranges::find(quota, refusal, &QuotaRefusalCount::refusal);
  if (found == quota.end()) {
    quota.push_back({std::move(refusal), 1});
  } else {
    ++found->nodes;
  }
}

std::string TenantNameOf(const Snapshot& snapshot, const Pod& pod) {
  if (snapshot.accounts() == nullptr) return {};
  const Tenancy& tenancy = snapshot.accounts()->tenancy();
  return std::string(NameOf(tenancy, TenantOf(tenancy, pod)));
}

std::optional<DeviceRecord> RecordOnNode(const Snapshot& snapshot, const PodEntry& entry) {
  const Node* node = snapshot.FindNode(entry.node_name);
  if (node == nullptr) return std::nullopt;
  const auto holder = std::ranges::find_if(
      node->holders, [&](const Holder& each) { return each.pod->uid == entry.pod->uid; });
  if (holder == node->holders.end()) return std::nullopt;
  if (holder->follows_record) return holder->record;
  DeviceRecord record = RecordOf(node->inventory, *entry.pod, holder->placement, holder->charge);
  if (holder->observed_uuids.empty()) return record;
  record.certainty = Certainty::kObserved;
  for (std::size_t i = 0; i < record.devices.size(); ++i) {
    record.devices[i].uuid = holder->observed_uuids[i];
  }
  return record;
}

// As decisions add it when they compare nodes.
void AddOpeningCost(std::int64_t opening_cost, NodeCost& cost) {
  if (!cost.opens_whole_node || opening_cost == 0) return;
  cost.cost += opening_cost;
  cost.terms.push_back({"whole_node", opening_cost});
}

}  // namespace

bool HasDrifted(const Snapshot& snapshot, std::string_view uid) {
  const PodEntry* entry = snapshot.FindPod(uid);
  const Node* node = entry == nullptr ? nullptr : snapshot.FindNode(entry->node_name);
  if (node == nullptr) return false;
  return std::ranges::any_of(node->holders, [&](const Holder& holder) {
    return holder.is_drifted && holder.pod->uid == uid;
  });
}

Explanation Explain(const Snapshot& snapshot, std::string_view uid, const Policy& policy) {
  const PodEntry* entry = snapshot.FindPod(uid);
  assert(entry != nullptr);
  Explanation explanation{.pod = *entry->pod,
                          .tenant = TenantNameOf(snapshot, *entry->pod),
                          .phase = entry->phase,
                          .node_name = entry->node_name,
                          .packing = PackingOf(snapshot, policy)};
  if (entry->phase != PodPhase::kPending) {
    explanation.record = RecordOnNode(snapshot, *entry);
    explanation.is_drifted = HasDrifted(snapshot, entry->pod->uid);
    return explanation;
  }

  explanation.held = HeldPlaceOf(snapshot, uid);
  std::vector<std::string> names;
  for (const auto& node : snapshot.nodes()) names.push_back(node->name());
  const auto verdicts = Filter(snapshot, *entry->pod, names, policy, Prefilter::kNone);
  // As kube-scheduler asks: about the nodes that filter has let pass.
  std::vector<std::string> fitting;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (verdicts[i].fits()) fitting.push_back(names[i]);
  }
  const auto scores = Score(snapshot, *entry->pod, fitting, policy, Prefilter::kNone);
  auto next_score = scores.begin();
  explanation.free_whole_nodes = CountFreeWhole(snapshot.nodes(), *explanation.packing);
  explanation.opening_cost = explanation.packing->whole_nodes.CostAt(explanation.free_whole_nodes);
  std::int64_t best_score = -1;
  for (std::size_t i = 0; i < names.size(); ++i) {
    NodeExplanation node{.node = snapshot.nodes()[i], .verdict = verdicts[i]};
    if (node.verdict.fits()) {
      node.score = *next_score++;
      const auto expected = WithExpected(snapshot, *node.node, *entry->pod);
      node.cost = CostOf(expected ? *expected : *node.node, *entry->pod, policy,
                         *explanation.packing, Prefilter::kNone);
      AddOpeningCost(explanation.opening_cost, node.cost);
      if (node.score > best_score) {
        best_score = node.score;
        explanation.node_name = names[i];
      }
    } else {
      CountRefusal(node.verdict.reason, explanation.refusals);
    }
    if (node.verdict.reason == Reason::kDevicesHeld) {
      node.held = HeldPlacesAgainst(snapshot, *node.node, *entry->pod);
    }
    if (IsByQuota(node.verdict)) {
      auto refusal = RefusalByQuota(snapshot, *entry->pod, *node.node, policy, Prefilter::kNone);
      if (refusal) CountQuota(*std::move(refusal), explanation.quota);
    }
    explanation.nodes.push_back(std::move(node));
  }
  std::ranges::stable_sort(explanation.refusals, [](const ReasonCount& a, const ReasonCount& b) {
    return a.nodes != b.nodes ? a.nodes > b.nodes : a.reason < b.reason;
  });
  return explanation;
}

}  // namespace offcut::scheduler
