#include "quota/victim_walk.h"

#include <algorithm>
#include <cassert>

namespace offcut::quota {

int LowestCommon(const TenantTree& tree, int a, int b) {
  // Parents come before their children: the later of the two cannot be above the other.
  while (a != b && a >= 0 && b >= 0) {
    if (a > b) {
      a = tree.Parent(a);
    } else {
      b = tree.Parent(b);
    }
  }
  return a == b ? a : -1;
}

bool Uses(std::span<const CellAmount> charge, std::span<const int> cells) {
  return std::ranges::any_of(
      charge, [&](CellAmount each) { return std::ranges::binary_search(cells, each.cell); });
}

bool BorrowsAny(const Ledger& ledger, int tenant, std::span<const int> cells) {
  return std::ranges::any_of(cells, [&](int cell) {
    return ledger.Used(tenant, cell) > ledger.tree().Plan(cell, tenant).subtree;
  });
}

void VictimWalk::Charge(std::size_t candidate) {
  const VictimCandidate& each = CandidateAt(candidate);
  ledger_.Add(each.tenant, each.charge);
}

void VictimWalk::Discharge(std::size_t candidate) {
  const VictimCandidate& each = CandidateAt(candidate);
  ledger_.Remove(each.tenant, each.charge);
}

bool VictimWalk::KeepsGuarantees(std::size_t candidate, int common) {
  const VictimCandidate& victim = CandidateAt(candidate);
  Discharge(candidate);
  bool keeps = true;
  for (int t = victim.tenant; t != common && keeps; t = ledger_.tree().Parent(t)) {
    keeps = std::ranges::any_of(victim.charge, [&](CellAmount each) {
      return std::ranges::binary_search(search_.contested, each.cell) &&
             ledger_.Used(t, each.cell) >= ledger_.tree().Plan(each.cell, t).subtree;
    });
  }
  Charge(candidate);
  return keeps;
}

void VictimWalk::Take(std::size_t candidate, VictimReason reason) {
  Discharge(candidate);
  taken_.push_back({candidate, reason});
  gone_.push_back(candidate);
}

void VictimWalk::GiveBack() {
  for (const Victim& victim : taken_) Charge(victim.candidate);
  taken_.clear();
  gone_.clear();
}

bool VictimWalk::Fits(bool may_borrow) const {
  const Newcomer& newcomer = search_.newcomer;
  if (!may_borrow && ledger_.Borrows(newcomer.tenant, newcomer.charge)) return false;
  return ledger_.Check(newcomer.tenant, newcomer.charge).answer == Answer::kFits &&
         search_.fits(gone_);
}

std::vector<Victim> VictimWalk::Minimal(bool may_borrow) {
  assert(Fits(may_borrow));
  for (std::size_t i = taken_.size(); i-- > 0;) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    const std::size_t candidate = taken_[i].candidate;
    Charge(candidate);
    gone_.erase(gone_.begin() + at);
    if (Fits(may_borrow)) {
      taken_.erase(taken_.begin() + at);
    } else {
      Discharge(candidate);
      gone_.insert(gone_.begin() + at, candidate);
    }
  }
  return taken_;
}

}  // namespace offcut::quota
