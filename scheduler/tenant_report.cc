#include "scheduler/tenant_report.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "scheduler/decision.h"
#include "scheduler/request_key.h"

namespace offcut::scheduler {
namespace {

std::size_t Index(int i) { return static_cast<std::size_t>(i); }

using Pods = std::vector<std::shared_ptr<const Pod>>;

bool IsWaiting(const PodEntry& entry) {
  return entry.phase == PodPhase::kPending && !entry.pod->request.empty() &&
         !entry.pod->is_terminating;
}

// By tenant, the oldest first.
std::vector<Pods> WaitingOf(const Snapshot& snapshot, int only) {
  const Tenancy& tenancy = snapshot.accounts()->tenancy();
  std::vector<Pods> waiting(tenancy.tree->tenants.size());
  snapshot.ForEachPod([&](const PodEntry& entry) {
    if (!IsWaiting(entry)) return;
    const int tenant = TenantOf(tenancy, *entry.pod);
    if (tenant == kNoTenant || (only != kNoTenant && tenant != only)) return;
    waiting[Index(tenant)].push_back(entry.pod);
  });
  for (Pods& pods : waiting) {
    std::ranges::sort(pods, {}, [](const std::shared_ptr<const Pod>& pod) {
      return std::tuple(pod->created_s, std::string_view(pod->name_space),
                        std::string_view(pod->name), std::string_view(pod->uid));
    });
  }
  return waiting;
}

// One tenant's waiting pods by what they ask for.
struct Requests {
  std::vector<std::size_t> of_pod;             // by pod: which request
  std::vector<const Pod*> oldest;              // by request
  std::vector<std::optional<Reason>> reasons;  // by request; nullopt: not judged
};

// Pods of which something is expected are judged each for itself.
std::string KeyIn(const Snapshot& snapshot, const Pod& pod) {
  const bool is_expected =
      !pod.nominated_node_name.empty() || snapshot.IsClaimed(pod.uid) || snapshot.IsHeld(pod.uid);
  return KeyOfJudgement(pod) + (is_expected ? pod.uid : std::string());
}

Requests RequestsOf(const Snapshot& snapshot, const Pods& pods) {
  Requests requests;
  std::unordered_map<std::string, std::size_t> known;
  for (const auto& pod : pods) {
    const auto [entry, is_new] = known.try_emplace(KeyIn(snapshot, *pod), requests.oldest.size());
    if (is_new) requests.oldest.push_back(pod.get());
    requests.of_pod.push_back(entry->second);
  }
  requests.reasons.resize(requests.oldest.size());
  return requests;
}

// Judges each tenant's oldest request, then each one's second, and so on: nobody's long list takes
// the answers from others.
void JudgeInTurn(const Snapshot& snapshot, const Policy& policy, std::vector<Requests>& tenants) {
  std::vector<std::string> names;
  for (const auto& node : snapshot.nodes()) names.push_back(node->name());
  std::size_t left =
      std::min(kRequestsJudgedMax, kVerdictsMax / std::max<std::size_t>(1, names.size()));
  for (std::size_t turn = 0; left > 0; ++turn) {
    bool is_over = true;
    for (Requests& requests : tenants) {
      if (turn >= requests.oldest.size() || left == 0) continue;
      requests.reasons[turn] =
          ReasonOfAll(Filter(snapshot, *requests.oldest[turn], names, policy, Prefilter::kNone));
      --left;
      is_over = false;
    }
    if (is_over) return;
  }
}

WaitingPods Summary(const Pods& pods, const Requests& requests) {
  WaitingPods summary{.pods = static_cast<int>(pods.size())};
  std::vector<int> counts(Reasons().size());
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const std::optional<Reason> reason = requests.reasons[requests.of_pod[i]];
    if (pods[i]->has_quota_gate) ++summary.gated;
    if (reason) {
      ++counts[static_cast<std::size_t>(*reason)];
    } else {
      ++summary.not_judged;
    }
    if (i < kWaitingNamedMax) summary.oldest.push_back({pods[i], reason});
  }
  for (const ReasonInfo& info : Reasons()) {
    const int count = counts[static_cast<std::size_t>(info.reason)];
    if (count > 0) summary.reasons.push_back({info.reason, count});
  }
  std::ranges::stable_sort(summary.reasons, std::ranges::greater(), &ReasonPods::pods);
  return summary;
}

// The pool "*" repeats what stands in the others, so it is shown to those alone who are held to it.
bool IsShown(const quota::TenantTree& tree, int cell, int tenant, const quota::Standing& standing) {
  if (tree.Plan(cell, tenant).takes_part) return true;
  return standing.used > 0 && tree.cells[Index(cell)].pool != quota::kAllPools;
}

void AddCells(const quota::Ledger& ledger, std::span<TenantReport> reports) {
  const quota::TenantTree& tree = ledger.tree();
  for (int cell = 0; cell < static_cast<int>(tree.cells.size()); ++cell) {
    const std::vector<quota::Standing> standings = ledger.StandingsIn(cell);
    for (TenantReport& report : reports) {
      const quota::Standing& standing = standings[Index(report.tenant)];
      if (!IsShown(tree, cell, report.tenant, standing)) continue;
      report.cells.push_back({cell, ledger.Own(report.tenant, cell), standing});
    }
  }
}

int DepthOf(const quota::TenantTree& tree, int tenant) {
  int depth = 0;
  for (int t = tree.Parent(tenant); t >= 0; t = tree.Parent(t)) ++depth;
  return depth;
}

// What may be done about it, soonest first.
int RankOf(Reason reason) {
  if (reason == Reason::kFits) return 0;
  if (InfoOf(reason).evictions_may_help) return 1;
  if (reason == Reason::kQuotaNever) return 2;
  return reason == Reason::kResourceNotOffered || reason == Reason::kNodeUnknown ? 4 : 3;
}

}  // namespace

std::vector<int> TenantsInOrder(const quota::TenantTree& tree) {
  std::vector<std::vector<int>> children(tree.tenants.size());
  std::vector<int> next;  // the last one first
  const auto by_name_descending = [&](std::vector<int>& tenants) {
    std::ranges::sort(tenants, std::ranges::greater(), [&](int tenant) {
      return std::string_view(tree.tenants[Index(tenant)].name);
    });
  };
  for (int t = 0; t < static_cast<int>(tree.tenants.size()); ++t) {
    const int parent = tree.Parent(t);
    (parent < 0 ? next : children[Index(parent)]).push_back(t);
  }
  by_name_descending(next);
  std::vector<int> order;
  while (!next.empty()) {
    const int tenant = next.back();
    next.pop_back();
    order.push_back(tenant);
    std::vector<int>& below = children[Index(tenant)];
    by_name_descending(below);
    next.insert(next.end(), below.begin(), below.end());
  }
  return order;
}

std::vector<TenantReport> ReportTenants(const Snapshot& snapshot, const Policy& policy, int only) {
  if (snapshot.accounts() == nullptr) return {};
  const quota::Ledger& ledger = snapshot.accounts()->charged();
  const quota::TenantTree& tree = ledger.tree();
  const std::vector<Pods> waiting = WaitingOf(snapshot, only);
  std::vector<Requests> requests;
  requests.reserve(waiting.size());
  for (const Pods& pods : waiting) requests.push_back(RequestsOf(snapshot, pods));
  JudgeInTurn(snapshot, policy, requests);
  std::vector<TenantReport> reports;
  for (const int tenant : TenantsInOrder(tree)) {
    if (only != kNoTenant && tenant != only) continue;
    reports.push_back({.tenant = tenant,
                       .depth = DepthOf(tree, tenant),
                       .share = quota::ShareOf(ledger, tenant),
                       .waiting = Summary(waiting[Index(tenant)], requests[Index(tenant)])});
  }
  AddCells(ledger, reports);
  return reports;
}

std::vector<int> CountWaiting(const Snapshot& snapshot) {
  const Tenancy& tenancy = snapshot.accounts()->tenancy();
  std::vector<int> counts(tenancy.tree->tenants.size());
  snapshot.ForEachPod([&](const PodEntry& entry) {
    const int tenant = IsWaiting(entry) ? TenantOf(tenancy, *entry.pod) : kNoTenant;
    if (tenant != kNoTenant) ++counts[Index(tenant)];
  });
  return counts;
}

Reason ReasonOfAll(std::span<const Verdict> verdicts) {
  if (verdicts.empty()) return Reason::kResourceNotOffered;
  std::vector<int> counts(Reasons().size());
  for (const Verdict& verdict : verdicts) ++counts[static_cast<std::size_t>(verdict.reason)];
  std::optional<Reason> best;
  const auto key = [&](Reason reason) {
    return std::pair(RankOf(reason), -counts[static_cast<std::size_t>(reason)]);
  };
  for (const ReasonInfo& info : Reasons()) {
    if (counts[static_cast<std::size_t>(info.reason)] == 0) continue;
    if (!best || key(info.reason) < key(*best)) best = info.reason;
  }
  return *best;
}

}  // namespace offcut::scheduler
