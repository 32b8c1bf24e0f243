#include "api/nominee_refusals.h"

#include <string>

#include <gtest/gtest.h>

namespace offcut::api {
namespace {

using std::chrono::seconds;

constexpr NomineeRefusals::Clock::time_point kStart{};

TEST(NomineeRefusalsTest, IsNotedUntilItIsForgottenOrOld) {
  NomineeRefusals refusals;
  EXPECT_FALSE(refusals.IsNoted("a", kStart));
  refusals.Note("a", kStart);
  EXPECT_TRUE(refusals.IsNoted("a", kStart + seconds{10}));
  EXPECT_FALSE(refusals.IsNoted("a", kStart + seconds{11}));
  EXPECT_FALSE(refusals.IsNoted("b", kStart));
  refusals.Note("a", kStart + seconds{5});
  EXPECT_TRUE(refusals.IsNoted("a", kStart + seconds{15}));
  refusals.Forget("a");
  EXPECT_FALSE(refusals.IsNoted("a", kStart + seconds{5}));
}

TEST(NomineeRefusalsTest, ForgetsAllRatherThanGrow) {
  NomineeRefusals refusals;
  for (std::size_t i = 0; i < NomineeRefusals::kPodsMax; ++i) {
    refusals.Note("uid-" + std::to_string(i), kStart);
  }
  EXPECT_TRUE(refusals.IsNoted("uid-0", kStart));
  refusals.Note("one more", kStart);
  EXPECT_FALSE(refusals.IsNoted("uid-0", kStart));
  EXPECT_TRUE(refusals.IsNoted("one more", kStart));
}

}  // namespace
}  // namespace offcut::api
