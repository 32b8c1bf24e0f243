#include "api/printable.h"

#include <gtest/gtest.h>

namespace offcut::api {
namespace {

TEST(PrintableTest, LeavesNothingThatSteersATerminal) {
  EXPECT_EQ(Printable("train-7"), "train-7");
  EXPECT_EQ(Printable("a\x1b[2Jb\n\x7f"), R"(a\u001b[2Jb\n\u007f)");
  EXPECT_EQ(Printable("\u0080\u009b31m\u009f\u00a0"), "\\u0080\\u009b31m\\u009f\u00a0");
  EXPECT_EQ(Printable("é 日本 \U0001F600"), "é 日本 \U0001F600");
}

// "nimda" in the opposite direction reads "admin".
TEST(PrintableTest, LeavesNothingThatTurnsTheDirectionOfWriting) {
  EXPECT_EQ(Printable("\u202enimda\u202c"), R"(\u202enimda\u202c)");
  EXPECT_EQ(Printable("\u202a\u202b\u202d"), R"(\u202a\u202b\u202d)");
  EXPECT_EQ(Printable("\u2066\u2067\u2068\u2069"), R"(\u2066\u2067\u2068\u2069)");
  EXPECT_EQ(Printable("\u200e\u200f\u061c\u2028"), R"(\u200e\u200f\u061c\u2028)");
}

TEST(PrintableTest, EscapesBytesThatAreNoUtf8) {
  EXPECT_EQ(Printable("\xff"), R"(\xff)");
  EXPECT_EQ(Printable("a\xc3"), R"(a\xc3)");
  EXPECT_EQ(Printable("\xc0\x9b"), R"(\xc0\x9b)");                  // overlong
  EXPECT_EQ(Printable("\xe0\x80\x9b"), R"(\xe0\x80\x9b)");          // likewise
  EXPECT_EQ(Printable("\xed\xa0\x80"), R"(\xed\xa0\x80)");          // a surrogate
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), R"(\xf4\x90\x80\x80)");  // beyond U+10FFFF
  EXPECT_EQ(Printable("\x9b"), R"(\x9b)");                          // C1 of an old terminal
}

TEST(PrintableTest, OfLinesKeepsTheirEnds) {
  EXPECT_EQ(PrintableLines("a\n\x1b\r\nb"), "a\n\\u001b\\r\nb");
  EXPECT_EQ(PrintableLines(""), "");
}

TEST(CutTextTest, CutsBetweenTwoCharacters) {
  EXPECT_EQ(CutText("abc", 3), "abc");
  EXPECT_EQ(CutText("abcd", 3), "abc");
  EXPECT_EQ(CutText("ab\u00e9", 3), "ab");  // the last character has two bytes
  EXPECT_EQ(CutText("\u00e9", 1), "");
}

}  // namespace
}  // namespace offcut::api
