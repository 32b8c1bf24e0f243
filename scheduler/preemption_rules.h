// Who may be evicted for whom, as a policy says it. Quota's part of it is quota/victims.h.
// Pure values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quota/victims.h"

namespace offcut::scheduler {

// Pods with priorities of one band do not preempt each other.
struct PriorityBand {
  std::int32_t from = 0;
  std::int32_t to = 0;  // inclusive
  bool operator==(const PriorityBand&) const = default;
};

struct PreemptionRules {
  quota::Taking within_tenant = quota::Taking::kLower;
  quota::Taking from_borrowers = quota::Taking::kLower;
  // Across tenants by dominant share, and not only up to the newcomer's guarantee.
  bool fair_sharing = false;
  std::vector<PriorityBand> protected_bands;
  std::int64_t run_s_min = 0;            // a pod is left alone for so long after its creation
  std::vector<std::string> spared_uids;  // of pods that are left alone; ascending
  bool operator==(const PreemptionRules&) const = default;
};

}  // namespace offcut::scheduler
