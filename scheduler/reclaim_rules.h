// What a policy says of reclaim: whether pods are evicted for what kube-scheduler's preemption
// cannot give, and how often. Pure values.
#pragma once

#include <cstdint>

namespace offcut::scheduler {

// kDryRun: says who would be evicted, and evicts nobody.
enum class ReclaimMode { kOff, kDryRun, kOn };

struct ReclaimRules {
  ReclaimMode mode = ReclaimMode::kOff;
  std::int64_t after_s = 60;  // a pod has been refused for so long; preemption goes first
  std::int64_t hold_s = 300;  // so long what is freed is kept for it
  // Between two tries for one pod: as long as a hold at first, then twice as long each time, up to
  // this.
  std::int64_t backoff_s_max = 3600;
  // In any `window_s` seconds so many pods of one owner (one without owner for itself), and of one
  // tenant, are evicted at most.
  std::int64_t window_s = 3600;
  int evictions_per_workload_max = 3;
  int evictions_per_tenant_max = 20;
  bool operator==(const ReclaimRules&) const = default;
};

// Holds with a date, scheduler/dated_hold.h.
struct DatedHoldRules {
  std::int64_t after_s = 600;  // a pod has been refused for so long; 0: there are no such holds
  bool operator==(const DatedHoldRules&) const = default;
};

}  // namespace offcut::scheduler
