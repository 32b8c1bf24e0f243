#include "quota/fair_division.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace offcut::quota {
namespace {

using ::testing::ElementsAre;

// 11 GPUs, 2 deserved each, 7 left by 1 to 4: 1.4 and 5.6. Whole: 1 and 5; 0.6 is the larger loss.
TEST(FairDivisionTest, HandsWhatRoundingLeavesToTheLargestLoss) {
  const std::vector<Claim> claims = {{.deserved = 2, .request = 10, .weight = 1},
                                     {.deserved = 2, .request = 10, .weight = 4}};
  EXPECT_THAT(Divide(11, 1, claims).shares, ElementsAre(3, 8));
}

// 7 left, 3.5 each: of equal losses the older's.
TEST(FairDivisionTest, HandsItToTheOlderOfEqualLosses) {
  const std::vector<Claim> claims = {{.deserved = 2, .request = 6, .weight = 2, .age_order = 2},
                                     {.deserved = 2, .request = 6, .weight = 2, .age_order = 1}};
  EXPECT_THAT(Divide(11, 1, claims).shares, ElementsAre(5, 6));
}

// 3 left for the two of higher priority, 1.5 each: the third goes to one of them, too.
TEST(FairDivisionTest, GivesALowerPriorityNothingThatAHigherWants) {
  const std::vector<Claim> claims = {{.deserved = 1, .request = 5, .priority = 2},
                                     {.deserved = 1, .request = 5, .priority = 2},
                                     {.deserved = 1, .request = 5, .priority = 1}};
  const Division division = Divide(6, 1, claims);
  EXPECT_THAT(division.shares, ElementsAre(3, 2, 1));
  EXPECT_EQ(division.remaining, 0);
}

// 2 deserved of 1 that there is: deserved is not cut.
TEST(FairDivisionTest, GivesWhatIsDeservedEvenBeyondTheTotal) {
  const std::vector<Claim> claims = {{.deserved = 3, .request = 2}};
  const Division division = Divide(1, 1, claims);
  EXPECT_THAT(division.shares, ElementsAre(2));
  EXPECT_EQ(division.remaining, 0);
}

// A whole is 10. By weight 27, 6 and 7 of 40; whole: 20, 0 and 0. The first has lost most, as the
// third, and asks for 8 more: 8, 10, and what is left.
TEST(FairDivisionTest, NeverRoundsBeyondWhatIsAskedFor) {
  const std::vector<Claim> claims = {
      {.request = 28, .weight = 27}, {.request = 100, .weight = 6}, {.request = 100, .weight = 7}};
  EXPECT_THAT(Divide(40, 10, claims).shares, ElementsAre(28, 2, 10));
}

// 5 each; the first wants 2, and the 3 that it leaves are the other's.
TEST(FairDivisionTest, DividesAgainWhatSomebodyLeaves) {
  const std::vector<Claim> claims = {{.request = 2}, {.request = 20}};
  EXPECT_THAT(Divide(10, 1, claims).shares, ElementsAre(2, 8));
}

TEST(FairDivisionTest, GivesWeightZeroNothingBeyondWhatItDeserves) {
  const std::vector<Claim> claims = {{.deserved = 3, .request = 5, .weight = 0}};
  EXPECT_EQ(Divide(10, 1, claims).remaining, 7);
}

// KAI issue 1873: a request that no integer holds leaves the others' shares as they are.
TEST(FairDivisionTest, SurvivesHugeRequests) {
  const std::vector<Claim> claims = {{.deserved = 0, .request = INT64_MAX},
                                     {.deserved = 4, .request = 4}};
  EXPECT_THAT(Divide(10, 1, claims).shares, ElementsAre(6, 4));
  const std::vector<Claim> everything = {{.deserved = {}, .request = INT64_MAX}};
  EXPECT_THAT(Divide(10, 1, everything).shares, ElementsAre(10));
}

std::vector<Claim> RandomClaims() {
  std::vector<Claim> claims;
  const int count = *rc::gen::inRange(1, 8);
  for (int i = 0; i < count; ++i) {
    Claim claim{.deserved = *rc::gen::inRange<std::int64_t>(0, 50),
                .limit = std::nullopt,
                .request = *rc::gen::inRange<std::int64_t>(0, 200),
                .weight = *rc::gen::inRange<std::int64_t>(0, 4),
                .priority = *rc::gen::inRange<std::int64_t>(0, 2)};
    if (*rc::gen::arbitrary<bool>()) claim.limit = *rc::gen::inRange<std::int64_t>(0, 100);
    claims.push_back(claim);
  }
  return claims;
}

TEST(FairDivisionTest, GivesAllThatIsWantedAndNoMore) {
  EXPECT_TRUE(rc::check("Divide", [] {
    const std::vector<Claim> claims = RandomClaims();
    const auto total = *rc::gen::inRange<std::int64_t>(0, 500);
    const auto unit = *rc::gen::inRange<std::int64_t>(1, 12);
    const Division division = Divide(total, unit, claims);
    std::int64_t deserved = 0;
    std::int64_t wanted = 0;  // beyond what is deserved, by who has a weight
    for (std::size_t i = 0; i < claims.size(); ++i) {
      const Claim& claim = claims[i];
      const std::int64_t most = std::min(claim.request, claim.limit.value_or(INT64_MAX));
      const std::int64_t first = std::min(*claim.deserved, most);
      RC_ASSERT(division.shares[i] >= first);
      RC_ASSERT(division.shares[i] <= most);
      if (claim.weight == 0) RC_ASSERT(division.shares[i] == first);
      deserved += first;
      if (claim.weight > 0) wanted += most - first;
    }
    const std::int64_t given =
        std::accumulate(division.shares.begin(), division.shares.end(), std::int64_t{0});
    RC_ASSERT(given == std::max(deserved, std::min(total, deserved + wanted)));
    RC_ASSERT(division.remaining == std::max<std::int64_t>(0, total - given));
  }));
}

}  // namespace
}  // namespace offcut::quota
