#include "api/nominee_waits.h"

#include <string>

#include <gtest/gtest.h>

namespace offcut::api {
namespace {

using std::chrono::seconds;

constexpr NomineeWaits::Clock::time_point kStart{};

TEST(NomineeWaitsTest, BeginsWhereFilterHasJustRefusedTheNominatedNode) {
  NomineeWaits waits;
  EXPECT_FALSE(waits.Begin("a", "n", true, kStart));
  waits.Refused("a", "n", kStart);
  EXPECT_FALSE(waits.Begin("b", "n", true, kStart));
  EXPECT_TRUE(waits.Begin("a", "n", true, kStart + seconds{1}));
}

TEST(NomineeWaitsTest, SpeaksForOneAttemptAlone) {
  NomineeWaits waits;
  waits.Refused("a", "n", kStart);
  EXPECT_TRUE(waits.Begin("a", "n", true, kStart));
  EXPECT_FALSE(waits.Begin("a", "n", true, kStart)) << "filter was not asked again";
  waits.Refused("a", "n", kStart);
  EXPECT_FALSE(waits.Begin("a", "n", true, kStart + seconds{11}));
  waits.Refused("a", "n", kStart);
  waits.NotRefused("a");
  EXPECT_FALSE(waits.Begin("a", "n", true, kStart));
}

TEST(NomineeWaitsTest, RemembersARefusalForTenSecondsUntilItPasses) {
  NomineeWaits waits;
  EXPECT_FALSE(waits.WasRefused("a", "n", kStart));
  waits.Refused("a", "n", kStart);
  waits.Begin("a", "n", true, kStart);
  EXPECT_TRUE(waits.WasRefused("a", "n", kStart + seconds{10}));
  EXPECT_FALSE(waits.WasRefused("a", "n", kStart + seconds{11}));
  EXPECT_FALSE(waits.WasRefused("a", "m", kStart));
  EXPECT_FALSE(waits.WasRefused("b", "n", kStart));
  waits.Passed("a");
  EXPECT_FALSE(waits.WasRefused("a", "n", kStart));
}

TEST(NomineeWaitsTest, LastsFiveSecondsForANomination) {
  NomineeWaits waits;
  for (const int second : {0, 3, 5}) {
    waits.Refused("a", "n", kStart + seconds{second});
    EXPECT_TRUE(waits.Begin("a", "n", true, kStart + seconds{second}));
  }
  waits.Refused("a", "n", kStart + seconds{6});
  EXPECT_FALSE(waits.Begin("a", "n", true, kStart + seconds{6}));
  waits.Refused("a", "m", kStart + seconds{6});
  EXPECT_TRUE(waits.Begin("a", "m", true, kStart + seconds{6})) << "another nomination";
}

TEST(NomineeWaitsTest, DoesNotBeginWhereItWouldNotHelp) {
  NomineeWaits waits;
  waits.Refused("a", "n", kStart);
  EXPECT_FALSE(waits.Begin("a", "n", false, kStart));
  waits.Refused("a", "n", kStart + seconds{9});
  EXPECT_TRUE(waits.Begin("a", "n", true, kStart + seconds{9})) << "it has not waited yet";
}

// It has waited for n for five seconds. Then it fitted there and was not bound, or kube-scheduler
// has evicted others there: in both cases a new preemption frees n.
TEST(NomineeWaitsTest, BeginsAnewForASecondPreemptionOnTheSameNode) {
  for (const bool has_passed : {true, false}) {
    NomineeWaits waits;
    for (const int second : {0, 5}) {
      waits.Refused("a", "n", kStart + seconds{second});
      EXPECT_TRUE(waits.Begin("a", "n", true, kStart + seconds{second}));
    }
    if (has_passed) {
      waits.Passed("a");
    } else {
      waits.Refused("a", "n", kStart + seconds{6});
      EXPECT_FALSE(waits.Begin("a", "n", false, kStart + seconds{6}));
    }
    waits.Refused("a", "n", kStart + seconds{7});
    EXPECT_TRUE(waits.Begin("a", "n", true, kStart + seconds{7}));
    waits.Refused("a", "n", kStart + seconds{13});
    EXPECT_FALSE(waits.Begin("a", "n", true, kStart + seconds{13}));
  }
}

TEST(NomineeWaitsTest, ForgetsAllRatherThanGrow) {
  NomineeWaits waits;
  for (std::size_t i = 0; i < NomineeWaits::kPodsMax; ++i) {
    waits.Refused("uid-" + std::to_string(i), "n", kStart);
  }
  waits.Refused("one more", "n", kStart);
  EXPECT_FALSE(waits.Begin("uid-0", "n", true, kStart));
  EXPECT_TRUE(waits.Begin("one more", "n", true, kStart));
}

}  // namespace
}  // namespace offcut::api
