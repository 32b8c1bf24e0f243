#include "quota/fair_victims.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "quota/dominant_share.h"
#include "quota/victim_walk.h"

namespace offcut::quota {
namespace {

// Tenants and their candidates that are left, best first.
using Queues = std::map<int, std::vector<std::size_t>>;

// Where two tenants part: those just below what they have in common.
struct Parting {
  int newcomer = -1;
  int candidate = -1;
};

class Search {
 public:
  Search(Ledger& ledger, const VictimSearch& search, const VictimRules& rules,
         const FairRules& fair_rules)
      : walk_(ledger, search),
        search_(search),
        newcomer_(search.newcomer),
        rules_(rules),
        fair_rules_(fair_rules) {}

  std::optional<std::vector<Victim>> Find() {
    if (walk_.Fits(true)) return std::vector<Victim>();
    reclaims_ = !walk_.ledger().Borrows(newcomer_.tenant, ContestedCharge());
    if (TakeByFirstRule(Candidates()) || TakeByInitialShare(std::move(refused_))) {
      return walk_.Minimal(true);
    }
    return std::nullopt;
  }

  // What a tenant may lose only shrinks with each that goes: who may not go first may never.
  std::vector<std::size_t> Eligible() {
    std::vector<std::size_t> eligible;
    eligible.reserve(search_.candidates.size());
    for (std::size_t i = 0; i < search_.candidates.size(); ++i) {
      const VictimCandidate& candidate = search_.candidates[i];
      if (!MayEverTake(candidate)) continue;
      if (candidate.tenant == newcomer_.tenant || KeepsGuarantees(i)) eligible.push_back(i);
    }
    return eligible;
  }

 private:
  const TenantTree& tree() const { return walk_.ledger().tree(); }

  Charge ContestedCharge() const {
    Charge charge;
    std::ranges::copy_if(newcomer_.charge, std::back_inserter(charge), [&](CellAmount each) {
      return std::ranges::binary_search(search_.contested, each.cell);
    });
    return charge;
  }

  bool MayEverTake(const VictimCandidate& candidate) const {
    if (!Uses(candidate.charge, search_.contested) && !search_.contested.empty()) return false;
    if (candidate.tenant == newcomer_.tenant) {
      return Allows(rules_.within_tenant, newcomer_.priority, candidate.priority);
    }
    return LowestCommon(tree(), candidate.tenant, newcomer_.tenant) >= 0 &&
           Allows(rules_.from_borrowers, newcomer_.priority, candidate.priority) &&
           BorrowsAny(walk_.ledger(), candidate.tenant, search_.contested);
  }

  Queues Candidates() const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < search_.candidates.size(); ++i) {
      if (MayEverTake(search_.candidates[i])) order.push_back(i);
    }
    return Queued(std::move(order));
  }

  Queues Queued(std::vector<std::size_t> order) const {
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return IsBefore(a, b); });
    Queues queues;
    for (const std::size_t i : order) queues[search_.candidates[i].tenant].push_back(i);
    return queues;
  }

  bool IsBefore(std::size_t a, std::size_t b) const {
    return IsTakenBefore(search_.candidates[a], search_.candidates[b], newcomer_.tenant);
  }

  // The share of a tenant or of all below it; with the newcomer where that is among them.
  DominantShare ShareWithNewcomer(int node) const {
    if (LowestCommon(tree(), node, newcomer_.tenant) != node) return ShareOf(walk_.ledger(), node);
    return ShareAfter(walk_.ledger(), node, newcomer_.tenant, newcomer_.charge);
  }

  bool IsAboveNewcomer(int node) const {
    return LowestCommon(tree(), node, newcomer_.tenant) == node;
  }

  // Tenants with candidates left, and all above them.
  std::set<int> Live(const Queues& queues) const {
    std::set<int> live;
    for (const auto& [tenant, queue] : queues) {
      if (queue.empty()) continue;
      for (int t = tenant; t >= 0 && live.insert(t).second;) t = tree().Parent(t);
    }
    return live;
  }

  // Down to the tenant with the highest share that has candidates left; where a subtree has as
  // much as a tenant beside it, into the subtree. -1: none.
  int HighestBelow(int parent, const Queues& queues, const std::set<int>& live) const {
    int highest = -1;  // of those whose children have candidates
    DominantShare highest_share;
    int leaf = -1;  // of those that have candidates of their own
    DominantShare leaf_share;
    for (const int t : live) {
      if (tree().Parent(t) != parent) continue;
      const DominantShare share = ShareWithNewcomer(t);
      if (!share.borrowing && !IsAboveNewcomer(t)) continue;
      const auto queue = queues.find(t);
      if (queue != queues.end() && !queue->second.empty()) {
        const auto order = leaf < 0 ? std::strong_ordering::greater : Compare(share, leaf_share);
        if (order > 0 || (order == 0 && IsBefore(queue->second.front(), queues.at(leaf).front()))) {
          leaf = t;
          leaf_share = share;
        }
      }
      if (HighestBelow(t, queues, live) < 0) continue;
      if (highest < 0 || Compare(share, highest_share) >= 0) {
        highest = t;
        highest_share = share;
      }
    }
    if (highest < 0) return leaf;
    if (leaf >= 0 && Compare(highest_share, leaf_share) < 0) return leaf;
    return HighestBelow(highest, queues, live);
  }

  int Highest(const Queues& queues) const {
    int root = newcomer_.tenant;
    while (tree().Parent(root) >= 0) root = tree().Parent(root);
    const int found = HighestBelow(root, queues, Live(queues));
    if (found >= 0) return found;
    const auto own = queues.find(root);
    return own != queues.end() && !own->second.empty() ? root : -1;
  }

  Parting PartingOf(int tenant) const {
    const int common = LowestCommon(tree(), tenant, newcomer_.tenant);
    const auto below = [&](int t) {
      while (t != common && tree().Parent(t) != common) t = tree().Parent(t);
      return t;
    };
    return {.newcomer = below(newcomer_.tenant), .candidate = below(tenant)};
  }

  DominantShare ShareWithout(int node, const VictimCandidate& victim) {
    walk_.ledger().Remove(victim.tenant, victim.charge);
    const DominantShare share = ShareOf(walk_.ledger(), node);
    walk_.ledger().Add(victim.tenant, victim.charge);
    return share;
  }

  bool MayTakeByShare(const Parting& parting, const VictimCandidate& victim) {
    const DominantShare own = ShareWithNewcomer(parting.newcomer);
    if (fair_rules_.at_most_final_share) {
      return Compare(own, ShareWithout(parting.candidate, victim)) <= 0;
    }
    return Compare(own, ShareOf(walk_.ledger(), parting.candidate)) < 0;
  }

  static std::size_t Pop(std::vector<std::size_t>& queue) {
    const std::size_t first = queue.front();
    queue.erase(queue.begin());
    return first;
  }

  bool TakeByFirstRule(Queues queues) {
    for (int tenant = Highest(queues); tenant >= 0; tenant = Highest(queues)) {
      if (TakeFrom(tenant, queues[tenant])) return true;
    }
    return false;
  }

  bool KeepsGuarantees(std::size_t candidate) {
    const int tenant = search_.candidates[candidate].tenant;
    return rules_.may_cross_guarantee ||
           walk_.KeepsGuarantees(candidate, LowestCommon(tree(), tenant, newcomer_.tenant));
  }

  // One, if one may be taken. Returns whether the newcomer fits then.
  bool TakeFrom(int tenant, std::vector<std::size_t>& queue) {
    if (tenant == newcomer_.tenant) {
      walk_.Take(Pop(queue), VictimReason::kWithinTenant);
      return walk_.Fits(true);
    }
    const Parting parting = PartingOf(tenant);
    while (!queue.empty()) {
      const std::size_t candidate = Pop(queue);
      if (!KeepsGuarantees(candidate)) continue;
      if (reclaims_) {
        walk_.Take(candidate, VictimReason::kReclaim);
        return walk_.Fits(true);
      }
      if (MayTakeByShare(parting, search_.candidates[candidate])) {
        walk_.Take(candidate, VictimReason::kFairShare);
        return walk_.Fits(true);
      }
      refused_.push_back(candidate);
    }
    return false;
  }

  bool TakeByInitialShare(std::vector<std::size_t> refused) {
    if (!fair_rules_.at_most_final_share || !fair_rules_.below_initial_share) return false;
    Queues queues = Queued(std::move(refused));
    for (int tenant = Highest(queues); tenant >= 0; tenant = Highest(queues)) {
      const Parting parting = PartingOf(tenant);
      const DominantShare share = ShareOf(walk_.ledger(), parting.candidate);
      if (Compare(ShareWithNewcomer(parting.newcomer), share) < 0 &&
          KeepsGuarantees(queues[tenant].front())) {
        walk_.Take(queues[tenant].front(), VictimReason::kFairShare);
        if (walk_.Fits(true)) return true;
      }
      queues.erase(tenant);
    }
    return false;
  }

  VictimWalk walk_;
  const VictimSearch& search_;
  const Newcomer& newcomer_;
  const VictimRules& rules_;
  const FairRules& fair_rules_;
  bool reclaims_ = false;
  std::vector<std::size_t> refused_;  // by share
};

}  // namespace

std::vector<std::size_t> EligibleFairVictims(Ledger& ledger, const VictimSearch& search,
                                             const VictimRules& rules) {
  return Search(ledger, search, rules, {}).Eligible();
}

std::optional<std::vector<Victim>> FindFairVictims(Ledger& ledger, const VictimSearch& search,
                                                   const VictimRules& rules,
                                                   const FairRules& fair_rules) {
  return Search(ledger, search, rules, fair_rules).Find();
}

}  // namespace offcut::quota
