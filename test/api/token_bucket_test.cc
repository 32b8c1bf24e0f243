#include "api/token_bucket.h"

#include <chrono>

#include <gtest/gtest.h>

namespace offcut::api {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const TokenBucket::TimePoint kStart{seconds{1000}};

TEST(TokenBucketTest, GivesTheBurstAtOnceAndThenTheRate) {
  TokenBucket bucket(10, 3, kStart);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.Take(kStart).count(), 0);
  EXPECT_EQ(bucket.Take(kStart), milliseconds{100});
  EXPECT_EQ(bucket.Take(kStart + milliseconds{40}), milliseconds{60});
  EXPECT_EQ(bucket.Take(kStart + milliseconds{100}).count(), 0);
  EXPECT_EQ(bucket.Take(kStart + milliseconds{100}), milliseconds{100});
}

TEST(TokenBucketTest, NeverHoldsMoreThanTheBurst) {
  TokenBucket bucket(10, 2, kStart);
  const auto later = kStart + seconds{1000};
  for (int i = 0; i < 2; ++i) EXPECT_EQ(bucket.Take(later).count(), 0);
  EXPECT_GT(bucket.Take(later).count(), 0);
}

TEST(TokenBucketTest, HasATokenForWhoeverWaitedAsLongAsItSaid) {
  for (const double per_second : {0.3, 7.0, 50.0, 333.3}) {
    TokenBucket bucket(per_second, 1, kStart);
    TokenBucket::TimePoint now = kStart;
    for (int i = 0; i < 100; ++i) {
      const auto wait = bucket.Take(now);
      if (wait.count() == 0) continue;
      now += wait;
      ASSERT_EQ(bucket.Take(now).count(), 0) << per_second << " a second, call " << i;
    }
  }
}

}  // namespace
}  // namespace offcut::api
