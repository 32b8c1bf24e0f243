#include "quota/usage_decay.h"

#include <cmath>

#include <gtest/gtest.h>

namespace offcut::quota {
namespace {

TEST(UsageDecayTest, HalvesWithEveryHalfLife) {
  EXPECT_EQ(KeptAfter(0, 300), kDecayOne);
  EXPECT_EQ(KeptAfter(300, 300), kDecayOne / 2);
  EXPECT_EQ(KeptAfter(900, 300), kDecayOne / 8);
  EXPECT_EQ(KeptAfter(62 * 300, 300), 0);
  EXPECT_EQ(KeptAfter(INT64_MAX, 1), 0);
}

// Against the platform's own power, whose error is about 2^-53.
TEST(UsageDecayTest, AgreesWithThePowerOfTwo) {
  for (int passed = 0; passed < 2'000; passed += 7) {
    const double kept = static_cast<double>(KeptAfter(passed, 997)) / std::exp2(62);
    EXPECT_NEAR(kept, std::exp2(-passed / 997.0), 1e-15) << passed;
  }
}

TEST(UsageDecayTest, NearsAUsageThatStaysTheSame) {
  const std::int64_t kept = KeptAfter(300, 3'600);
  std::int64_t usage = 0;
  for (int i = 0; i < 1'000; ++i) usage = DecayedUsage(usage, 8 * kUsageScale, kept);
  EXPECT_NEAR(static_cast<double>(usage), 8.0 * kUsageScale, 10);
  EXPECT_EQ(DecayedUsage(16, 0, KeptAfter(300, 300)), 8);
}

}  // namespace
}  // namespace offcut::quota
