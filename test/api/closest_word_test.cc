#include "api/closest_word.h"

#include <array>

#include <gtest/gtest.h>

namespace offcut::api {
namespace {

constexpr std::array<std::string_view, 3> kWords = {"best-fit", "first-fit", "fgd"};

TEST(ClosestWordTest, TakesTheFewestEdits) {
  EXPECT_EQ(ClosestWord("bestfit", kWords), "best-fit");
  EXPECT_EQ(ClosestWord("frst-fit", kWords), "first-fit");
}

TEST(ClosestWordTest, CaseIsNoEdit) { EXPECT_EQ(ClosestWord("BEST-FT", kWords), "best-fit"); }

TEST(ClosestWordTest, ManyEditsAreAnotherWord) { EXPECT_EQ(ClosestWord("random", kWords), ""); }

// Three letters changed of three: nothing of the word is left.
TEST(ClosestWordTest, AWordThatSharesNoLetterIsNeverMeant) {
  EXPECT_EQ(ClosestWord("xy", kWords), "");
}

}  // namespace
}  // namespace offcut::api
