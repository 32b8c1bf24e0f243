// Tenants for the terminal.
//
//   TENANT    POOL  RESOURCE  GUARANTEE  USED  BORROWED  LENT  AVAILABLE  SHARE  WAITING
//   research  a100  devices          16    11         0     0          5      -        0
//     team-a  a100  devices           8    10         2     0          0  12.5%        3
//
//   team-a: 3 pods wait
//     3 quota.wait  the pod's tenant has used up its quota and what it may borrow
//     oldest: ml/train-1, ml/train-2, ml/train-3
//
// Devices are printed as GPUs, with up to two decimals. Texts that came from outside are
// printable (api/printable.h).
// Pure; deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "scheduler/quota_refusal.h"
#include "scheduler/tenant_report.h"

namespace offcut::api {

// "8", "0.33"; "<0.01"; "unlimited". Devices are in 1/1400 of a GPU, all else as it stands.
std::string AmountText(std::string_view resource, std::int64_t amount);

// The children of each tenant stand under it, indented. Empty: a line that says so.
// Requires: tenancy != nullptr, or there are no reports.
std::string PrintTenants(std::span<const scheduler::TenantReport> reports,
                         const scheduler::Tenancy* tenancy);

// One tenant with each of the pods that are named, and why it waits.
std::string PrintTenant(const scheduler::TenantReport& report, const scheduler::Tenancy& tenancy);

// "team-a uses 8 of 8 GPUs guaranteed in pool a100 and borrows 2 of 2; the pod asks for 1"
std::string RefusalText(std::string_view tenant, const scheduler::QuotaRefusal& refusal);

}  // namespace offcut::api
