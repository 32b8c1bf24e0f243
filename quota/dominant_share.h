// How far a tenant lives on what others lend, as one number that tenants can be compared by.
//
//   share(n) = max over resources of
//              (sum over pools of what n uses beyond its subtree) / (what n's parent could use)
//              / weight(n)
// Who does not borrow has share 0, and so has a root, which nobody lends to. Weight 0 while
// borrowing is more than any number; two such are compared without their weights.
//
// Units: reported in thousandths, rounded up; compared exactly.
// Source: Kueue, pkg/cache/scheduler/fair_sharing.go; KEP 1714. Kueue rounds to 64 bit floats.
// Pure values.
#pragma once

#include <compare>
#include <cstdint>
#include <span>

#include "quota/ledger.h"

namespace offcut::quota {

struct DominantShare {
  bool borrowing = false;
  int resource = -1;          // index in TenantTree::shared; -1: none, or one that nobody lends
  std::int64_t borrowed = 0;  // of that resource
  std::int64_t lendable = 1;  // of that resource; above 0
  std::int64_t weight_micro = kWeightOne;
};

// The share as things are, or as they would be once `tenant` were charged `more`, which the tenant
// itself and those above it can feel. Requires: `node` is the tenant or above it.
DominantShare ShareOf(const Ledger& ledger, int node);
DominantShare ShareAfter(const Ledger& ledger, int node, int tenant,
                         std::span<const CellAmount> more);
// The same as ShareAfter, for the pods of a tenant that has children, beside those: what they are
// to their tenant, as a child of weight 1 without guarantee.
DominantShare OwnShareAfter(const Ledger& ledger, int tenant, std::span<const CellAmount> more);

// Less: comes first when quota is given, last when it is taken back.
std::strong_ordering Compare(const DominantShare& a, const DominantShare& b);

// kUnlimited for weight 0 while borrowing.
std::int64_t SharePermille(const DominantShare& share);

}  // namespace offcut::quota
