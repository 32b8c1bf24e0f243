#include "scheduler/label_selector.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace offcut::scheduler {
namespace {

using enum SelectorOperator;

const Labels kA10 = {{"gpu", "a10"}, {"count", "8"}, {"empty", ""}};

bool A10Meets(std::string key, SelectorOperator is, std::vector<std::string> values = {}) {
  return Meets({.key = std::move(key), .is = is, .values = std::move(values)}, kA10);
}

bool Takes(SelectorOperator is, std::vector<std::string> values) {
  return IsWellFormed({.key = "k", .is = is, .values = std::move(values)});
}

TEST(LabelSelectorTest, InWantsOneOfTheValues) {
  EXPECT_TRUE(A10Meets("gpu", kIn, {"h100", "a10"}));
  EXPECT_FALSE(A10Meets("gpu", kIn, {"h100", "A10"}));
  EXPECT_FALSE(A10Meets("GPU", kIn, {"a10"}));
  EXPECT_FALSE(A10Meets("none", kIn, {"a10"}));
}

TEST(LabelSelectorTest, ALabelThatIsMissingIsNotAnEmptyOne) {
  EXPECT_TRUE(A10Meets("empty", kIn, {""}));
  EXPECT_FALSE(A10Meets("none", kIn, {""}));
  EXPECT_FALSE(A10Meets("empty", kNotIn, {""}));
}

TEST(LabelSelectorTest, NotInIsMetByWhoHasNoSuchLabel) {
  EXPECT_FALSE(A10Meets("gpu", kNotIn, {"h100", "a10"}));
  EXPECT_TRUE(A10Meets("gpu", kNotIn, {"h100"}));
  EXPECT_TRUE(A10Meets("none", kNotIn, {"a10"}));
}

TEST(LabelSelectorTest, ExistsAsksForTheKeyAlone) {
  EXPECT_TRUE(A10Meets("empty", kExists));
  EXPECT_FALSE(A10Meets("none", kExists));
  EXPECT_FALSE(A10Meets("empty", kDoesNotExist));
  EXPECT_TRUE(A10Meets("none", kDoesNotExist));
}

// The node has 8.
TEST(LabelSelectorTest, GtAndLtCompareIntegersAndExcludeTheBound) {
  EXPECT_TRUE(A10Meets("count", kGt, {"7"}));
  EXPECT_FALSE(A10Meets("count", kGt, {"8"}));
  EXPECT_TRUE(A10Meets("count", kLt, {"10"}));  // as texts "8" would be above "10"
  EXPECT_FALSE(A10Meets("count", kLt, {"8"}));
  EXPECT_TRUE(A10Meets("count", kLt, {"009"}));
}

TEST(LabelSelectorTest, GtAndLtAreNotMetByWhatIsNoInteger) {
  for (const SelectorOperator is : {kGt, kLt}) {
    EXPECT_FALSE(A10Meets("gpu", is, {"7"}));
    EXPECT_FALSE(A10Meets("empty", is, {"7"}));
    EXPECT_FALSE(A10Meets("none", is, {"7"}));
  }
  // 2^63 is beyond what Kubernetes compares.
  EXPECT_FALSE(Meets({.key = "n", .is = kGt, .values = {"1"}}, {{"n", "9223372036854775808"}}));
  EXPECT_TRUE(Meets({.key = "n", .is = kGt, .values = {"1"}}, {{"n", "9223372036854775807"}}));
}

TEST(LabelSelectorTest, WellFormedIsWhatKubernetesTakes) {
  for (const SelectorOperator is : {kIn, kNotIn}) {
    EXPECT_TRUE(Takes(is, {"a"}));
    EXPECT_TRUE(Takes(is, {"a", ""}));
    EXPECT_FALSE(Takes(is, {}));
  }
  for (const SelectorOperator is : {kExists, kDoesNotExist}) {
    EXPECT_TRUE(Takes(is, {}));
    EXPECT_FALSE(Takes(is, {""}));
  }
  for (const SelectorOperator is : {kGt, kLt}) {
    EXPECT_TRUE(Takes(is, {"8"}));
    for (const auto& values : std::vector<std::vector<std::string>>{
             {}, {"8", "9"}, {""}, {"8a"}, {"0x8"}, {"8.0"}, {" 8"}, {"9223372036854775808"}}) {
      EXPECT_FALSE(Takes(is, values)) << values.size();
    }
  }
}

}  // namespace
}  // namespace offcut::scheduler
