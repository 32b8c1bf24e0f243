#include "api/name_buffers.h"

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offcut::api {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NameBuffersTest, ANameThatIsReadIntoUsedMemoryIsThatName) {
  NameBuffers buffers;
  std::vector<std::string> names = buffers.TakeList();
  names.push_back(buffers.Take(std::string(100, 'a')));
  buffers.GiveBack(std::move(names));
  EXPECT_EQ(buffers.Take("b"), "b");
  EXPECT_EQ(buffers.Take("c"), "c");
}

TEST(NameBuffersTest, MarksWhatHasNotComeBefore) {
  NameBuffers buffers;
  EXPECT_THAT(buffers.FirstComers({"a", "b", "a", "", "b", ""}),
              ElementsAre(true, true, false, true, false, false));
  EXPECT_THAT(buffers.FirstComers({"a", "b", "ab"}), IsEmpty());
  EXPECT_THAT(buffers.FirstComers({}), IsEmpty());
}

// The last list is a b c d, and what follows begins anywhere in it; a comes twice in the last two.
TEST(NameBuffersTest, KnowsSomeOfTheLastListAndFindsRepeatsAmongThem) {
  const auto first_comers = [](const std::vector<std::string>& names) {
    NameBuffers buffers;
    buffers.GiveBack({"a", "b", "c", "d"});
    return buffers.FirstComers(names);
  };
  EXPECT_THAT(first_comers({"a", "b", "c", "d"}), IsEmpty());
  EXPECT_THAT(first_comers({"b", "d"}), IsEmpty());
  EXPECT_THAT(first_comers({"c", "d", "a", "b"}), IsEmpty());
  EXPECT_THAT(first_comers({"b", "a", "c"}), IsEmpty());
  EXPECT_THAT(first_comers({"c", "a", "a"}), ElementsAre(true, true, false));
  EXPECT_THAT(first_comers({"a", "b", "a"}), ElementsAre(true, true, false));
}

// Beside a set, of names that differ in their first bytes, their last or their length alone.
TEST(NameBuffersTest, FindsRepeatsAsASetDoes) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  NameBuffers buffers;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < random() % 300; ++i) {
      const std::string number = std::to_string(random() % 200);
      const std::string middle(random() % 3 * 8, '-');
      names.push_back(random() % 2 == 0 ? number + middle : middle + number);
    }
    std::set<std::string> seen;
    std::vector<bool> expected;
    for (const std::string& name : names) expected.push_back(seen.insert(name).second);
    if (seen.size() == names.size()) expected.clear();
    EXPECT_EQ(buffers.FirstComers(names), expected);
    buffers.GiveBack({seen.begin(), seen.end()});
  }
}

}  // namespace
}  // namespace offcut::api
