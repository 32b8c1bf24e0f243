#include "api/line_splitter.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace offcut::api {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The lines of the pieces, one after the other; "too long" is the last one where that is so.
std::vector<std::string> Lines(const std::vector<std::string>& pieces, std::size_t max = 1000) {
  std::vector<std::string> lines;
  LineSplitter splitter(max);
  for (const std::string& piece : pieces) {
    const bool fits = splitter.Put(piece, [&lines](std::string_view line) {
      lines.emplace_back(line);
      return true;
    });
    if (!fits) {
      lines.emplace_back("too long");
      break;
    }
  }
  return lines;
}

TEST(LineSplitterTest, HandsOverALineOnlyWhenItsEndHasCome) {
  EXPECT_THAT(Lines({"a", "b"}), IsEmpty());
  EXPECT_THAT(Lines({"a", "b\nc", "\n", "d"}), ElementsAre("ab", "c"));
}

TEST(LineSplitterTest, LeavesOutEmptyLinesAndCarriageReturns) {
  EXPECT_THAT(Lines({"\n\na\r", "\n\r\nb\n"}), ElementsAre("a", "b"));
}

TEST(LineSplitterTest, TellsALineThatIsTooLongBeforeItsEndComes) {
  EXPECT_THAT(Lines({"abcd\n", "abc", "de"}, 4), ElementsAre("abcd", "too long"));
  EXPECT_THAT(Lines({"abcde\n"}, 4), ElementsAre("too long"));
}

TEST(LineSplitterTest, HandsOverNothingBehindTheLineThatWasEnough) {
  int count = 0;
  LineSplitter splitter(10);
  EXPECT_TRUE(splitter.Put("a\nb\nc\n", [&count](std::string_view) { return ++count < 2; }));
  EXPECT_EQ(count, 2);
}

RC_GTEST_PROP(LineSplitterTest, AnyPiecesGiveTheSameLines, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::element('a', 'b', '\n', '\r', 'c'));
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size();) {
    pieces.push_back(text.substr(at, *rc::gen::inRange<std::size_t>(1, 6)));
    at += pieces.back().size();
  }
  RC_ASSERT(Lines(pieces) == Lines({text}));
}

}  // namespace
}  // namespace offcut::api
