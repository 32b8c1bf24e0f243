#include "api/body_buffer.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "api/http.h"

namespace offcut::api {
namespace {

constexpr std::size_t kMiB = std::size_t{1024} * 1024;

// The `bytes` from where `body` begins, its padding among them.
std::string Readable(std::string_view body, std::size_t bytes) {
  const char* const begin = body.data();
  return {begin, begin + bytes};
}

void Fill(BodyBuffer& body, std::size_t bytes) {
  body.Clear();
  ASSERT_TRUE(body.Append(std::string(bytes, 'x')));
}

// A Content-Length of 256 MiB of which nothing has come is worth one step.
TEST(BodyBufferTest, AllocatesOneStepOnTheWordOfAContentLength) {
  BodyBuffer body;
  EXPECT_EQ(body.Prepare(256 * kMiB).size(), kBodyStepBytes);
  EXPECT_EQ(body.Capacity(), kBodyStepBytes);
}

// 1 MiB has come of 256: the next step doubles it, no more.
TEST(BodyBufferTest, AtMostDoublesWhatHasCome) {
  BodyBuffer body;
  while (body.size() < kMiB) {
    const std::span<char> room = body.Prepare(256 * kMiB);
    std::ranges::fill(room, 'x');
    body.Commit(room.size());
    EXPECT_LE(body.Capacity(), 2 * body.size());
  }
}

TEST(BodyBufferTest, PadsABodyThatWasNeverThere) {
  BodyBuffer body;
  const std::string_view padded = body.Padded();
  EXPECT_TRUE(padded.empty());
  EXPECT_EQ(Readable(padded, kBodyPaddingBytes), std::string(kBodyPaddingBytes, 0));
}

TEST(BodyBufferTest, ReusesItsMemory) {
  BodyBuffer body;
  Fill(body, kMiB);
  const std::size_t capacity = body.Capacity();
  const char* const memory = body.Padded().data();
  Fill(body, kMiB / 2);
  EXPECT_EQ(body.Capacity(), capacity);
  EXPECT_EQ(body.Padded().data(), memory);
}

// Big, small x 15, and the Clear() of the 16th; the big body itself is out of the second count.
TEST(BodyBufferTest, GivesMemoryBackWhenBigBodiesStayAway) {
  BodyBuffer body;
  Fill(body, 8 * kMiB);
  for (int i = 0; i < 2 * kBodiesBeforeShrink; ++i) Fill(body, 1);
  EXPECT_LE(body.Capacity(), kBodyStepBytes);
}

// A bind between two filters of full nodes must not cost the filters their memory.
TEST(BodyBufferTest, KeepsMemoryWhenBigBodiesComeNowAndThen) {
  BodyBuffer body;
  Fill(body, 8 * kMiB);
  const std::size_t capacity = body.Capacity();
  for (int i = 0; i < 4 * kBodiesBeforeShrink; ++i) {
    Fill(body, i % 4 == 0 ? 8 * kMiB : 1);
    ASSERT_EQ(body.Capacity(), capacity);
  }
}

TEST(BodyBufferTest, HoldsWhatWasAppendedAndThenPadding) {
  rc::check("whatever the pieces", [](const std::vector<std::string>& pieces) {
    BodyBuffer body;
    std::string all;
    for (const std::string& piece : pieces) {
      RC_ASSERT(body.Append(piece));
      all += piece;
    }
    const std::string_view padded = body.Padded();
    RC_ASSERT(padded == all);
    RC_ASSERT(Readable(padded, all.size() + kBodyPaddingBytes) ==
              all + std::string(kBodyPaddingBytes, 0));
  });
}

// Two buffers of 1 MiB on a budget of 1 MiB and two steps: the second may not grow on, and what the
// first gives back is the second's.
TEST(BodyPoolTest, BuffersShareABudget) {
  BodyPool pool(kMiB + 2 * kBodyStepBytes);
  BodyBuffer first = pool.Take();
  BodyBuffer second = pool.Take();
  const std::string big(kMiB, 'x');
  EXPECT_TRUE(first.Append(big));
  EXPECT_FALSE(second.Append(big));
  first = BodyBuffer{};
  EXPECT_TRUE(second.Append(std::string_view(big).substr(second.size())));
  second = BodyBuffer{};
  EXPECT_EQ(pool.Bytes(), 0U);
}

TEST(BodyPoolTest, AFirstStepIsAlwaysHad) {
  BodyPool pool(1);
  BodyBuffer body = pool.Take();
  EXPECT_TRUE(body.Append(std::string(kBodyStepBytes, 'x')));
  EXPECT_FALSE(body.Append("x"));
}

TEST(BodyPoolTest, KeepsTheMemoryOfFewBodies) {
  BodyPool pool(64 * kMiB);
  std::vector<BodyBuffer> bodies;
  for (int i = 0; i < 8; ++i) bodies.push_back(pool.Take());
  for (BodyBuffer& body : bodies) ASSERT_TRUE(body.Append(std::string(kMiB, 'x')));
  for (BodyBuffer& body : bodies) pool.GiveBack(std::move(body));
  bodies.clear();
  EXPECT_EQ(pool.Bytes(), kSpareBodiesMax * kMiB);
  BodyBuffer reused = pool.Take();
  EXPECT_EQ(reused.size(), 0U);
  EXPECT_GE(reused.Capacity(), kMiB);
}

}  // namespace
}  // namespace offcut::api
