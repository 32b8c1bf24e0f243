// That the comparison with published vectors would notice a difference.
#include "test/quota/vector_checks.h"

#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace offcut::quota {
namespace {

using nlohmann::json;

// Turns every number, truth value and text into another, and what is empty into what is not.
void Falsify(json& value) {
  if (value.is_boolean()) {
    value = !value.get<bool>();
  } else if (value.is_number()) {
    value = value.get<double>() + 1;
  } else if (value.is_string()) {
    value = value.get<std::string>() + "?";
  } else if (value.is_array() && value.empty()) {
    value.push_back("?");
  } else if (value.is_structured()) {
    for (json& member : value) Falsify(member);
  }
}

TEST(VectorChecksTest, NoticeAWrongExpectationOfEveryRequiredKind) {
  std::ifstream file(OFFCUT_SOURCE_DIR "/test/data/quota_vectors.json");
  const json document = json::parse(file);
  std::map<std::string, int> checked;
  for (json vector : document.at("vectors")) {
    const VectorResult result = CheckVector(vector);
    if (!result.required || result.verdict == Verdict::kNotApplicable) continue;
    ++checked[vector.at("kind").get<std::string>()];
    Falsify(vector.at("expect"));
    EXPECT_EQ(CheckVector(vector).verdict, Verdict::kDiffers) << vector.dump();
  }
  EXPECT_EQ(checked.size(), 14);
}

TEST(VectorChecksTest, AVectorOfARequiredKindThatCannotBeReadDiffers) {
  const VectorResult result = CheckVector({{"kind", "available"}});
  EXPECT_EQ(result.verdict, Verdict::kDiffers);
  EXPECT_TRUE(result.reason.starts_with("cannot be read")) << result.reason;
}

TEST(VectorChecksTest, AKindOfAnotherSystemDoesNotApply) {
  EXPECT_EQ(CheckVector({{"kind", "slurm-fairshare"}}).verdict, Verdict::kNotApplicable);
}

}  // namespace
}  // namespace offcut::quota
