#include "quota/ledger.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "test/quota/tenant_text.h"

namespace offcut::quota {
namespace {

// maths has 4 and may use arts' 5 while they are idle: 9 at once, never 10.
TEST(LedgerTest, TellsNeverFromNotNow) {
  OneCell world(R"(
    school
      maths  h100/devices=4
      arts   h100/devices=5)");
  EXPECT_EQ(world.Ask("maths", 9), Answer::kFits);
  EXPECT_EQ(world.Ask("maths", 10), Answer::kNever);
  world.Add("arts", 3);
  EXPECT_EQ(world.Ask("maths", 6), Answer::kFits);
  EXPECT_EQ(world.Ask("maths", 7), Answer::kWait);
  EXPECT_EQ(world.Ask("maths", 10), Answer::kNever);
}

// No limit was given, then 1, then none at all.
TEST(LedgerTest, TakesAMissingBorrowingLimitForUnlimitedAndZeroForNone) {
  OneCell unlimited(R"(
    school
      maths  h100/devices=4:-
      arts   h100/devices=8)");
  EXPECT_EQ(unlimited.Available("maths"), 12);
  OneCell one(R"(
    school
      maths  h100/devices=4:1
      arts   h100/devices=8)");
  EXPECT_EQ(one.Available("maths"), 5);
  OneCell none(R"(
    school
      maths  h100/devices=4:0
      arts   h100/devices=8)");
  EXPECT_EQ(none.Available("maths"), 4);
}

// arts lends 2 of its 8. Whatever maths does, 6 stay for arts; maths gets 4 + 2.
TEST(LedgerTest, KeepsBackWhatATenantDoesNotLend) {
  OneCell world(R"(
    school
      maths  h100/devices=4
      arts   h100/devices=8:-:2)");
  EXPECT_EQ(world.Available("maths"), 6);
  EXPECT_TRUE(world.Admit("maths", 6));
  EXPECT_EQ(world.Available("arts"), 6);
  const Standing arts = world.ledger().StandingOf(world.Tenant("arts"), world.cell());
  EXPECT_EQ(arts.lent, 2);
  const Standing maths = world.ledger().StandingOf(world.Tenant("maths"), world.cell());
  EXPECT_EQ(maths.borrowed, 2);
  EXPECT_EQ(maths.used, 6);
}

// department 1 has 6 and may borrow 2, whichever of its teams asks.
TEST(LedgerTest, LimitsBorrowingAtEveryLevel) {
  OneCell world(R"(
    company
      one    h100/devices=6:2
        a    h100/devices=3
        b    h100/devices=3
      two    h100/devices=10)");
  EXPECT_EQ(world.Available("a"), 8);
  EXPECT_TRUE(world.Admit("b", 5));
  EXPECT_EQ(world.Available("a"), 3);
  EXPECT_EQ(world.Ask("a", 4), Answer::kWait);
  EXPECT_EQ(world.Ask("a", 9), Answer::kNever);
  const Standing one = world.ledger().StandingOf(world.Tenant("one"), world.cell());
  EXPECT_EQ(one.used, 5);
  EXPECT_EQ(one.guarantee, 6);
}

TEST(LedgerTest, ChargesATenantThatHasChildrenForPodsOfItsOwn) {
  OneCell world(R"(
    school   h100/devices=6
      maths  h100/devices=4)");
  world.Add("school", 3);
  EXPECT_EQ(world.Available("maths"), 3);
  EXPECT_EQ(world.ledger().Own(world.Tenant("school"), world.cell()), 3);
}

// The pods are there, whoever let them in: charged, and nothing more fits until they are fewer.
TEST(LedgerTest, ChargesBeyondTheQuotaAndLetsNothingMoreIn) {
  OneCell world("a  h100/devices=4");
  world.Add("a", 7);
  EXPECT_EQ(world.Available("a"), -3);
  EXPECT_EQ(world.Ask("a", 1), Answer::kWait);
  world.Remove("a", 3);
  EXPECT_EQ(world.Ask("a", 1), Answer::kWait);
  world.Remove("a", 1);
  EXPECT_EQ(world.Ask("a", 1), Answer::kFits);
}

// maths has 4, uses 3, and would borrow one of 2 more.
TEST(LedgerTest, SaysWhoBorrows) {
  OneCell world(R"(
    school
      maths  h100/devices=4
      arts   h100/devices=5
    lonely)");
  world.Add("maths", 3);
  EXPECT_FALSE(world.ledger().Borrows(world.Tenant("maths"), world.Of(1)));
  EXPECT_TRUE(world.ledger().Borrows(world.Tenant("maths"), world.Of(2)));
  EXPECT_FALSE(world.ledger().Borrows(world.Tenant("lonely"), world.Of(9)));
}

TEST(LedgerTest, FitsWhatAsksForNothing) {
  OneCell world("a  h100/devices=0");
  EXPECT_EQ(world.ledger().Check(0, {}).answer, Answer::kFits);
}

// Both cells refuse; the one that refuses for ever is named.
TEST(LedgerTest, NamesTheCellThatRefuses) {
  const auto tree = TreeFromText("a  h100/devices=4 h100/memoryMiB=100");
  Ledger ledger(tree);
  const int devices = FindCell(*tree, "h100", kDevices);
  const int memory = FindCell(*tree, "h100", kMemoryMib);
  ledger.Add(0, Charge{{devices, 4}});
  EXPECT_EQ(ledger.Check(0, Charge{{devices, 1}, {memory, 50}}),
            (Admission{Answer::kWait, devices}));
  EXPECT_EQ(ledger.Check(0, Charge{{devices, 1}, {memory, 101}}),
            (Admission{Answer::kNever, memory}));
}

// `lonely` names nothing and has nobody beside it: counted, and never refused.
TEST(LedgerTest, CountsWhatItDoesNotHoldATenantTo) {
  OneCell world(R"(
    a  h100/devices=4
    lonely)");
  EXPECT_EQ(world.Available("lonely"), kUnlimited);
  world.Add("lonely", 50);
  EXPECT_EQ(world.Ask("lonely", 1'000), Answer::kFits);
  EXPECT_EQ(world.Available("a"), 4);
  EXPECT_EQ(world.ledger().StandingOf(world.Tenant("lonely"), world.cell()).used, 50);
}

TEST(LedgerTest, LeavesACopyAsItWas) {
  OneCell world("a  h100/devices=4");
  const Ledger before = world.ledger();
  world.Add("a", 3);
  EXPECT_EQ(before.Available(0, world.cell()), 4);
  EXPECT_EQ(world.Available("a"), 1);
  EXPECT_FALSE(before == world.ledger());
  world.Remove("a", 3);
  EXPECT_TRUE(before == world.ledger());
}

// maths uses 6. Its guarantee shrinks to 2, it moves to another school, and it is given more.
TEST(LedgerTest, FollowsAChangedTreeWithWhatIsHeld) {
  const auto used = [](const std::string& text) {
    const auto tree = TreeFromText(text);
    const int cell = FindCell(*tree, "h100", kDevices);
    const std::vector<Holding> holdings = {{FindTenant(*tree, "maths"), {{cell, 4}}},
                                           {FindTenant(*tree, "maths"), {{cell, 2}}}};
    return Ledger(tree, holdings).Available(FindTenant(*tree, "maths"), cell);
  };
  EXPECT_EQ(used("school\n  maths  h100/devices=6"), 0);
  EXPECT_EQ(used("school\n  maths  h100/devices=2"), -4);
  EXPECT_EQ(used("other  h100/devices=10\n  maths  h100/devices=2"), 4);
  EXPECT_EQ(used("school\n  maths  h100/devices=9"), 3);
}

}  // namespace
}  // namespace offcut::quota
