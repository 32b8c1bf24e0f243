#include "scheduler/eviction_budget.h"

namespace offcut::scheduler {
namespace {

std::string_view TenantIn(const Snapshot& snapshot, const Pod& pod) {
  if (snapshot.accounts() == nullptr) return {};
  const Tenancy& tenancy = snapshot.accounts()->tenancy();
  return NameOf(tenancy, TenantOf(tenancy, pod));
}

}  // namespace

std::string_view WorkloadOf(const Pod& pod) {
  return pod.owner_uid.empty() ? pod.uid : pod.owner_uid;
}

void EvictionBudget::Count(const Snapshot& snapshot, const Pod& pod, std::int64_t now_s) {
  evictions_.push_back({.at_s = now_s,
                        .workload = std::string(WorkloadOf(pod)),
                        .tenant = std::string(TenantIn(snapshot, pod))});
}

std::unordered_set<std::string> EvictionBudget::Spared(const Snapshot& snapshot,
                                                       std::int64_t now_s) {
  ForgetBefore(now_s - rules_.window_s);
  std::unordered_set<std::string> spared;
  if (evictions_.empty()) return spared;
  const Counts counts = Counted();
  snapshot.ForEachPod([&](const PodEntry& entry) {
    if (entry.node_name.empty()) return;
    if (IsFull(counts, *entry.pod, TenantIn(snapshot, *entry.pod))) spared.insert(entry.pod->uid);
  });
  return spared;
}

bool EvictionBudget::Allows(const Snapshot& snapshot,
                            std::span<const std::shared_ptr<const Pod>> pods, std::int64_t now_s) {
  ForgetBefore(now_s - rules_.window_s);
  Counts counts = Counted();
  for (const auto& pod : pods) {
    const std::string_view tenant = TenantIn(snapshot, *pod);
    if (IsFull(counts, *pod, tenant)) return false;
    ++counts.workloads[std::string(WorkloadOf(*pod))];
    ++counts.tenants[std::string(tenant)];
  }
  return true;
}

void EvictionBudget::ForgetBefore(std::int64_t time_s) {
  while (!evictions_.empty() && evictions_.front().at_s <= time_s) evictions_.pop_front();
}

EvictionBudget::Counts EvictionBudget::Counted() const {
  Counts counts;
  for (const Eviction& eviction : evictions_) {
    ++counts.workloads[eviction.workload];
    ++counts.tenants[eviction.tenant];
  }
  return counts;
}

bool EvictionBudget::IsFull(const Counts& counts, const Pod& pod, std::string_view tenant) const {
  const auto workload = counts.workloads.find(WorkloadOf(pod));
  if (workload != counts.workloads.end() && workload->second >= rules_.evictions_per_workload_max) {
    return true;
  }
  if (tenant.empty()) return false;
  const auto of_tenant = counts.tenants.find(tenant);
  return of_tenant != counts.tenants.end() && of_tenant->second >= rules_.evictions_per_tenant_max;
}

}  // namespace offcut::scheduler
