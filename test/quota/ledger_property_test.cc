// What always holds of a ledger, in random trees under random events. The numbers Q1 and so on are
// those of the invariants that the design states.
//
// The judge is written another way than what it judges: it adds everything up from the pods each
// time, and asks of each node for itself whether it has come to stand beyond its limit, where the
// ledger works out one number for the whole path.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "quota/dominant_share.h"
#include "quota/fair_order.h"
#include "quota/ledger.h"
#include "test/quota/property_steps.h"
#include "test/quota/random_tenants.h"

namespace offcut::quota {
namespace {

struct RandomPod {
  std::string tenant;
  std::string pool;
  Amount amount;
};

// used(n) from the pods, by its definition.
class Judge {
 public:
  Judge(const Ledger& ledger, int cell) : ledger_(ledger), tree_(ledger.tree()), cell_(cell) {}

  // With `more` charged to `tenant` as well. Children come after their parents.
  std::vector<std::int64_t> UsedWith(int tenant, std::int64_t more) const {
    std::vector<std::int64_t> used(tree_.tenants.size());
    for (std::size_t t = used.size(); t-- > 0;) {
      const int node = static_cast<int>(t);
      const CellPlan& plan = tree_.Plan(cell_, node);
      if (plan.takes_part) used[t] += ledger_.Own(node, cell_) + (node == tenant ? more : 0);
      const int parent = tree_.Parent(node);
      if (parent >= 0) {
        used[static_cast<std::size_t>(parent)] += std::max<std::int64_t>(0, used[t] - plan.local);
      }
    }
    return used;
  }

  // KEP 79: the balance of no node falls below minus its borrowing limit; a root borrows nothing.
  bool IsBeyond(int node, std::int64_t used) const {
    const CellPlan& plan = tree_.Plan(cell_, node);
    if (tree_.Parent(node) < 0) return used > plan.subtree;
    return plan.borrowing_limit != kUnlimited && used > plan.subtree + plan.borrowing_limit;
  }

 private:
  const Ledger& ledger_;
  const TenantTree& tree_;
  int cell_;
};

class LedgerWorld {
 public:
  explicit LedgerWorld(std::uint64_t seed) : random_(seed), specs_(RandomTenants(random_)) {
    Adopt();
  }

  void Step() {
    switch (Below(random_, 12)) {
      case 0:
        ChangeTenants();
        break;
      case 1:
        BindUnasked();
        break;
      case 2:
        BindAgain();
        break;
      case 3:
        ListAnew();
        break;
      case 4:
      case 5:
      case 6:
        Release();
        break;
      default:
        Ask();
    }
  }

 private:
  const TenantTree& tree() const { return ledger_->tree(); }
  int TenantOf(const RandomPod& pod) const { return FindTenant(tree(), pod.tenant); }

  Charge ChargeOf(const RandomPod& pod) const {
    Charge charge;
    AddToCharge(tree(), pod.pool, pod.amount, charge);
    return charge;
  }

  RandomPod NewPod() {
    const auto count = static_cast<int>(specs_.size());
    return {.tenant = "t" + std::to_string(Below(random_, count)),
            .pool = Below(random_, 2) == 0 ? "a" : "b",
            .amount = {.devices = Below(random_, 4), .memory_mib = Below(random_, 4)}};
  }

  std::vector<Holding> Holdings() const {
    std::vector<Holding> holdings;
    for (const auto& [uid, pod] : pods_) {
      if (TenantOf(pod) >= 0) holdings.push_back({TenantOf(pod), ChargeOf(pod)});
    }
    return holdings;
  }

  // The tree as the tenants are now, charged with what is there.
  void Adopt() {
    auto built = BuildTenantTree(specs_);
    ASSERT_TRUE(built.has_value());
    const auto tree = std::make_shared<const TenantTree>(*std::move(built));
    ledger_ = std::make_unique<Ledger>(tree);
    ledger_ = std::make_unique<Ledger>(tree, Holdings());
  }

  // Shrinks, grows, adds, removes and re-parents at once. Pods of tenants that are gone are charged
  // to nobody, and again once the tenant is back. Nothing is evicted.
  void ChangeTenants() {
    const std::size_t pods = pods_.size();
    specs_ = RandomTenants(random_);
    Adopt();
    ASSERT_EQ(pods_.size(), pods);
  }

  // Q1, Q9, Q13, Q15: the answer is the judge's, and asking changes nothing.
  void Ask() {
    const RandomPod pod = NewPod();
    const int tenant = TenantOf(pod);
    const Charge charge = ChargeOf(pod);
    const Ledger before = *ledger_;
    const Admission admission = ledger_->Check(tenant, charge);
    ASSERT_EQ(ledger_->Check(tenant, charge), admission);
    ASSERT_TRUE(before == *ledger_);
    bool all_fit = true;
    bool any_never = false;
    for (const auto [cell, amount] : charge) {
      if (!tree().Plan(cell, tenant).takes_part) continue;
      const Answer answer = ledger_->Check(tenant, Charge{{cell, amount}}).answer;
      all_fit = all_fit && answer == Answer::kFits;
      any_never = any_never || answer == Answer::kNever;
      CheckCell(tenant, cell, amount, answer);
    }
    ASSERT_EQ(admission.answer == Answer::kFits, all_fit);
    ASSERT_EQ(admission.answer == Answer::kNever, any_never);
    if (all_fit) Bind(pod);
  }

  void CheckCell(int tenant, int cell, std::int64_t amount, Answer answer) const {
    const Judge judge(*ledger_, cell);
    const std::vector<std::int64_t> now = judge.UsedWith(tenant, 0);
    const std::vector<std::int64_t> then = judge.UsedWith(tenant, amount);
    bool is_beyond_already = false;
    bool comes_beyond = false;
    for (int node = tenant; node >= 0; node = tree().Parent(node)) {
      const auto n = static_cast<std::size_t>(node);
      ASSERT_EQ(ledger_->Used(node, cell), now[n]);
      is_beyond_already = is_beyond_already || judge.IsBeyond(node, now[n]);
      comes_beyond = comes_beyond || (then[n] > now[n] && judge.IsBeyond(node, then[n]));
    }
    // Nobody comes to stand beyond its limit, nor further beyond.
    if (answer == Answer::kFits) {
      ASSERT_FALSE(comes_beyond);
    }
    // Who is not refused by a limit is not refused. Beyond it, what a tenant keeps to itself may
    // be withheld from it as well: Kueue sets it off against the debt above.
    if (!is_beyond_already) {
      ASSERT_EQ(answer == Answer::kFits, !comes_beyond);
    }
    // What would not fit if nobody used anything will never fit.
    const Ledger idle(std::make_shared<const TenantTree>(tree()));
    ASSERT_EQ(answer == Answer::kNever,
              idle.Check(tenant, Charge{{cell, amount}}).answer != Answer::kFits);
    // Q3: what a tenant does not lend stays its own, unless it is beyond already.
    const CellPlan& plan = tree().Plan(cell, tenant);
    if (!is_beyond_already) {
      ASSERT_GE(ledger_->Available(tenant, cell), plan.local - ledger_->Used(tenant, cell));
    }
    ASSERT_LE(ledger_->StandingOf(tenant, cell).lent, plan.lending_limit);
  }

  void Bind(const RandomPod& pod) {
    pods_.emplace(next_uid_++, pod);
    ledger_->Add(TenantOf(pod), ChargeOf(pod));
  }

  // Somebody else bound it, and asked nobody.
  void BindUnasked() {
    if (pods_.size() < 40) Bind(NewPod());
  }

  // Q12: a charge and its release undo each other, at once or with others between.
  void BindAgain() {
    const RandomPod pod = NewPod();
    const Ledger before = *ledger_;
    ledger_->Add(TenantOf(pod), ChargeOf(pod));
    if (!pods_.empty()) {
      const RandomPod& other = pods_.begin()->second;
      if (TenantOf(other) >= 0) ledger_->Remove(TenantOf(other), ChargeOf(other));
      ledger_->Remove(TenantOf(pod), ChargeOf(pod));
      if (TenantOf(other) >= 0) ledger_->Add(TenantOf(other), ChargeOf(other));
    } else {
      ledger_->Remove(TenantOf(pod), ChargeOf(pod));
    }
    ASSERT_TRUE(before == *ledger_);
  }

  void Release() {
    if (pods_.empty()) return;
    const auto pod = std::next(pods_.begin(), Below(random_, static_cast<int>(pods_.size())));
    if (TenantOf(pod->second) >= 0) {
      ledger_->Remove(TenantOf(pod->second), ChargeOf(pod->second));
    }
    pods_.erase(pod);
  }

  // Q11, Q12: the ledger is what a list of the pods gives, in whatever order.
  void ListAnew() {
    std::vector<Holding> holdings = Holdings();
    std::ranges::shuffle(holdings, random_);
    const Ledger rebuilt(std::make_shared<const TenantTree>(tree()), holdings);
    ASSERT_TRUE(rebuilt == *ledger_);
    for (std::size_t c = 0; c < tree().cells.size(); ++c) {
      const std::vector<Standing> standings = ledger_->StandingsIn(static_cast<int>(c));
      std::int64_t charged = 0;
      for (const Holding& holding : holdings) {
        for (const auto [cell, amount] : holding.charge) {
          if (cell == static_cast<int>(c)) charged += amount;
        }
      }
      for (std::size_t t = 0; t < tree().tenants.size(); ++t) {
        const std::int64_t own = ledger_->Own(static_cast<int>(t), static_cast<int>(c));
        ASSERT_GE(own, 0);
        charged -= own;
        ASSERT_EQ(standings[t], ledger_->StandingOf(static_cast<int>(t), static_cast<int>(c)));
      }
      ASSERT_EQ(charged, 0);
    }
  }

  std::mt19937_64 random_;
  std::vector<TenantSpec> specs_;
  std::unique_ptr<Ledger> ledger_;
  std::map<int, RandomPod> pods_;  // by UID
  int next_uid_ = 0;
};

TEST(LedgerPropertyTest, HoldsInRandomTreesUnderRandomEvents) {
  constexpr std::int64_t steps_a_world = 1'000;
  const std::int64_t steps = PropertySteps();
  const std::uint64_t seed = PropertySeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (std::int64_t first = 0; first < steps; first += steps_a_world) {
    LedgerWorld world(seed + static_cast<std::uint64_t>(first));
    for (std::int64_t i = 0; i < std::min(steps_a_world, steps - first); ++i) {
      world.Step();
      if (::testing::Test::HasFatalFailure()) {
        FAIL() << "step " << i << " of the world of seed "
               << seed + static_cast<std::uint64_t>(first);
      }
    }
  }
}

// Q13: the order in which a policy lists tenants decides nothing.
TEST(LedgerPropertyTest, DoesNotDependOnTheOrderOfTheTenants) {
  const std::uint64_t seed = PropertySeed();
  std::mt19937_64 random(seed);
  for (int world = 0; world < 2'000; ++world) {
    std::vector<TenantSpec> specs = RandomTenants(random);
    const Ledger one(std::make_shared<const TenantTree>(*BuildTenantTree(specs)));
    std::ranges::shuffle(specs, random);
    const Ledger two(std::make_shared<const TenantTree>(*BuildTenantTree(specs)));
    ASSERT_EQ(one.tree().cells.size(), two.tree().cells.size());
    for (const TenantSpec& spec : specs) {
      const int in_one = FindTenant(one.tree(), spec.name);
      const int in_two = FindTenant(two.tree(), spec.name);
      for (int cell = 0; cell < static_cast<int>(one.tree().cells.size()); ++cell) {
        ASSERT_EQ(one.Available(in_one, cell), two.Available(in_two, cell)) << "seed " << seed;
        ASSERT_EQ(one.Potential(in_one, cell), two.Potential(in_two, cell)) << "seed " << seed;
      }
    }
  }
}

// Q18: who weighs the same and wants as much without end gets the same, to one workload.
TEST(LedgerPropertyTest, GivesEqualTenantsEqualShares) {
  const std::uint64_t seed = PropertySeed();
  std::mt19937_64 random(seed);
  for (int world = 0; world < 300; ++world) {
    const int count = 2 + Below(random, 8);
    const std::int64_t size = 1 + Below(random, 5);
    const std::int64_t capacity = Below(random, 200);
    std::vector<TenantSpec> specs = {
        {.name = "root", .parent = "", .quotas = {{"a", "devices", capacity, {}, {}}}}};
    for (int t = 0; t < count; ++t) {
      specs.push_back({.name = std::to_string(t), .parent = "root", .quotas = {}});
    }
    Ledger ledger(std::make_shared<const TenantTree>(*BuildTenantTree(specs)));
    std::vector<Waiting> waiting;
    for (int i = 0; i < count * 200; ++i) {
      const int tenant = FindTenant(ledger.tree(), std::to_string(i % count));
      waiting.push_back({.tenant = tenant, .charge = {{0, size}}, .since = Below(random, 1'000)});
    }
    for (const std::size_t i : FairOrder(ledger, waiting)) {
      ledger.Add(waiting[i].tenant, waiting[i].charge);
    }
    std::int64_t least = capacity;
    std::int64_t most = 0;
    for (int t = 1; t <= count; ++t) {
      least = std::min(least, ledger.Used(t, 0));
      most = std::max(most, ledger.Used(t, 0));
    }
    ASSERT_LE(most - least, size) << "seed " << seed;
    ASSERT_LT(ledger.Available(1, 0), size) << "seed " << seed;  // nothing is left idle
  }
}

// The rule of quota/fair_order.h said once more, without remembering anything.
class NaiveOrder {
 public:
  NaiveOrder(Ledger ledger, std::span<const Waiting> waiting)
      : ledger_(std::move(ledger)), waiting_(waiting), waits_(waiting.size(), true) {}

  std::vector<std::size_t> All() {
    std::vector<std::size_t> order;
    while (true) {
      const std::size_t next = Best(-1, waiting_.size());
      if (next == waiting_.size()) return order;
      order.push_back(next);
      waits_[next] = false;
      ledger_.Add(waiting_[next].tenant, waiting_[next].charge);
    }
  }

 private:
  bool Fits(std::size_t i) const {
    return waits_[i] &&
           ledger_.Check(waiting_[i].tenant, waiting_[i].charge).answer == Answer::kFits;
  }

  auto Rank(std::size_t i) const { return std::tuple(-waiting_[i].priority, waiting_[i].since, i); }

  // Of those below the node, or of all for -1; `nobody` where there is none.
  std::size_t Best(int node, std::size_t nobody) const {
    std::size_t best = nobody;
    DominantShare best_share;
    const auto meet = [&](std::size_t other, const DominantShare& share) {
      if (other == nobody) return;
      const auto order = Compare(share, best_share);
      if (best == nobody || order < 0 || (order == 0 && Rank(other) < Rank(best))) {
        best = other;
        best_share = share;
      }
    };
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      if (waiting_[i].tenant == node && Fits(i)) {
        // Of one tenant's, the one of the best rank alone competes.
        std::size_t first = i;
        for (std::size_t j = i + 1; j < waiting_.size(); ++j) {
          if (waiting_[j].tenant == node && Fits(j) && Rank(j) < Rank(first)) first = j;
        }
        meet(first, OwnShareAfter(ledger_, node, waiting_[first].charge));
        break;
      }
    }
    for (int child = 0; child < static_cast<int>(ledger_.tree().tenants.size()); ++child) {
      if (ledger_.tree().Parent(child) != node) continue;
      const std::size_t winner = Best(child, nobody);
      if (winner == nobody) continue;
      meet(winner, ShareAfter(ledger_, child, waiting_[winner].tenant, waiting_[winner].charge));
    }
    return best;
  }

  Ledger ledger_;
  std::span<const Waiting> waiting_;
  std::vector<bool> waits_;
};

TEST(LedgerPropertyTest, OrdersAsOneWouldWhoLooksAtAllEachTime) {
  const std::uint64_t seed = PropertySeed();
  std::mt19937_64 random(seed);
  for (int world = 0; world < 1'000; ++world) {
    const Ledger ledger(
        std::make_shared<const TenantTree>(*BuildTenantTree(RandomTenants(random))));
    const auto count = static_cast<int>(ledger.tree().tenants.size());
    std::vector<Waiting> waiting;
    for (int i = 0; i < 25; ++i) {
      Waiting pod{.tenant = Below(random, count),
                  .charge = {},
                  .priority = Below(random, 2),
                  .since = Below(random, 4)};
      AddToCharge(ledger.tree(), Below(random, 2) == 0 ? "a" : "b",
                  {.devices = 1 + Below(random, 4), .memory_mib = Below(random, 3)}, pod.charge);
      waiting.push_back(std::move(pod));
    }
    ASSERT_EQ(FairOrder(ledger, waiting), NaiveOrder(ledger, waiting).All())
        << "seed " << seed << ", world " << world;
  }
}

}  // namespace
}  // namespace offcut::quota
