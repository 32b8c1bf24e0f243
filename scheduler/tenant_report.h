// Where tenants stand, for people: what is theirs and who uses it, and which of their pods wait for
// devices and why. The reasons are those of the decisions themselves, judged as if nobody had
// filtered before us: by what Offcut decides on, not by selectors, affinity, taints and volumes.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "quota/dominant_share.h"
#include "quota/ledger.h"
#include "scheduler/policy.h"
#include "scheduler/snapshot.h"

namespace offcut::scheduler {

// Requests that are judged for one report. Pods of a tenant that ask for the same share the answer
// of the oldest, so that a backlog of thousands is a handful.
inline constexpr std::size_t kRequestsJudgedMax = 200;
inline constexpr std::size_t kVerdictsMax = 1'000'000;  // requests times nodes
inline constexpr std::size_t kWaitingNamedMax = 10;     // pods of a tenant

struct TenantCell {
  int cell = 0;          // index in TenantTree::cells
  std::int64_t own = 0;  // what the tenant's own pods are charged
  quota::Standing standing;
};

struct ReasonPods {
  Reason reason = Reason::kFits;
  int pods = 0;
  bool operator==(const ReasonPods&) const = default;
};

struct WaitingPod {
  std::shared_ptr<const Pod> pod;
  std::optional<Reason> reason;  // nullopt: its request has not been judged
};

// A tenant's own pods that ask for devices and hold none.
struct WaitingPods {
  int pods = 0;
  int gated = 0;                    // of these: those with the gate offcut.dev/quota
  int not_judged = 0;               // of these: beyond the limits above
  std::vector<ReasonPods> reasons;  // most frequent first, then in the order of the enum
  std::vector<WaitingPod> oldest;   // at most kWaitingNamedMax, the oldest first
};

struct TenantReport {
  int tenant = 0;
  int depth = 0;                  // of a root: 0
  std::vector<TenantCell> cells;  // where it is held to something, or uses something
  quota::DominantShare share;
  WaitingPods waiting;
};

// A tenant's children follow it at once; siblings by name.
std::vector<int> TenantsInOrder(const quota::TenantTree& tree);

// One report a tenant, in that order; of `only` alone where it is given. Empty where the snapshot
// has no tenants.
std::vector<TenantReport> ReportTenants(const Snapshot& snapshot, const Policy& policy,
                                        int only = kNoTenant);

// How many of each tenant's own pods wait for devices. Requires: the snapshot has tenants.
std::vector<int> CountWaiting(const Snapshot& snapshot);

// The reason that stands for what all nodes say: that one of them fits; else one that time may mend
// (`quota.wait`, GPUs that are taken); else `quota.never`; else another, and that a node offers no
// such resource at all only where nobody says more. Of several the most frequent. No verdict at
// all: as if no node offered it.
Reason ReasonOfAll(std::span<const Verdict> verdicts);

}  // namespace offcut::scheduler
