#include "quota/victims.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quota/fair_victims.h"
#include "test/quota/tenant_text.h"

namespace offcut::quota {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::UnorderedElementsAre;

// Tenants of one cell with pods, and a newcomer.
class VictimWorld {
 public:
  explicit VictimWorld(const std::string& text) : world_(text) {}

  struct PodText {
    std::string_view tenant;
    std::int64_t amount = 1;
    std::int64_t priority = 0;
  };
  // Named a, b, c and so on in the order in which they come; the later one started later.
  void Run(const PodText& pod) {
    names_.emplace_back(1, static_cast<char>('a' + candidates_.size()));
    candidates_.push_back({.tenant = world_.Tenant(pod.tenant),
                           .priority = pod.priority,
                           .since = static_cast<std::int64_t>(candidates_.size()),
                           .uid = names_.back(),
                           .charge = world_.Of(pod.amount)});
    world_.Add(pod.tenant, pod.amount);
  }

  std::optional<std::vector<std::string>> Victims(const PodText& newcomer,
                                                  const VictimRules& rules = {}) {
    return Victims(newcomer, [&](const VictimSearch& search) {
      return FindVictims(world_.ledger(), search, rules);
    });
  }
  std::optional<std::vector<std::string>> FairVictims(const PodText& newcomer) {
    return Victims(newcomer, [&](const VictimSearch& search) {
      return FindFairVictims(world_.ledger(), search, {}, {});
    });
  }

  // Who could be taken at all.
  std::vector<std::string> Eligible(const PodText& newcomer) {
    std::vector<std::string> names;
    Victims(newcomer, [&](const VictimSearch& search) {
      for (const std::size_t i : EligibleVictims(world_.ledger(), search, {})) {
        names.push_back(names_[i]);
      }
      return std::optional<std::vector<Victim>>();
    });
    return names;
  }

  // Besides quota the newcomer needs these gone.
  std::vector<std::size_t> needed;

 private:
  template <typename Find>
  std::optional<std::vector<std::string>> Victims(const PodText& text, Find find) {
    const Newcomer newcomer{.tenant = world_.Tenant(text.tenant),
                            .priority = text.priority,
                            .charge = world_.Of(text.amount)};
    const std::vector<int> contested =
        ContestedCells(world_.ledger(), newcomer.tenant, newcomer.charge);
    const FitsWithout fits = [&](std::span<const std::size_t> gone) {
      return std::ranges::all_of(
          needed, [&](std::size_t i) { return std::ranges::find(gone, i) != gone.end(); });
    };
    const auto victims = find(VictimSearch{newcomer, candidates_, contested, fits});
    if (!victims) return std::nullopt;
    std::vector<std::string> names;
    for (const Victim& victim : *victims) names.push_back(names_[victim.candidate]);
    return names;
  }

  OneCell world_;
  std::deque<std::string> names_;
  std::vector<VictimCandidate> candidates_;
};

// Two of four are used by a's own pods, two are free: nobody must go.
TEST(VictimsTest, NobodyGoesWhereItFits) {
  VictimWorld world("a  h100/devices=4");
  world.Run({"a", 2});
  EXPECT_THAT(world.Victims({"a", 2, 10}), Optional(IsEmpty()));
}

// Of one tenant: the lowest priority first, of equals the one that started last.
TEST(VictimsTest, WithinATenantLowerPrioritiesGoTheLatestFirst) {
  VictimWorld world("a  h100/devices=4");
  world.Run({"a", 1, 5});
  world.Run({"a", 1, 0});
  world.Run({"a", 1, 0});
  world.Run({"a", 1, 10});
  EXPECT_THAT(world.Victims({"a", 1, 10}), Optional(ElementsAre("c")));
  EXPECT_THAT(world.Victims({"a", 3, 10}), Optional(ElementsAre("c", "b", "a")));
  EXPECT_EQ(world.Victims({"a", 4, 10}), std::nullopt) << "d is its equal";
}

// 1 + 1 go in vain once the 4 has gone: asked 4 of 6, walk c(1) b(1) a(4), and give back b and c.
TEST(VictimsTest, WhoWentInVainIsGivenBack) {
  VictimWorld world("a  h100/devices=6");
  world.Run({"a", 4, 2});
  world.Run({"a", 1, 1});
  world.Run({"a", 1, 0});
  EXPECT_THAT(world.Victims({"a", 4, 10}), Optional(ElementsAre("a")));
}

// volcano 4808, 3990: a lender of 4 whose cohort of 8 is used by the borrower gets 4 back, not 3,
// and not 5.
TEST(VictimsTest, ALenderGetsBackWhatItIsGuaranteedAndNoMore) {
  VictimWorld world(R"(
    cohort
      lender    h100/devices=4
      borrower  h100/devices=4)");
  for (int i = 0; i < 8; ++i) world.Run({"borrower", 1});
  EXPECT_THAT(world.Victims({"lender", 4, 10}), Optional(UnorderedElementsAre("h", "g", "f", "e")));
  EXPECT_EQ(world.Victims({"lender", 5, 10}), std::nullopt);
}

// The borrower has 6 of guaranteed 4: one of 3 gone leaves it 3.
TEST(VictimsTest, NoVictimTakesABorrowerBelowItsGuaranteeUnlessTheRulesLetIt) {
  VictimWorld world(R"(
    cohort
      lender    h100/devices=4
      borrower  h100/devices=4)");
  world.Run({"borrower", 3});
  world.Run({"borrower", 3});
  EXPECT_EQ(world.Victims({"lender", 4, 10}), std::nullopt);
  EXPECT_THAT(world.Victims({"lender", 4, 10}, {.may_cross_guarantee = true}),
              Optional(ElementsAre("b")));
}

// yunikorn 658: 4 are asked for, and 1 + 1 may go.
TEST(VictimsTest, NobodyGoesWhereAllWouldNotSuffice) {
  VictimWorld world("a  h100/devices=6");
  world.Run({"a", 4, 10});
  world.Run({"a", 1, 0});
  world.Run({"a", 1, 0});
  EXPECT_EQ(world.Victims({"a", 4, 10}), std::nullopt);
  EXPECT_THAT(world.Victims({"a", 2, 10}), Optional(UnorderedElementsAre("b", "c")));
}

// yunikorn 1164: the borrower has 4 + 1 + 1 of guaranteed 4. Without the 4 it would have 2.
TEST(VictimsTest, WhoMayNotGoIsPassedOver) {
  VictimWorld world(R"(
    cohort
      lender    h100/devices=2
      borrower  h100/devices=4)");
  world.Run({"borrower", 1, 1});
  world.Run({"borrower", 1, 1});
  world.Run({"borrower", 4, 0});
  EXPECT_THAT(world.Victims({"lender", 2, 10}), Optional(UnorderedElementsAre("a", "b")));
}

// kueue 804: a has 12 of 4, in two pods of 6. One gone leaves 6 for the 4 of one newcomer. With
// that one in, 2 are free, and the other pod may not go: it is what a is guaranteed.
TEST(VictimsTest, WhatOneVictimFreesIsForOneNewcomer) {
  VictimWorld world(R"(
    cohort
      a  h100/devices=4
      b  h100/devices=4
      c  h100/devices=4)");
  world.Run({"a", 6, 0});
  EXPECT_THAT(world.Victims({"b", 4, 10}), Optional(IsEmpty()));
  world.Run({"a", 6, 0});
  EXPECT_THAT(world.Victims({"b", 4, 10}), Optional(ElementsAre("b")));
  VictimWorld after(R"(
    cohort
      a  h100/devices=4
      b  h100/devices=4
      c  h100/devices=4)");
  after.Run({"a", 6, 0});
  after.Run({"b", 4, 10});
  EXPECT_EQ(after.Victims({"c", 4, 10}), std::nullopt);
  EXPECT_THAT(after.Victims({"c", 4, 10}, {.may_cross_guarantee = true}),
              Optional(ElementsAre("a")));
}

TEST(VictimsTest, FromBorrowersOfEqualPriorityOnlyWhereTheRulesSayAny) {
  VictimWorld world(R"(
    cohort
      lender    h100/devices=1
      borrower  h100/devices=1)");
  world.Run({"borrower", 1, 5});
  world.Run({"borrower", 1, 5});
  EXPECT_EQ(world.Victims({"lender", 1, 5}), std::nullopt);
  EXPECT_THAT(world.Victims({"lender", 1, 5}, {.from_borrowers = Taking::kAny}),
              Optional(ElementsAre("b")));
}

// yunikorn 636, 639: who is guaranteed nothing may borrow what is idle, and claim nothing.
TEST(VictimsTest, WhoHasNoGuaranteeTakesFromNoOtherTenant) {
  VictimWorld world(R"(
    cohort      h100/devices=2
      without   h100/devices=0
      borrower  h100/devices=1)");
  world.Run({"borrower", 1, 0});
  world.Run({"borrower", 1, 0});
  EXPECT_EQ(world.Victims({"without", 1, 10}), std::nullopt);
}

// kueue 2821: the newcomer of high priority borrows too. Only with `while_borrowing`.
TEST(VictimsTest, ABorrowerTakesFromBorrowersOnlyWhereTheRulesLetIt) {
  VictimWorld world(R"(
    cohort  h100/devices=2
      a     h100/devices=0
      b     h100/devices=0)");
  world.Run({"b", 1, 0});
  world.Run({"b", 1, 0});
  EXPECT_EQ(world.Victims({"a", 1, 10}), std::nullopt);
  EXPECT_THAT(world.Victims({"a", 1, 10}, {.while_borrowing = true}), Optional(ElementsAre("b")));
  EXPECT_EQ(world.Victims({"a", 1, 10}, {.while_borrowing = true, .priority_max = -1}),
            std::nullopt);
}

// school has 4: maths is guaranteed 2 of them and uses 1, school's own pod uses the rest.
TEST(VictimsTest, TheOwnPodsOfATenantWithChildrenHaveNoGuaranteeAgainstThem) {
  VictimWorld world(R"(
    school   h100/devices=4
      maths  h100/devices=2)");
  world.Run({"maths", 1, 0});
  world.Run({"school", 3, 0});
  EXPECT_THAT(world.Victims({"maths", 1, 10}), Optional(ElementsAre("b")));
  EXPECT_EQ(world.Victims({"school", 2, 10}, {.within_tenant = Taking::kNever}), std::nullopt);
}

// Nobody pays for what is not short: quota is there, devices are not (kueue 4782).
TEST(VictimsTest, WhereDevicesAloneAreShortQuotaTellsWhoBorrows) {
  VictimWorld world(R"(
    cohort
      lender    h100/devices=6
      borrower  h100/devices=2)");
  world.Run({"borrower", 1, 0});
  world.Run({"borrower", 1, 0});
  world.needed = {1};
  EXPECT_EQ(world.Victims({"lender", 1, 10}), std::nullopt) << "it is within its guarantee";
  world.Run({"borrower", 1, 0});
  world.needed = {2};
  EXPECT_THAT(world.Victims({"lender", 1, 10}), Optional(ElementsAre("c")));
}

// Who leaves already goes first, whatever its priority.
TEST(VictimsTest, WhoEndsIsTakenFirst) {
  const VictimCandidate ending{.priority = 9, .is_ending = true, .uid = "z", .charge = {}};
  const VictimCandidate running{.priority = 0, .uid = "a", .charge = {}};
  EXPECT_TRUE(IsTakenBefore(ending, running, 0));
  EXPECT_FALSE(IsTakenBefore(running, ending, 0));
}

// 6 in all, a and b share alike; b has all six, one each. a with 2 would have 2/6, b without one
// 5/6; a with 4 would have more than b's 3/6 without the third.
TEST(FairVictimsTest, TakesFromTheLargerShareUntilTheNewcomersWouldBeLarger) {
  VictimWorld world(R"(
    cohort  h100/devices=6
      a     h100/devices=0
      b     h100/devices=0)");
  for (int i = 0; i < 6; ++i) world.Run({"b", 1, 0});
  EXPECT_THAT(world.FairVictims({"a", 2, 10}), Optional(ElementsAre("f", "e")));
  EXPECT_THAT(world.FairVictims({"a", 3, 10}), Optional(ElementsAre("f", "e", "d")));
  EXPECT_EQ(world.FairVictims({"a", 5, 10}), std::nullopt);
}

// b has 6 of guaranteed 4 in two pods of 3: neither may go, by shares no more than else.
TEST(FairVictimsTest, TakesNobodyBelowItsGuarantee) {
  VictimWorld world(R"(
    cohort
      a  h100/devices=4
      b  h100/devices=4)");
  world.Run({"b", 3, 0});
  world.Run({"b", 3, 0});
  EXPECT_EQ(world.FairVictims({"a", 4, 10}), std::nullopt);
}

// kueue 10131: three teams of equal share, one victim is enough: the lowest priority.
TEST(FairVictimsTest, OfEqualSharesTheLowestPriorityGoes) {
  VictimWorld world(R"(
    cohort  h100/devices=6
      a     h100/devices=0
      b     h100/devices=0
      c     h100/devices=0
      d     h100/devices=0)");
  for (const std::int64_t priority : {7, 5}) world.Run({"a", 1, priority});
  for (const std::int64_t priority : {7, 3}) world.Run({"b", 1, priority});
  for (const std::int64_t priority : {7, 4}) world.Run({"c", 1, priority});
  EXPECT_THAT(world.FairVictims({"d", 1, 10}), Optional(ElementsAre("d")));
}

// The borrower uses 6 and is guaranteed 4: without a or b it would have 3. With c and d it uses 10,
// and each of a, b and c may go. d is the newcomer's equal, and e its own tenant's.
TEST(VictimsTest, EligibleAreThoseThatCouldEachBeTheFirstToGo) {
  VictimWorld world(R"(
    cohort
      lender    h100/devices=4
      borrower  h100/devices=4)");
  world.Run({"borrower", 3, 0});
  world.Run({"borrower", 3, 0});
  EXPECT_THAT(world.Eligible({"lender", 4, 10}), IsEmpty());
  world.Run({"borrower", 2, 0});
  world.Run({"borrower", 2, 10});
  world.Run({"lender", 1, 0});
  EXPECT_THAT(world.Eligible({"lender", 4, 10}), ElementsAre("a", "b", "c", "e"));
}

}  // namespace
}  // namespace offcut::quota
