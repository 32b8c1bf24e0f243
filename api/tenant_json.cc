#include "api/tenant_json.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace offcut::api {
namespace {

using nlohmann::json;
using scheduler::Tenancy;
using scheduler::TenantReport;

json AmountOrNull(std::int64_t amount) {
  return amount == quota::kUnlimited ? json() : json(amount);
}

// By tenant: which namespaces lead to it, where pods may name it by their label, and Kubernetes'
// own quotas of its namespaces.
struct Namespaces {
  std::vector<std::vector<std::string_view>> own;
  std::vector<std::vector<std::string_view>> by_label;
  std::vector<std::vector<const scheduler::ResourceQuota*>> quotas;
};

Namespaces NamespacesOf(const Tenancy& tenancy,
                        std::span<const scheduler::ResourceQuota> resource_quotas) {
  const std::size_t count = tenancy.tree->tenants.size();
  Namespaces namespaces{.own = std::vector<std::vector<std::string_view>>(count),
                        .by_label = std::vector<std::vector<std::string_view>>(count),
                        .quotas = std::vector<std::vector<const scheduler::ResourceQuota*>>(count)};
  for (const auto& [name, tenant] : tenancy.by_namespace) {
    namespaces.own[static_cast<std::size_t>(tenant)].push_back(name);
  }
  for (const auto& [name, tenants] : tenancy.by_label_in) {
    for (const int tenant : tenants) {
      namespaces.by_label[static_cast<std::size_t>(tenant)].push_back(name);
    }
  }
  for (const scheduler::ResourceQuota& quota : resource_quotas) {
    const auto owner = tenancy.by_namespace.find(quota.name_space);
    if (owner == tenancy.by_namespace.end()) continue;
    namespaces.quotas[static_cast<std::size_t>(owner->second)].push_back(&quota);
  }
  return namespaces;
}

json QuotasOf(const TenantReport& report, const quota::TenantTree& tree) {
  json quotas = json::array();
  for (const scheduler::TenantCell& each : report.cells) {
    const quota::Cell& cell = tree.cells[static_cast<std::size_t>(each.cell)];
    const quota::CellPlan& plan = tree.Plan(each.cell, report.tenant);
    quotas.push_back({{"pool", cell.pool},
                      {"resource", cell.resource},
                      {"guarantee", each.standing.guarantee},
                      {"used", each.standing.used},
                      {"own", each.own},
                      {"borrowed", each.standing.borrowed},
                      {"lent", each.standing.lent},
                      {"borrowingLimit", AmountOrNull(plan.borrowing_limit)},
                      {"lendingLimit", AmountOrNull(plan.lending_limit)},
                      {"available", AmountOrNull(each.standing.available)},
                      {"potential", AmountOrNull(each.standing.potential)}});
  }
  return quotas;
}

json ShareOf(const quota::DominantShare& share, const quota::TenantTree& tree) {
  const std::string resource =
      share.resource < 0 ? "" : tree.shared[static_cast<std::size_t>(share.resource)];
  return {{"permille", AmountOrNull(quota::SharePermille(share))}, {"resource", resource}};
}

json WaitingJson(const scheduler::WaitingPods& waiting) {
  json reasons = json::object();
  for (const auto& [reason, pods] : waiting.reasons) {
    reasons[std::string(scheduler::InfoOf(reason).code)] = pods;
  }
  json oldest = json::array();
  for (const scheduler::WaitingPod& each : waiting.oldest) {
    json pod = {{"namespace", each.pod->name_space},
                {"name", each.pod->name},
                {"uid", each.pod->uid},
                {"createdSeconds", each.pod->created_s},
                {"gated", each.pod->has_quota_gate},
                {"reason", nullptr},
                {"text", nullptr}};
    if (each.reason) {
      pod["reason"] = scheduler::InfoOf(*each.reason).code;
      pod["text"] = scheduler::InfoOf(*each.reason).text;
    }
    oldest.push_back(std::move(pod));
  }
  return {{"pods", waiting.pods},
          {"gated", waiting.gated},
          {"notJudged", waiting.not_judged},
          {"reasons", std::move(reasons)},
          {"oldest", std::move(oldest)}};
}

json ResourceQuotasJson(const std::vector<const scheduler::ResourceQuota*>& quotas) {
  json shown = json::array();
  for (const scheduler::ResourceQuota* quota : quotas) {
    shown.push_back({{"namespace", quota->name_space},
                     {"name", quota->name},
                     {"hard", quota->hard},
                     {"used", quota->used}});
  }
  return shown;
}

json TenantJson(const TenantReport& report, const Tenancy& tenancy, const Namespaces& namespaces) {
  const quota::TenantTree& tree = *tenancy.tree;
  const auto index = static_cast<std::size_t>(report.tenant);
  const auto weight = static_cast<double>(tree.tenants[index].weight_micro);
  return {{"name", tree.tenants[index].name},
          {"parent", scheduler::NameOf(tenancy, tree.Parent(report.tenant))},
          {"weight", weight / static_cast<double>(quota::kWeightOne)},
          {"namespaces", namespaces.own[index]},
          {"namespacesByLabel", namespaces.by_label[index]},
          {"quotas", QuotasOf(report, tree)},
          {"dominantShare", ShareOf(report.share, tree)},
          {"resourceQuotas", ResourceQuotasJson(namespaces.quotas[index])},
          {"waiting", WaitingJson(report.waiting)}};
}

}  // namespace

json ToJson(const TenantReport& report, const Tenancy& tenancy,
            std::span<const scheduler::ResourceQuota> resource_quotas) {
  return TenantJson(report, tenancy, NamespacesOf(tenancy, resource_quotas));
}

json ToJson(std::span<const TenantReport> reports, const Tenancy* tenancy,
            std::span<const scheduler::ResourceQuota> resource_quotas) {
  json items = json::array();
  if (reports.empty()) return {{"items", std::move(items)}};
  const Namespaces namespaces = NamespacesOf(*tenancy, resource_quotas);
  for (const TenantReport& report : reports) {
    items.push_back(TenantJson(report, *tenancy, namespaces));
  }
  return {{"items", std::move(items)}};
}

json ToJson(const scheduler::QuotaRefusal& refusal) {
  return {{"reason", scheduler::InfoOf(refusal.reason).code},
          {"pool", refusal.pool},
          {"resource", refusal.resource},
          {"asked", refusal.asked},
          {"guarantee", refusal.standing.guarantee},
          {"used", refusal.standing.used},
          {"borrowed", refusal.standing.borrowed},
          {"lent", refusal.standing.lent},
          {"borrowingLimit", AmountOrNull(refusal.borrowing_limit)},
          {"available", AmountOrNull(refusal.standing.available)},
          {"potential", AmountOrNull(refusal.standing.potential)},
          {"limitedBy", refusal.limited_by},
          {"leftThere", AmountOrNull(refusal.left_there)}};
}

}  // namespace offcut::api
