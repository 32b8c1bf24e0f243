// That the comparison with published vectors would notice a difference.
#include "test/quota/vector_checks.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "test/quota/regression_sketches.h"

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

// All sources of tests, one after the other.
std::string SourcesOfTests() {
  std::string text;
  const std::filesystem::path folder = OFFCUT_SOURCE_DIR "/test";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".cc") continue;
    std::ifstream file(entry.path());
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  return text;
}

TEST(VectorChecksTest, EachSketchHasATestThatIsThereOrAReason) {
  std::ifstream file(OFFCUT_SOURCE_DIR "/test/data/quota_vectors.json");
  const json document = json::parse(file);
  const std::string sources = SourcesOfTests();
  int sketches = 0;
  for (const json& vector : document.at("vectors")) {
    if (vector.at("kind") != "regression") continue;
    ++sketches;
    const auto id = vector.at("id").get<std::string>();
    const auto* sketch = std::ranges::find(kSketches, id, &Sketch::id);
    ASSERT_NE(sketch, std::end(kSketches)) << id;
    const std::size_t dot = sketch->test.find('.');
    if (dot == std::string_view::npos) {
      EXPECT_FALSE(sketch->reason.empty()) << id;
      continue;
    }
    const std::string suite(sketch->test.substr(0, dot));
    const std::string name(sketch->test.substr(dot + 1));
    EXPECT_NE(sources.find("(" + suite + ", " + name + ")"), std::string::npos) << sketch->test;
  }
  EXPECT_EQ(sketches, std::ssize(kSketches));
}

}  // namespace
}  // namespace offcut::quota
