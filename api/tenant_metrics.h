// Tenants as Prometheus sees them, worked out of one snapshot at each scrape, so that a tenant that
// is gone leaves no series behind:
//   offcut_tenant_devices{tenant,pool,state}   guaranteed, used, borrowed, lent; GPUs
//   offcut_tenant_waiting_pods{tenant}         its own pods that ask for devices and hold none
//   offcut_tenants_left_out                    tenants beyond the limit, which have no series
// Pure.
#pragma once

#include <cstddef>
#include <string>

#include "scheduler/snapshot.h"

namespace offcut::api {

// Pairs of a tenant and a pool in which it has a limit of devices; four series each.
inline constexpr std::size_t kTenantPoolsMax = 2'000;

// In the Prometheus text format, version 0.0.4; empty without tenants. Tenants are taken as the
// tree has them, each with all of its pools or not at all, as many as make at most `pools_max`
// pairs; one without any counts as one.
std::string PrintTenantMetrics(const scheduler::Snapshot& snapshot,
                               std::size_t pools_max = kTenantPoolsMax);

}  // namespace offcut::api
