#include "api/policy_check.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/document.h"
#include "api/number_text.h"
#include "api/policy_quota.h"
#include "api/policy_reader.h"
#include "quota/tenant_tree.h"
#include "scheduler/capacity.h"
#include "scheduler/tenancy.h"

namespace offcut::api {
namespace {

using scheduler::Tenancy;

// Of each tenant of the tree, whether a pod can be of it or of a tenant below it.
std::vector<bool> Reachable(const Tenancy& tenancy) {
  std::vector<bool> reachable(tenancy.tree->tenants.size());
  const auto mark = [&](int tenant) { reachable[static_cast<std::size_t>(tenant)] = true; };
  for (const auto& [name, tenant] : tenancy.by_namespace) mark(tenant);
  for (const auto& [name, tenant] : tenancy.by_queue) mark(tenant);
  for (const auto& [name, tenants] : tenancy.by_label_in) std::ranges::for_each(tenants, mark);
  for (std::size_t t = reachable.size(); t-- > 0;) {  // children before their parents
    const int parent = tenancy.tree->Parent(static_cast<int>(t));
    if (reachable[t] && parent >= 0) mark(parent);
  }
  return reachable;
}

std::string AmountText(std::string_view resource, std::int64_t amount) {
  if (resource == quota::kDevices) {
    const std::string gpus = GpusText(amount);
    return gpus + (gpus == "1" ? " GPU" : " GPUs");
  }
  if (resource == quota::kMemoryMib) return std::to_string(amount) + " MiB";
  if (resource == quota::kCores) return NumberOf(amount, "thousandth") + " of a GPU's cores";
  return NumberOf(amount, "instance") + " of " + std::string(resource);
}

std::string ShortageText(const quota::GuaranteeShortage& shortage, const quota::Cell& cell) {
  const std::string pool =
      cell.pool == quota::kAllPools ? "all pools together" : "pool " + Quoted(cell.pool);
  return "the tenants without parent are guaranteed " +
         AmountText(cell.resource, shortage.guaranteed) + " of " + pool + ", which has " +
         AmountText(cell.resource, shortage.capacity);
}

class Findings {
 public:
  Findings(std::string_view text, std::string_view file)
      : document_(ReadDocument(text)), errors_(file) {}

  void Add(std::string_view pointer, PolicyErrorCode code, std::string message) {
    const Place place = document_ ? FindPlace(document_->root, pointer)
                                  : Place{.position = {}, .pointer = std::string(pointer)};
    errors_.Add(place, code, std::move(message));
  }

  std::vector<PolicyError> InOrderOfText() && {
    std::vector<PolicyError> found = std::move(errors_).InOrderOfText();
    for (PolicyError& each : found) each.is_warning = each.code != PolicyErrorCode::kBeyondCluster;
    return found;
  }

 private:
  std::expected<Document, DocumentError> document_;
  ErrorList errors_;
};

std::string PointerOf(const Tenancy& tenancy, std::size_t tenant) {
  return "/tenants/" + std::to_string(tenancy.tree->tenants[tenant].spec);
}

void CheckTenants(const Tenancy& tenancy, Findings& findings) {
  const std::vector<bool> reachable = Reachable(tenancy);
  for (std::size_t t = 0; t < reachable.size(); ++t) {
    if (reachable[t]) continue;
    findings.Add(PointerOf(tenancy, t), PolicyErrorCode::kUnreachableTenant,
                 "no pod can be of tenant " + Quoted(tenancy.tree->tenants[t].name) +
                     ": neither it nor a tenant below it has namespaces, labelNamespaces or "
                     "queues");
  }
}

// A tenant without parent borrows of nobody, and nobody stands beside it to lend to.
void CheckRoot(const quota::TenantSpec& spec, const std::string& pointer, Findings& findings) {
  const auto add = [&](const std::string& below, std::string_view what) {
    findings.Add(pointer + below, PolicyErrorCode::kNoEffect,
                 "changes nothing: tenant " + Quoted(spec.name) + " has no parent, and so " +
                     std::string(what));
  };
  if (spec.weight_micro != quota::kWeightOne) add("/weight", "borrows of nobody");
  std::vector<std::string_view> pools;  // of the entries until here
  std::set<std::string> said;
  for (const quota::QuotaSpec& quota : spec.quotas) {
    if (std::ranges::count(pools, quota.pool) == 0) pools.push_back(quota.pool);
    const std::string entry = "/quotas/" + std::to_string(pools.size() - 1);
    if (quota.borrowing_limit && said.insert(entry + "/borrowingLimit").second) {
      add(entry + "/borrowingLimit", "borrows of nobody");
    }
    if (quota.lending_limit && said.insert(entry + "/lendingLimit").second) {
      add(entry + "/lendingLimit", "lends to nobody but those below it");
    }
  }
}

void CheckLimits(const Tenancy& tenancy, Findings& findings) {
  for (std::size_t t = 0; t < tenancy.tree->tenants.size(); ++t) {
    if (tenancy.tree->Parent(static_cast<int>(t)) >= 0) continue;
    const quota::TenantSpec& spec = tenancy.specs[tenancy.tree->tenants[t].spec];
    CheckRoot(spec, PointerOf(tenancy, t), findings);
  }
}

void CheckLabelNamespaces(const Tenancy& tenancy, Findings& findings) {
  for (const auto& [name, tenants] : tenancy.by_label_in) {
    if (tenancy.by_namespace.contains(name) || tenants.empty()) continue;
    const auto first = std::ranges::min(tenants, {}, [&](int tenant) {
      return tenancy.tree->tenants[static_cast<std::size_t>(tenant)].spec;
    });
    findings.Add(PointerOf(tenancy, static_cast<std::size_t>(first)) + "/labelNamespaces",
                 PolicyErrorCode::kUnownedNamespace,
                 "namespace " + Quoted(name) +
                     " is in no tenant's namespaces: a pod there that names none by its label is "
                     "held to no quota");
  }
}

void CheckCluster(const Tenancy& tenancy, const scheduler::Snapshot& snapshot, Findings& findings) {
  const std::map<std::string, quota::Amount> capacity =
      scheduler::CapacityByPool(snapshot, tenancy);
  for (const quota::GuaranteeShortage& shortage : quota::FindShortages(*tenancy.tree, capacity)) {
    const quota::Cell& cell = tenancy.tree->cells[static_cast<std::size_t>(shortage.cell)];
    findings.Add("/tenants", PolicyErrorCode::kBeyondCluster, ShortageText(shortage, cell));
  }
  for (std::size_t i = 0; i < tenancy.pools.size(); ++i) {
    if (capacity.contains(tenancy.pools[i].name)) continue;
    findings.Add("/pools/" + std::to_string(i), PolicyErrorCode::kEmptyPool,
                 "no node has a GPU of pool " + Quoted(tenancy.pools[i].name));
  }
}

}  // namespace

std::vector<PolicyError> CheckPolicy(std::string_view text, std::string_view file,
                                     const scheduler::Policy& policy,
                                     const scheduler::Snapshot* snapshot) {
  if (policy.tenancy == nullptr) return {};
  Findings findings(text, file);
  // Errors first: should there be too many findings, those that come last are not told.
  if (snapshot != nullptr) CheckCluster(*policy.tenancy, *snapshot, findings);
  CheckTenants(*policy.tenancy, findings);
  CheckLimits(*policy.tenancy, findings);
  CheckLabelNamespaces(*policy.tenancy, findings);
  return std::move(findings).InOrderOfText();
}

}  // namespace offcut::api
