#include "scheduler/shared_value.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace offcut::scheduler {
namespace {

using SharedTexts = SharedValue<std::vector<std::string>>;

TEST(SharedValueTest, WithoutAValueItIsTheDefaultOne) {
  const SharedTexts none;
  EXPECT_TRUE(none->empty());
  EXPECT_EQ(none, SharedTexts(std::vector<std::string>{}));
}

TEST(SharedValueTest, CopiesShareOneValue) {
  const SharedTexts first(std::vector<std::string>{"a", "b"});
  const SharedTexts copy = first;
  EXPECT_EQ(&*copy, &*first);
}

TEST(SharedValueTest, IsComparedByWhatItIs) {
  const SharedTexts one(std::vector<std::string>{"a"});
  const SharedTexts same(std::vector<std::string>{"a"});
  const SharedTexts other(std::vector<std::string>{"b"});
  ASSERT_NE(&*one, &*same);
  EXPECT_EQ(one, same);
  EXPECT_NE(one, other);
  EXPECT_NE(one, SharedTexts());
}

TEST(SharedValueTest, AnotherValueLeavesCopiesAlone) {
  SharedTexts value(std::vector<std::string>{"old"});
  const SharedTexts copy = value;
  value = std::vector<std::string>{"new"};
  EXPECT_EQ(copy->front(), "old");
  EXPECT_EQ(value->front(), "new");
}

// Who holds a copy keeps the value, whoever else lets go of it.
TEST(SharedValueTest, LivesAsLongAsACopy) {
  SharedTexts copy;
  {
    const SharedTexts first(std::vector<std::string>{"a text that is too long to stand in place"});
    copy = first;
  }
  EXPECT_EQ(copy->front(), "a text that is too long to stand in place");
}

}  // namespace
}  // namespace offcut::scheduler
