#include "api/printable.h"

#include <gtest/gtest.h>

namespace offcut::api {
namespace {

TEST(PrintableTest, LeavesNothingThatSteersATerminal) {
  EXPECT_EQ(Printable("train-7"), "train-7");
  EXPECT_EQ(Printable("a\x1b[2Jb\n\x7f"), "a?[2Jb??");
  EXPECT_EQ(Printable("é"), "??");
}

TEST(CutTextTest, CutsBetweenTwoCharacters) {
  EXPECT_EQ(CutText("abc", 3), "abc");
  EXPECT_EQ(CutText("abcd", 3), "abc");
  EXPECT_EQ(CutText("ab\u00e9", 3), "ab");  // the last character has two bytes
  EXPECT_EQ(CutText("\u00e9", 1), "");
}

}  // namespace
}  // namespace offcut::api
