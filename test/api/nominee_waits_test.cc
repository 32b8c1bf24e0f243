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
