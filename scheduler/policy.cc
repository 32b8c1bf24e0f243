#include "scheduler/policy.h"

#include "binpack/strategy.h"

namespace offcut::scheduler {

Ties TiesOf(const Policy& policy) {
  if (policy.ties) return *policy.ties;
  return policy.packing->strategy->breaks_ties_by_name ? Ties::kName : Ties::kStrict;
}

}  // namespace offcut::scheduler
