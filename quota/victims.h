// Who must give way so that a newcomer gets what it asks for.
//
// A *contested* cell is one that is short. A pod may be a victim if it uses a contested cell, and
// - it is its own tenant's, where the rules let the newcomer take from it; or
// - its tenant, and every tenant above that one up to what it has in common with the newcomer's,
//   uses more of a contested cell than its guarantee: it borrows. It is looked at again before each
//   victim is taken, and no victim may take it below the guarantee, where the rules say so.
// A newcomer that ends within a guarantee of its own, or of a tenant above it, *reclaims*: it may
// borrow no more than that. One that would borrow takes from other borrowers only where the rules
// have `while_borrowing`.
//
// Victims are taken in order until the newcomer fits, then given back from the last to the first
// where it fits all the same. So none of them can be left out; it need not be the smallest
// set. All or nothing: without a set that suffices nobody is taken.
//
// Source: Kueue, pkg/scheduler/preemption: classical preemption with hierarchical cohorts. Other
// than there, cells that are not contested do not matter to whether a newcomer reclaims from lower
// priorities (kubernetes-sigs/kueue issue 7393), and a newcomer that takes from its own tenant
// alone does not take more than it needs so as not to borrow. Where priorities do not count they do
// matter: else two that are guaranteed one resource each, and borrow the other's, evict each other
// for ever. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "quota/ledger.h"

namespace offcut::quota {

// Whom a newcomer may take from, by priority.
enum class Taking {
  kNever,
  kLower,
  kAny,
};

struct VictimRules {
  Taking within_tenant = Taking::kLower;
  Taking from_borrowers = Taking::kLower;  // while the newcomer reclaims
  // Somebody takes from borrowers whatever their priority: with kAny here, or by other rules beside
  // these. Then only those reclaim who borrow none of what they ask for, contested or not.
  bool beside_any = false;
  // While it would borrow itself: from those of lower priority, and of at most `priority_max`.
  bool while_borrowing = false;
  std::int64_t priority_max = INT64_MAX;
  // Whether the last victim of a borrower may take it below its guarantee, as in Kueue.
  bool may_cross_guarantee = false;
  bool operator==(const VictimRules&) const = default;
};

struct Newcomer {
  int tenant = 0;
  std::int64_t priority = 0;
  Charge charge;
};

struct VictimCandidate {
  int tenant = 0;
  std::int64_t priority = 0;
  std::int64_t since = 0;  // when it was given its quota; any clock
  bool is_ending = false;  // it leaves already
  std::string_view uid;
  Charge charge;
};

enum class VictimReason {
  kWithinTenant,
  kReclaim,
  kWhileBorrowing,
  kFairShare,
};

struct Victim {
  std::size_t candidate = 0;  // index in what was given
  VictimReason reason = VictimReason::kWithinTenant;
  bool operator==(const Victim&) const = default;
};

// Whether the newcomer fits with those gone, besides quota: on a node's devices, say. Indices in
// the candidates, in no order that means anything. Fewer gone never make room.
using FitsWithout = std::function<bool(std::span<const std::size_t> gone)>;

// Where devices are short, `candidates` are those alone that hold some of what the newcomer could
// get: one that goes in vain may use up what its tenant may lose.
struct VictimSearch {
  const Newcomer& newcomer;
  std::span<const VictimCandidate> candidates;
  std::span<const int> contested;  // cells, ascending
  const FitsWithout& fits;
};

// Who is taken first: who leaves already; who is not of the newcomer's tenant; then lower priority,
// the later start, the lower UID.
bool IsTakenBefore(const VictimCandidate& a, const VictimCandidate& b, int tenant);

// The cells of the charge that are short, or where none is, all: then it is devices that are. Those
// that the tenant does not take part in never count.
std::vector<int> ContestedCells(const Ledger& ledger, int tenant,
                                std::span<const CellAmount> charge);

// The candidates that could be taken at all, whoever goes before them: indices, ascending. Where
// the newcomer does not fit without all of these, FindVictims() finds no set. `search.fits` is not
// asked; the ledger is what it was when the function returns.
std::vector<std::size_t> EligibleVictims(Ledger& ledger, const VictimSearch& search,
                                         const VictimRules& rules);

// In the order in which they were taken; empty: it fits as things are; nullopt: not even without
// all who may be taken. The ledger has the candidates' charges, and not the newcomer's; it is
// edited on the way, and is what it was when the function returns.
std::optional<std::vector<Victim>> FindVictims(Ledger& ledger, const VictimSearch& search,
                                               const VictimRules& rules);

}  // namespace offcut::quota
