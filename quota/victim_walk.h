// What both ways of finding victims do: take, give back, and ask whether the newcomer fits.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "quota/victims.h"

namespace offcut::quota {

inline bool Allows(Taking taking, std::int64_t newcomer, std::int64_t candidate) {
  return taking == Taking::kAny || (taking == Taking::kLower && candidate < newcomer);
}

// A tenant and all above it share no root: -1.
int LowestCommon(const TenantTree& tree, int a, int b);

bool Uses(std::span<const CellAmount> charge, std::span<const int> cells);

// More than its subtree has, of one of the cells.
bool BorrowsAny(const Ledger& ledger, int tenant, std::span<const int> cells);

// Both outlive the object. While it lives the ledger is without those that were taken.
class VictimWalk {
 public:
  VictimWalk(Ledger& ledger, const VictimSearch& search) : ledger_(ledger), search_(search) {}
  ~VictimWalk() { GiveBack(); }
  VictimWalk(const VictimWalk&) = delete;
  VictimWalk& operator=(const VictimWalk&) = delete;

  Ledger& ledger() { return ledger_; }
  const Ledger& ledger() const { return ledger_; }
  const VictimCandidate& CandidateAt(std::size_t i) const { return search_.candidates[i]; }

  void Take(std::size_t candidate, VictimReason reason);
  void GiveBack();  // all

  // Whether those who borrow still have their guarantees once the candidate has gone: its tenant
  // and those above it, below `common`.
  bool KeepsGuarantees(std::size_t candidate, int common);

  // `may_borrow`: more than the newcomer's tenant has itself.
  bool Fits(bool may_borrow) const;

  // Those that are needed of those that were taken. Requires: Fits(may_borrow).
  std::vector<Victim> Minimal(bool may_borrow);

 private:
  void Charge(std::size_t candidate);
  void Discharge(std::size_t candidate);

  Ledger& ledger_;
  const VictimSearch& search_;
  std::vector<Victim> taken_;
  std::vector<std::size_t> gone_;  // the same, as `fits` wants them
};

}  // namespace offcut::quota
