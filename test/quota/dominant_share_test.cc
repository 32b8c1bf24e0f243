#include "quota/dominant_share.h"

#include <gtest/gtest.h>

#include "test/quota/tenant_text.h"

namespace offcut::quota {
namespace {

// (7 - 5) x 1000 / 10, for weight 1 and 2.
TEST(DominantShareTest, IsWhatIsBorrowedOverWhatIsLentAndTheWeight) {
  OneCell world(R"(
    school
      one  h100/devices=5
      two  weight=2 h100/devices=5)");
  const int one = world.Tenant("one");
  EXPECT_EQ(SharePermille(ShareAfter(world.ledger(), one, one, world.Of(7))), 200);
  const int two = world.Tenant("two");
  EXPECT_EQ(SharePermille(ShareAfter(world.ledger(), two, two, world.Of(7))), 100);
  EXPECT_FALSE(ShareOf(world.ledger(), one).borrowing);
}

// Weight 0 and borrowing comes after everything; two such by what they borrow.
TEST(DominantShareTest, PutsWeightZeroLast) {
  const DominantShare endless{.borrowing = true, .borrowed = 1, .lendable = 10, .weight_micro = 0};
  const DominantShare more{.borrowing = true, .borrowed = 2, .lendable = 10, .weight_micro = 0};
  const DominantShare large{.borrowing = true, .borrowed = 9, .lendable = 1};
  EXPECT_TRUE(Compare(endless, large) > 0);
  EXPECT_TRUE(Compare(large, endless) < 0);
  EXPECT_TRUE(Compare(endless, more) < 0);
  EXPECT_EQ(SharePermille(endless), kUnlimited);
}

// Weight 0 that does not borrow waits for nobody.
TEST(DominantShareTest, IsNoneForWeightZeroWithinItsGuarantee) {
  EXPECT_TRUE(Compare({.weight_micro = 0}, {.borrowing = true, .borrowed = 1}) < 0);
  EXPECT_EQ(SharePermille({.weight_micro = 0}), 0);
}

// What a child keeps to itself reaches nobody above: of 4 more, 3 stay below `one`'s local part.
TEST(DominantShareTest, CountsAboveOnlyWhatAChildTakesFromThere) {
  OneCell world(R"(
    company
      one      h100/devices=3:-:0
        a      h100/devices=3:-:0
      two      h100/devices=7)");
  const DominantShare share =
      ShareAfter(world.ledger(), world.Tenant("one"), world.Tenant("a"), world.Of(4));
  EXPECT_EQ(share.borrowed, 1);
  EXPECT_EQ(share.lendable, 7);
}

// Devices of two pools are one resource; those of "*" are another.
TEST(DominantShareTest, SumsPoolsAndKeepsThePoolOfAllApart) {
  const auto tree = TreeFromText(R"(
    school    h100/devices=10 t4/devices=10 */devices=20
      maths)");
  const int maths = FindTenant(*tree, "maths");
  Ledger ledger(tree);
  Charge charge;
  AddToCharge(*tree, "h100", {.devices = 4}, charge);
  AddToCharge(*tree, "t4", {.devices = 1}, charge);
  const DominantShare share = ShareAfter(ledger, maths, maths, charge);
  EXPECT_EQ(share.borrowed, 5);
  EXPECT_EQ(share.lendable, 20);
  EXPECT_EQ(tree->shared[static_cast<std::size_t>(share.resource)], "*/devices");
}

}  // namespace
}  // namespace offcut::quota
