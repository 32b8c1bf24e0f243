// What always holds of victims, in random trees with random pods. The numbers Q4 and so on are
// those of the invariants that the design states.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "quota/fair_victims.h"
#include "quota/victims.h"
#include "test/quota/property_steps.h"
#include "test/quota/random_tenants.h"

namespace offcut::quota {
namespace {

constexpr int kPodsMax = 10;

class RandomSearch {
 public:
  explicit RandomSearch(std::uint64_t seed) : random_(seed), ledger_(Tree()) {
    const int pods = Below(random_, kPodsMax + 1);
    for (int i = 0; i < pods; ++i) {
      names_.push_back("p" + std::to_string(i));
      candidates_.push_back({.tenant = AnyTenant(),
                             .priority = Below(random_, 3),
                             .since = Below(random_, 4),
                             .is_ending = Below(random_, 8) == 0,
                             .uid = names_.back(),
                             .charge = AnyCharge()});
      ledger_.Add(candidates_.back().tenant, candidates_.back().charge);
    }
    newcomer_ = {.tenant = AnyTenant(), .priority = Below(random_, 4), .charge = AnyCharge()};
    contested_ = ContestedCells(ledger_, newcomer_.tenant, newcomer_.charge);
    if (Below(random_, 3) == 0) {
      for (std::size_t i = 0; i < candidates_.size(); ++i) {
        if (Below(random_, 4) == 0) needed_.push_back(i);
      }
    }
    rules_.from_borrowers = Below(random_, 2) == 0 ? Taking::kAny : Taking::kLower;
    rules_.while_borrowing = Below(random_, 3) == 0;
    is_fair_ = Below(random_, 3) == 0;
    if (is_fair_) rules_ = {.from_borrowers = rules_.from_borrowers};
  }

  std::optional<std::vector<Victim>> Find() const { return FindIn(candidates_, needed_); }

  // Q5 and Q6 and Q7, Q4, Q13.
  void Check() {
    const auto victims = Find();
    if (!victims) {
      EXPECT_FALSE(FitsWithoutAny({}));
      return;
    }
    std::vector<std::size_t> gone;
    for (const Victim& victim : *victims) gone.push_back(victim.candidate);
    EXPECT_TRUE(FitsWithoutAny(gone)) << "Q5: sufficient";
    EXPECT_TRUE(gone.empty() || !FitsWithoutAny({})) << "Q7: nobody goes in vain";
    CheckMinimal(*victims, gone);
    CheckGuarantees(*victims, gone);
    CheckOrder(*victims);
  }

 private:
  std::shared_ptr<const TenantTree> Tree() {
    auto tree = BuildTenantTree(RandomTenants(random_));
    return std::make_shared<const TenantTree>(*std::move(tree));
  }
  int AnyTenant() { return Below(random_, static_cast<int>(ledger_.tree().tenants.size())); }
  Charge AnyCharge() {
    Charge charge;
    const Amount amount{.devices = 1 + Below(random_, 4), .memory_mib = Below(random_, 3)};
    AddToCharge(ledger_.tree(), Below(random_, 2) == 0 ? "a" : "b", amount, charge);
    return charge;
  }

  std::optional<std::vector<Victim>> FindIn(const std::vector<VictimCandidate>& candidates,
                                            const std::vector<std::size_t>& needed) const {
    const FitsWithout fits = [&](std::span<const std::size_t> gone) {
      return std::ranges::all_of(
          needed, [&](std::size_t i) { return std::ranges::find(gone, i) != gone.end(); });
    };
    const VictimSearch search{newcomer_, candidates, contested_, fits};
    Ledger ledger = ledger_;
    const auto victims = is_fair_ ? FindFairVictims(ledger, search, rules_, {})
                                  : FindVictims(ledger, search, rules_);
    EXPECT_EQ(ledger, ledger_);
    const auto eligible = is_fair_ ? EligibleFairVictims(ledger, search, rules_)
                                   : EligibleVictims(ledger, search, rules_);
    EXPECT_EQ(ledger, ledger_);
    EXPECT_TRUE(std::ranges::is_sorted(eligible));
    if (victims) {
      for (const Victim& victim : *victims) {
        EXPECT_TRUE(std::ranges::binary_search(eligible, victim.candidate)) << "never eligible";
      }
    }
    return victims;
  }

  Ledger Without(const std::vector<std::size_t>& gone) const {
    Ledger ledger = ledger_;
    for (const std::size_t i : gone) ledger.Remove(candidates_[i].tenant, candidates_[i].charge);
    return ledger;
  }
  bool FitsWithoutAny(const std::vector<std::size_t>& gone) const {
    return Without(gone).Check(newcomer_.tenant, newcomer_.charge).answer == Answer::kFits &&
           std::ranges::all_of(
               needed_, [&](std::size_t i) { return std::ranges::find(gone, i) != gone.end(); });
  }

  // Q6. Whoever is reclaimed must be, for the newcomer to stay within a guarantee: then it is what
  // the newcomer would borrow that tells.
  void CheckMinimal(const std::vector<Victim>& victims,
                    const std::vector<std::size_t>& gone) const {
    const bool reclaims = std::ranges::any_of(
        victims, [](const Victim& each) { return each.reason == VictimReason::kReclaim; });
    for (std::size_t i = 0; i < gone.size(); ++i) {
      std::vector<std::size_t> fewer = gone;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      const bool would_do =
          FitsWithoutAny(fewer) &&
          !(reclaims && Without(fewer).Borrows(newcomer_.tenant, newcomer_.charge));
      EXPECT_FALSE(would_do) << "Q6: without " << gone[i];
    }
  }

  // Q4. In trees whose rules let nobody fall below it.
  void CheckGuarantees(const std::vector<Victim>& victims,
                       const std::vector<std::size_t>& gone) const {
    const Ledger after = Without(gone);
    for (const Victim& victim : victims) {
      const VictimCandidate& candidate = candidates_[victim.candidate];
      if (candidate.tenant == newcomer_.tenant) {
        EXPECT_LT(candidate.priority, newcomer_.priority);
        continue;
      }
      if (HasChildren(candidate.tenant)) continue;
      const auto holds = [&](const Ledger& ledger, bool strictly) {
        return std::ranges::any_of(contested_, [&](int cell) {
          const std::int64_t used = ledger.Used(candidate.tenant, cell);
          const std::int64_t subtree = ledger.tree().Plan(cell, candidate.tenant).subtree;
          return strictly ? used > subtree : used >= subtree;
        });
      };
      EXPECT_TRUE(holds(ledger_, true)) << "Q4: it does not borrow";
      EXPECT_TRUE(rules_.may_cross_guarantee || holds(after, false)) << "Q4: below its guarantee";
    }
  }
  bool HasChildren(int tenant) const {
    return std::ranges::count(ledger_.tree().parents, tenant) > 0;
  }

  // Q13.
  void CheckOrder(const std::vector<Victim>& victims) const {
    std::vector<VictimCandidate> reversed(candidates_.rbegin(), candidates_.rend());
    std::vector<std::size_t> needed;
    for (const std::size_t i : needed_) needed.push_back(candidates_.size() - 1 - i);
    const auto others = FindIn(reversed, needed);
    ASSERT_TRUE(others.has_value());
    ASSERT_EQ(others->size(), victims.size());
    for (std::size_t i = 0; i < victims.size(); ++i) {
      EXPECT_EQ(reversed[(*others)[i].candidate].uid, candidates_[victims[i].candidate].uid);
    }
  }

  std::mt19937_64 random_;
  Ledger ledger_;
  std::deque<std::string> names_;
  std::vector<VictimCandidate> candidates_;
  Newcomer newcomer_;
  std::vector<int> contested_;
  std::vector<std::size_t> needed_;
  VictimRules rules_;
  bool is_fair_ = false;
};

TEST(VictimsPropertyTest, VictimsSufficeAndNoneGoesInVainOrBelowItsGuarantee) {
  const std::uint64_t seed = PropertySeed();
  const std::int64_t worlds = PropertySteps() / 20;  // a world costs as much as 20 steps
  for (std::int64_t i = 0; i < worlds; ++i) {
    SCOPED_TRACE("OFFCUT_QUOTA_SEED=" + std::to_string(seed) + ", world " + std::to_string(i));
    RandomSearch(seed + static_cast<std::uint64_t>(i)).Check();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace offcut::quota
