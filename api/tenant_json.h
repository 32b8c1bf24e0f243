// Tenants as the read-only JSON of /api/v1 and of `offcut tenants` shows them.
//
// Amounts are in the units of their resource: "devices" in 1/1400 of a GPU, "memoryMiB" in MiB,
// "coresPermille" in thousandths of a GPU's compute, instances by count. null: unlimited.
// Pure.
#pragma once

#include <span>

#include <nlohmann/json_fwd.hpp>

#include "scheduler/quota_refusal.h"
#include "scheduler/resource_quota.h"
#include "scheduler/tenant_report.h"

namespace offcut::api {

// {"name", "parent" ("": none), "weight", "namespaces": [...], "namespacesByLabel": [...],
//  "quotas": [{"pool", "resource", "guarantee", "used", "own", "borrowed", "lent",
//              "borrowingLimit", "lendingLimit", "available", "potential"}],
//  "dominantShare": {"permille", "resource"},
//  "resourceQuotas": [{"namespace", "name", "hard": {RESOURCE: COUNT}, "used"}],
//  "waiting": {"pods", "gated", "notJudged", "reasons": {CODE: COUNT}, "oldest": [{"namespace",
//              "name", "uid", "createdSeconds", "gated", "reason", "text"}]}}
// `used` is by the tenant and all below it, `own` by its own pods; they alone wait, too. `permille`
// is null for a tenant of weight 0 that borrows, `resource` "" for one that does not. A pod that
// fits has the reason "fits"; one that has not been judged has null.
// `resource_quotas`: Kubernetes' own, of all namespaces; shown with the tenant whose namespace it
// is.
nlohmann::json ToJson(const scheduler::TenantReport& report, const scheduler::Tenancy& tenancy,
                      std::span<const scheduler::ResourceQuota> resource_quotas = {});

// {"items": [...]}. Requires: tenancy != nullptr, or there are no reports.
nlohmann::json ToJson(std::span<const scheduler::TenantReport> reports,
                      const scheduler::Tenancy* tenancy,
                      std::span<const scheduler::ResourceQuota> resource_quotas = {});

// {"reason", "pool", "resource", "asked", "guarantee", "used", "borrowed", "lent",
//  "borrowingLimit", "available", "potential", "limitedBy", "leftThere"}
nlohmann::json ToJson(const scheduler::QuotaRefusal& refusal);

}  // namespace offcut::api
