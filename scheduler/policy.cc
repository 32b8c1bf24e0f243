#include "scheduler/policy.h"

#include "binpack/strategy.h"

namespace offcut::scheduler {

quota::VictimRules QuotaRulesOf(const Policy& policy) {
  return {.within_tenant = policy.preemption.within_tenant,
          .from_borrowers = policy.preemption.from_borrowers,
          .beside_any = policy.reclaim.mode == ReclaimMode::kOn};
}

Ties TiesOf(const Policy& policy) {
  if (policy.ties) return *policy.ties;
  return policy.packing->strategy->breaks_ties_by_name ? Ties::kName : Ties::kStrict;
}

}  // namespace offcut::scheduler
