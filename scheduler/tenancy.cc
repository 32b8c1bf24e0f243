#include "scheduler/tenancy.h"

#include <algorithm>

namespace offcut::scheduler {

namespace {

int TenantOfNamespace(const Tenancy& tenancy, const Pod& pod) {
  if (!pod.tenant_label.empty()) {
    const auto allowed = tenancy.by_label_in.find(pod.name_space);
    const int named = quota::FindTenant(*tenancy.tree, pod.tenant_label);
    if (allowed != tenancy.by_label_in.end() && std::ranges::count(allowed->second, named) > 0) {
      return named;
    }
  }
  const auto found = tenancy.by_namespace.find(pod.name_space);
  return found == tenancy.by_namespace.end() ? kNoTenant : found->second;
}

}  // namespace

Payer PayerOf(const Tenancy& tenancy, const Pod& pod, std::string_view admitted_queue) {
  if (tenancy.source != TenantSource::kKueue || admitted_queue.empty()) {
    return {.tenant = TenantOfNamespace(tenancy, pod)};
  }
  const auto found = tenancy.by_queue.find(admitted_queue);
  return {.tenant = found == tenancy.by_queue.end() ? kNoTenant : found->second,
          .is_charged_elsewhere = true};
}

std::string_view PoolOf(const Tenancy& tenancy, const binpack::GpuModel* model,
                        std::string_view product) {
  for (const PoolSpec& pool : tenancy.pools) {
    if (binpack::NamesModel(pool.models, model, product)) return pool.name;
  }
  return kDefaultPool;
}

std::string_view NameOf(const Tenancy& tenancy, int tenant) {
  if (tenant == kNoTenant) return {};
  return tenancy.tree->tenants[static_cast<std::size_t>(tenant)].name;
}

}  // namespace offcut::scheduler
