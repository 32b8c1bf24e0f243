#include "api/mig_mix.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offcut::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const binpack::GpuModel& Model(const std::string& name) { return *binpack::FindModel(name); }

std::string Refusal(const std::string& mix) {
  const auto weights = ParseMigMix(mix, Model("A30-24GB"));
  return weights ? "" : weights.error().message;
}

// A100 in the order of the model: 1g, 1g+me, doubled 1g, 2g, 3g, 4g, 7g.
TEST(ParseMigMixTest, NamesAreThoseOfTheYardstick) {
  const auto weights = [](const std::string& mix) { return *ParseMigMix(mix, Model("A100-40GB")); };
  EXPECT_THAT(weights("uniform"), ElementsAre(1, 0, 1, 1, 1, 1, 1));
  EXPECT_THAT(weights("skew-small"), ElementsAre(30, 0, 25, 20, 10, 10, 5));
  EXPECT_THAT(weights("skew-big"), ElementsAre(5, 0, 10, 10, 20, 25, 30));
  EXPECT_THAT(weights("bimodal"), ElementsAre(30, 0, 15, 5, 5, 15, 30));
}

// A30: 1g, 1g+me, 2g, 2g+me, 4g; triangular numbers of three.
TEST(ParseMigMixTest, ThreeProfilesFallAsTriangularNumbers) {
  EXPECT_THAT(*ParseMigMix("small-heavy", Model("A30-24GB")), ElementsAre(6, 0, 3, 0, 1));
  EXPECT_THAT(*ParseMigMix("big-heavy", Model("A30-24GB")), ElementsAre(1, 0, 3, 0, 6));
}

// Shares scaled to 500,000 in all: 3 + 1 gives three quarters and one.
TEST(ParseMigMixTest, SharesNeedNotAddUp) {
  EXPECT_THAT(*ParseMigMix("1g.6gb=3,2g.12gb+me=1", Model("A30-24GB")),
              ElementsAre(375'000, 0, 0, 125'000, 0));
}

TEST(ParseMigMixTest, SaysWhatIsWrong) {
  EXPECT_THAT(Refusal("bimodal"), HasSubstr("no mix bimodal for A30-24GB"));
  EXPECT_THAT(Refusal("3g.20gb=1"), HasSubstr("A30-24GB has no profile 3g.20gb"));
  EXPECT_THAT(Refusal("1g.6gb=-1"), HasSubstr("number above 0"));
  EXPECT_THAT(Refusal("1g.6gb=1x"), HasSubstr("number above 0"));
  EXPECT_THAT(Refusal("1g.6gb=nan"), HasSubstr("number above 0"));
  EXPECT_THAT(Refusal("1g.6gb=inf"), HasSubstr("number above 0"));
  EXPECT_THAT(Refusal("1g.6gb=1,1g.6gb=1"), HasSubstr("comes twice"));
}

}  // namespace
}  // namespace offcut::api
