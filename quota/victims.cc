#include "quota/victims.h"

#include <algorithm>
#include <tuple>

#include "quota/victim_walk.h"

namespace offcut::quota {
namespace {

// How a candidate of another tenant may be taken.
enum class Claim {
  kOwnTenant,
  kSuperior,          // the newcomer ends within a guarantee that the candidate has no part in
  kWithoutBorrowing,  // if the newcomer does not borrow
  kWhileBorrowing,
};

struct Entry {
  std::size_t candidate = 0;
  Claim claim = Claim::kOwnTenant;
  int common = -1;  // the lowest tenant that it has in common with the newcomer
};

class Search {
 public:
  Search(Ledger& ledger, const VictimSearch& search, const VictimRules& rules)
      : walk_(ledger, search), search_(search), rules_(rules) {}

  std::optional<std::vector<Victim>> Find() {
    if (walk_.Fits(true)) return std::vector<Victim>();
    FindReach();
    CollectEntries();
    for (const bool may_borrow : Attempts()) {
      if (auto victims = Attempt(may_borrow)) return victims;
    }
    return std::nullopt;
  }

  // What a tenant may lose only shrinks with each that goes: who may not go first may never.
  std::vector<std::size_t> Eligible() {
    FindReach();
    CollectEntries();
    std::vector<std::size_t> eligible;
    eligible.reserve(entries_.size());
    for (const Entry& entry : entries_) {
      if (MayTake(entry, false)) eligible.push_back(entry.candidate);
    }
    std::ranges::sort(eligible);
    return eligible;
  }

 private:
  const TenantTree& tree() const { return walk_.ledger().tree(); }

  std::int64_t Asked(int cell) const {
    const auto& charge = search_.newcomer.charge;
    const auto found = std::ranges::find(charge, cell, &CellAmount::cell);
    return found == charge.end() ? 0 : found->amount;
  }

  void FindReach() {
    if (!rules_.beside_any && rules_.from_borrowers != Taking::kAny) {
      reach_ = ReachOf(search_.contested);
      return;
    }
    std::vector<int> cells;
    cells.reserve(search_.newcomer.charge.size());
    for (const CellAmount& each : search_.newcomer.charge) {
      if (tree().Plan(each.cell, search_.newcomer.tenant).takes_part) cells.push_back(each.cell);
    }
    reach_ = ReachOf(cells);
  }

  // What of the cells the newcomer lacks, level by level from its tenant up: at each the part is
  // taken that the level keeps for itself. The first tenant whose subtree has room for what is left
  // by then, without borrowing; -1: none.
  int ReachOf(std::span<const int> cells) const {
    std::vector<std::int64_t> missing;
    missing.reserve(cells.size());
    for (const int cell : cells) missing.push_back(Asked(cell));
    for (int t = search_.newcomer.tenant; t >= 0; t = tree().Parent(t)) {
      bool has_room = true;
      for (std::size_t i = 0; i < missing.size(); ++i) {
        const CellPlan& plan = tree().Plan(cells[i], t);
        const std::int64_t used = walk_.ledger().Used(t, cells[i]);
        has_room = has_room && SaturatingAdd(used, missing[i]) <= plan.subtree;
        const std::int64_t kept = std::max<std::int64_t>(0, SaturatingSub(plan.local, used));
        missing[i] = std::max<std::int64_t>(0, SaturatingSub(missing[i], kept));
      }
      if (has_room) return t;
    }
    return -1;
  }

  // The newcomer's guarantee lies below what it has in common with the candidate.
  bool IsSuperior(int common) const {
    if (reach_ < 0 || reach_ == common) return false;
    return LowestCommon(tree(), reach_, common) == common;
  }

  void CollectEntries() {
    for (std::size_t i = 0; i < search_.candidates.size(); ++i) {
      const VictimCandidate& candidate = search_.candidates[i];
      if (!Uses(candidate.charge, search_.contested) && !search_.contested.empty()) continue;
      if (const auto entry = EntryOf(i)) entries_.push_back(*entry);
    }
    std::ranges::sort(entries_, [&](const Entry& a, const Entry& b) { return ComesFirst(a, b); });
  }

  std::optional<Entry> EntryOf(std::size_t i) const {
    const VictimCandidate& candidate = search_.candidates[i];
    const Newcomer& newcomer = search_.newcomer;
    if (candidate.tenant == newcomer.tenant) {
      if (!Allows(rules_.within_tenant, newcomer.priority, candidate.priority)) return std::nullopt;
      return Entry{.candidate = i, .claim = Claim::kOwnTenant, .common = candidate.tenant};
    }
    if (!Allows(rules_.from_borrowers, newcomer.priority, candidate.priority)) return std::nullopt;
    const int common = LowestCommon(tree(), candidate.tenant, newcomer.tenant);
    if (common < 0 || !BorrowsUpTo(candidate.tenant, common)) return std::nullopt;
    Claim claim = Claim::kWithoutBorrowing;
    if (IsSuperior(common)) {
      claim = Claim::kSuperior;
    } else if (rules_.while_borrowing && candidate.priority < newcomer.priority &&
               candidate.priority <= rules_.priority_max) {
      claim = Claim::kWhileBorrowing;
    } else if (common == newcomer.tenant) {
      return std::nullopt;  // a tenant guarantees its own pods nothing against its children's
    }
    return Entry{.candidate = i, .claim = claim, .common = common};
  }

  // The pods of a tenant with children live on what it guarantees to nobody: they always borrow.
  bool BorrowsUpTo(int tenant, int common) const {
    if (tenant == common) return true;
    for (int t = tenant; t != common; t = tree().Parent(t)) {
      if (!BorrowsAny(walk_.ledger(), t, search_.contested)) return false;
    }
    return true;
  }

  int RankOf(const Entry& entry) const {
    if (entry.claim == Claim::kOwnTenant) return 2;
    return entry.claim == Claim::kSuperior ? 0 : 1;
  }

  bool ComesFirst(const Entry& a, const Entry& b) const {
    const VictimCandidate& x = search_.candidates[a.candidate];
    const VictimCandidate& y = search_.candidates[b.candidate];
    const auto rank = [&](const Entry& entry, const VictimCandidate& candidate) {
      return std::tuple(!candidate.is_ending, RankOf(entry));
    };
    if (rank(a, x) != rank(b, y)) return rank(a, x) < rank(b, y);
    return IsTakenBefore(x, y, search_.newcomer.tenant);
  }

  bool IsBelowGuarantee() const {
    return std::ranges::all_of(search_.contested, [&](int cell) {
      const int tenant = search_.newcomer.tenant;
      return walk_.ledger().Used(tenant, cell) < tree().Plan(cell, tenant).subtree;
    });
  }

  // Whether the newcomer may borrow, in the order of trying.
  std::vector<bool> Attempts() const {
    const auto has = [&](auto claims) { return std::ranges::any_of(entries_, claims); };
    const bool others = has([](const Entry& e) { return e.claim != Claim::kOwnTenant; });
    const bool superior = has([](const Entry& e) { return e.claim == Claim::kSuperior; });
    if (!others || (!rules_.while_borrowing && !IsBelowGuarantee())) return {true};
    if (!rules_.while_borrowing && !superior) return {false, true};
    return {true, false};
  }

  bool MayTake(const Entry& entry, bool may_borrow) {
    if (entry.claim == Claim::kOwnTenant) return true;
    if (may_borrow && entry.claim == Claim::kWithoutBorrowing) return false;
    const int tenant = search_.candidates[entry.candidate].tenant;
    return BorrowsUpTo(tenant, entry.common) &&
           (rules_.may_cross_guarantee || walk_.KeepsGuarantees(entry.candidate, entry.common));
  }

  static bool IsOwn(const Victim& victim) { return victim.reason == VictimReason::kWithinTenant; }

  static VictimReason ReasonOf(Claim claim) {
    if (claim == Claim::kOwnTenant) return VictimReason::kWithinTenant;
    return claim == Claim::kWhileBorrowing ? VictimReason::kWhileBorrowing : VictimReason::kReclaim;
  }

  std::optional<std::vector<Victim>> Attempt(bool may_borrow) {
    for (const Entry& entry : entries_) {
      if (!MayTake(entry, may_borrow)) continue;
      walk_.Take(entry.candidate, ReasonOf(entry.claim));
      if (!walk_.Fits(may_borrow)) continue;
      std::vector<Victim> victims = walk_.Minimal(may_borrow);
      // Borrowing was ruled out for the sake of others' pods: without any, it is not.
      return std::ranges::all_of(victims, IsOwn) ? walk_.Minimal(true) : victims;
    }
    walk_.GiveBack();
    return std::nullopt;
  }

  VictimWalk walk_;
  const VictimSearch& search_;
  const VictimRules& rules_;
  int reach_ = -1;  // ReachOf() the cells that count
  std::vector<Entry> entries_;
};

}  // namespace

bool IsTakenBefore(const VictimCandidate& a, const VictimCandidate& b, int tenant) {
  const auto key = [&](const VictimCandidate& each) {
    return std::tuple(!each.is_ending, each.tenant == tenant, each.priority);
  };
  if (key(a) != key(b)) return key(a) < key(b);
  return std::tuple(b.since, a.uid) < std::tuple(a.since, b.uid);
}

std::vector<int> ContestedCells(const Ledger& ledger, int tenant,
                                std::span<const CellAmount> charge) {
  std::vector<int> cells;
  std::vector<int> all;
  for (const auto [cell, amount] : charge) {
    if (!ledger.tree().Plan(cell, tenant).takes_part) continue;
    all.push_back(cell);
    if (amount > ledger.Available(tenant, cell)) cells.push_back(cell);
  }
  return cells.empty() ? all : cells;
}

std::vector<std::size_t> EligibleVictims(Ledger& ledger, const VictimSearch& search,
                                         const VictimRules& rules) {
  return Search(ledger, search, rules).Eligible();
}

std::optional<std::vector<Victim>> FindVictims(Ledger& ledger, const VictimSearch& search,
                                               const VictimRules& rules) {
  return Search(ledger, search, rules).Find();
}

}  // namespace offcut::quota
