// Who must give way where tenants share by dominant share: those whose share is highest, as long as
// the newcomer's side does not become the one that has more.
//
// A newcomer that stays within its tenant's guarantee reclaims from any borrower, whatever the
// shares. Else shares are compared where the two sides part: of the tenants just below what both
// have in common, the newcomer's with the newcomer, the candidate's without the victim.
//
// Where this and the rules of quota/victims.h mix, nobody has proved that evictions cannot go round
// in a circle; a tenant's share goes down with each victim only where what is contested is what
// its share is made of.
//
// Source: Kueue, pkg/scheduler/preemption/fairsharing; KEP 1714. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "quota/victims.h"

namespace offcut::quota {

struct FairRules {
  // S2-a: the newcomer's side, with it, has at most what the other has without the victim.
  bool at_most_final_share = true;
  // S2-b, for what the first did not allow, once a tenant: the newcomer's side, with it, has less
  // than the other has with the victim. Breaks up one that is huge.
  bool below_initial_share = true;
};

// As EligibleVictims, for FindFairVictims().
std::vector<std::size_t> EligibleFairVictims(Ledger& ledger, const VictimSearch& search,
                                             const VictimRules& rules);

// As FindVictims. Requires: `rules.while_borrowing` is not set; it has no meaning here.
std::optional<std::vector<Victim>> FindFairVictims(Ledger& ledger, const VictimSearch& search,
                                                   const VictimRules& rules,
                                                   const FairRules& fair_rules);

}  // namespace offcut::quota
