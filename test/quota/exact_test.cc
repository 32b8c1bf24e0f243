#include "quota/exact.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace offcut::quota {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

TEST(ExactTest, StopsAtTheEnds) {
  EXPECT_EQ(SaturatingAdd(kMost, 1), kMost);
  EXPECT_EQ(SaturatingAdd(kLeast, -1), kLeast);
  EXPECT_EQ(SaturatingSub(kLeast, 1), kLeast);
  EXPECT_EQ(SaturatingSub(kMost, -1), kMost);
  EXPECT_EQ(SaturatingMul(kMost, 2), kMost);
  EXPECT_EQ(SaturatingMul(kMost, -2), kLeast);
  EXPECT_EQ(SaturatingAdd(3, -5), -2);
}

TEST(ExactTest, RoundsRatiosUp) {
  EXPECT_EQ(Ceiling({0, 7}), 0);
  EXPECT_EQ(Ceiling({14, 7}), 2);
  EXPECT_EQ(Ceiling({15, 7}), 3);
  EXPECT_EQ(Ceiling({Wide{kMost} * 8, 4}), kMost);
}

// 1/3 and the next ratio above it that 63 bits can write: no 64 bit float tells them apart.
TEST(ExactTest, TellsApartRatiosThatFloatsDoNot) {
  const Ratio third{kMost / 3, kMost / 3 * 3};
  const Ratio more{kMost / 3, kMost / 3 * 3 - 1};
  EXPECT_TRUE(Compare(third, more) < 0);
  EXPECT_TRUE(Compare(third, {1, 3}) == 0);
}

// a/b against c/d is a x d against c x b, which 31 bit numbers do in 64.
TEST(ExactTest, ComparesRatiosAsCrossProductsDo) {
  EXPECT_TRUE(rc::check("Compare", [] {
    const auto a = *rc::gen::inRange<std::int64_t>(0, 1 << 30);
    const auto b = *rc::gen::inRange<std::int64_t>(1, 1 << 30);
    const auto c = *rc::gen::inRange<std::int64_t>(0, 1 << 30);
    const auto d = *rc::gen::inRange<std::int64_t>(1, 1 << 30);
    RC_ASSERT(bool{Compare({a, b}, {c, d}) == (a * d <=> c * b)});
    RC_ASSERT(bool{Compare({a * d, b * d}, {a, b}) == 0});
  }));
}

}  // namespace
}  // namespace offcut::quota
