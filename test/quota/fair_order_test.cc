#include "quota/fair_order.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/quota/tenant_text.h"

namespace offcut::quota {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Waiting Asks(const OneCell& world, std::string_view tenant, std::int64_t amount,
             std::int64_t priority = 0, std::int64_t since = 0) {
  return {world.Tenant(tenant), world.Of(amount), priority, since};
}

// Kueue issue 3405: cq1 uses all of its 8 and would borrow; cq2 is within its 4, and younger.
TEST(FairOrderTest, PutsWhoStaysWithinItsGuaranteeFirstWhateverTheAges) {
  OneCell world(R"(
    cohort
      cq1  h100/devices=8
      cq2  h100/devices=4)");
  world.Add("cq1", 8);
  const std::vector<Waiting> waiting = {Asks(world, "cq1", 2, 9, 1), Asks(world, "cq2", 4, 0, 2)};
  EXPECT_THAT(FairOrder(world.ledger(), waiting), ElementsAre(1));
}

TEST(FairOrderTest, OrdersATenantsRequestsByPriorityThenAge) {
  OneCell world("a  h100/devices=9");
  const std::vector<Waiting> waiting = {Asks(world, "a", 1, 0, 5), Asks(world, "a", 1, 0, 4),
                                        Asks(world, "a", 1, 7, 6), Asks(world, "a", 1, 0, 5)};
  EXPECT_THAT(FairOrder(world.ledger(), waiting), ElementsAre(2, 1, 0, 3));
  EXPECT_THAT(FairOrder(world.ledger(), waiting, 2), ElementsAre(2, 1));
}

// Kueue issue 6947: what can never fit blocks nobody; nor does what does not fit now.
TEST(FairOrderTest, PassesOverWhatDoesNotFit) {
  OneCell world("a  h100/devices=3");
  const std::vector<Waiting> waiting = {Asks(world, "a", 4, 0, 1), Asks(world, "a", 2, 0, 2),
                                        Asks(world, "a", 2, 0, 3), Asks(world, "a", 1, 0, 4)};
  EXPECT_THAT(FairOrder(world.ledger(), waiting), ElementsAre(1, 3));
}

// a's first asks for what can never be, and would put a behind b if it took part.
TEST(FairOrderTest, DoesNotLetALargeRequestHoldBackItsTenantsSmallOnes) {
  OneCell world(R"(
    cohort  h100/devices=4
      a
      b)");
  const std::vector<Waiting> waiting = {Asks(world, "a", 9, 5, 1), Asks(world, "a", 1, 0, 2),
                                        Asks(world, "b", 1, 0, 3), Asks(world, "b", 1, 0, 3)};
  EXPECT_THAT(FairOrder(world.ledger(), waiting), ElementsAre(1, 2, 3));
}

// Kueue issue 804: 4 are free, b and c each ask for 4. One of them gets them.
TEST(FairOrderTest, ChargesEachBeforeItChoosesTheNext) {
  OneCell world(R"(
    cohort
      a  h100/devices=4
      b  h100/devices=4
      c  h100/devices=4)");
  world.Add("a", 8);
  const std::vector<Waiting> waiting = {Asks(world, "b", 4), Asks(world, "c", 4)};
  EXPECT_THAT(FairOrder(world.ledger(), waiting), ElementsAre(0));
}

// b borrows half as much per weight: a b b a b b, each time after the charge.
TEST(FairOrderTest, FollowsWeights) {
  OneCell world(R"(
    cohort  h100/devices=6
      a     weight=1
      b     weight=2)");
  std::vector<Waiting> waiting;
  for (int i = 0; i < 6; ++i) waiting.push_back(Asks(world, "a", 1, 0, i));
  for (int i = 0; i < 6; ++i) waiting.push_back(Asks(world, "b", 1, 0, i));
  EXPECT_THAT(FairOrder(world.ledger(), waiting), ElementsAre(6, 0, 7, 8, 1, 9));
}

// Departments are compared before their teams: one's team gets as much as two's two teams.
TEST(FairOrderTest, ComparesSubtreesWhereTheyMeet) {
  OneCell world(R"(
    company  h100/devices=8
      one
        a
      two
        b
        c)");
  std::vector<Waiting> waiting;
  for (const char* tenant : {"a", "b", "c"}) {
    for (int i = 0; i < 8; ++i) waiting.push_back(Asks(world, tenant, 1));
  }
  std::vector<int> counts(world.ledger().tree().tenants.size());
  for (const std::size_t i : FairOrder(world.ledger(), waiting)) {
    ++counts[static_cast<std::size_t>(waiting[i].tenant)];
  }
  EXPECT_EQ(counts[static_cast<std::size_t>(world.Tenant("a"))], 4);
  EXPECT_EQ(counts[static_cast<std::size_t>(world.Tenant("b"))], 2);
  EXPECT_EQ(counts[static_cast<std::size_t>(world.Tenant("c"))], 2);
}

// The parent's own pods count as one more child.
TEST(FairOrderTest, TreatsAParentsOwnPodsAsAChilds) {
  OneCell world(R"(
    school   h100/devices=4
      maths)");
  std::vector<Waiting> waiting;
  for (const char* tenant : {"school", "maths"}) {
    for (int i = 0; i < 4; ++i) waiting.push_back(Asks(world, tenant, 1));
  }
  EXPECT_THAT(FairOrder(world.ledger(), waiting), ElementsAre(0, 4, 1, 5));
}

TEST(FairOrderTest, GivesNothingWhereNothingIsLeft) {
  OneCell world("a  h100/devices=1");
  world.Add("a", 2);
  EXPECT_THAT(FairOrder(world.ledger(), std::vector{Asks(world, "a", 1)}), IsEmpty());
  EXPECT_THAT(FairOrder(world.ledger(), {}), IsEmpty());
}

// A gang is one request: 4 of 3 get nothing, though 3 would fit.
TEST(FairOrderTest, TakesAGangWholeOrNotAtAll) {
  OneCell world("a  h100/devices=3");
  EXPECT_THAT(FairOrder(world.ledger(), std::vector{Asks(world, "a", 4)}), IsEmpty());
}

}  // namespace
}  // namespace offcut::quota
