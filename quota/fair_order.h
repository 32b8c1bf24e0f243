// Who is next: the order in which waiting requests are given quota.
//
// From the leaves up, the requests of siblings' subtrees meet at their parent, and the one whose
// subtree would then have the lowest dominant share goes on; of equal ones that of higher priority,
// then the one that has waited longer, then the first that was given. So whoever stays within its
// guarantee goes before whoever borrows, whatever their ages. Within a tenant priority and age
// decide. At the top, roots have nothing to share, and priority and age decide again.
//
// Only what fits competes: what does not is passed over and blocks nobody, not even its own
// tenant's. Giving quota only leaves less of it, so it need not be looked at again. Who would
// rather wait for room for a large one must not offer the small ones.
//
// Time: a check of each tenant that waits, for each request that is chosen.
//
// Source: Kueue's fair sharing iterator, pkg/scheduler/fair_sharing_iterator.go; Dominant Resource
// Fairness (Ghodsi et al., NSDI 2011), which this is where nobody has a guarantee. Other than
// Kueue, whose queues' heads compete whether they fit or not. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "quota/ledger.h"

namespace offcut::quota {

// One pod, or all of a gang that must start together.
struct Waiting {
  int tenant = 0;
  Charge charge;
  std::int64_t priority = 0;
  std::int64_t since = 0;  // any clock; lower has waited longer
};

// The indices in `waiting` of those that get quota, in that order, at most `at_most`. Each is
// charged before the next is chosen: two that fit alone, but not together, are not both chosen.
std::vector<std::size_t> FairOrder(Ledger ledger, std::span<const Waiting> waiting,
                                   std::size_t at_most = SIZE_MAX);

}  // namespace offcut::quota
