// Which part of a tenant's quota refuses a pod on a node, in numbers, for people. A filter's answer
// has constant texts; here stands what they leave out.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "quota/ledger.h"
#include "scheduler/evaluation.h"
#include "scheduler/snapshot.h"

namespace offcut::scheduler {

// Units: those of the resource, as in quota/amount.h.
struct QuotaRefusal {
  Reason reason = Reason::kQuotaWait;  // or kQuotaNever
  std::string pool;
  std::string resource;
  std::int64_t asked = 0;    // what the pod would be charged
  quota::Standing standing;  // the tenant's; what is expected of other pods counts as used
  std::int64_t borrowing_limit = quota::kUnlimited;  // the tenant's own
  bool may_borrow = false;                           // somebody stands above it
  // The tenant, or one above it, and what that one has left; kQuotaNever: if nobody used anything.
  std::string limited_by;
  std::int64_t left_there = 0;
  bool operator==(const QuotaRefusal&) const = default;
};

// As filter judges; nullopt: quota does not refuse the pod there. Requires: the node could serve
// the pod, now or once others have left.
std::optional<QuotaRefusal> RefusalByQuota(const Snapshot& snapshot, const Pod& pod,
                                           const Node& node, const Policy& policy,
                                           Prefilter prefilter);

}  // namespace offcut::scheduler
