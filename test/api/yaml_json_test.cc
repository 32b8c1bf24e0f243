#include "api/yaml_json.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace offcut::api {
namespace {

using Texts = std::vector<std::string>;

Texts JsonOf(std::string_view yaml) {
  const auto documents = YamlToJson(yaml);
  return documents ? *documents : Texts{"error: " + documents.error().message};
}

TEST(YamlToJsonTest, WritesMapsAndSequences) {
  EXPECT_EQ(JsonOf("a: 1\nb:\n- x\n- {c: [], d: {}}\ne:\n"),
            (Texts{R"({"a":1,"b":["x",{"c":[],"d":{}}],"e":null})"}));
}

TEST(YamlToJsonTest, SeparatesDocuments) {
  EXPECT_EQ(JsonOf("---\na: 1\n---\n---\nb: 2\n...\n"),
            (Texts{R"({"a":1})", "null", R"({"b":2})"}));
}

TEST(YamlToJsonTest, GivesPlainScalarsTheTypesOfTheCoreSchema) {
  EXPECT_EQ(JsonOf("[~, null, NULL, true, False, yes, no, on, 12, -12, +7, 007, 0x1F, 0o17]"),
            (Texts{R"([null,null,null,true,false,"yes","no","on",12,-12,7,7,31,15])"}));
  EXPECT_EQ(
      JsonOf("[1.5, .5, 1., -0.25, 1e3, 1.5E-3, .inf, .nan, 1.2.3, 1_000, 12:30, -, .]"),
      (Texts{R"([1.5,0.5,1,-0.25,1e3,1.5E-3,".inf",".nan","1.2.3","1_000","12:30","-","."])"}));
  EXPECT_EQ(JsonOf("[95500m, 1031996Mi, 2026-11-29T19:24:03Z, 570.124.06]"),
            (Texts{R"(["95500m","1031996Mi","2026-11-29T19:24:03Z","570.124.06"])"}));
}

TEST(YamlToJsonTest, KeepsQuotedScalarsAsStrings) {
  EXPECT_EQ(JsonOf("[\"0\", '1', \"true\", '', \"a\\tb \\\"c\\\" \\u2028\"]"),
            (Texts{"[\"0\",\"1\",\"true\",\"\",\"a\\u0009b \\\"c\\\" \u2028\"]"}));
  EXPECT_EQ(JsonOf("a: |\n  1\n  2\n"), (Texts{R"({"a":"1\u000a2\u000a"})"}));
  EXPECT_EQ(JsonOf("a: !!str 1"), (Texts{R"({"a":"1"})"}));
  EXPECT_EQ(JsonOf("a: !!int 1"), (Texts{R"({"a":1})"}));
}

TEST(YamlToJsonTest, KeepsKeysAsStrings) {
  EXPECT_EQ(JsonOf("1: a\ntrue: b\n"), (Texts{R"({"1":"a","true":"b"})"}));
}

TEST(YamlToJsonTest, WritesNumbersBeyond18DigitsAsStrings) {
  EXPECT_EQ(JsonOf("[999999999999999999, 9999999999999999999, 1e9999]"),
            (Texts{R"([999999999999999999,"9999999999999999999","1e9999"])"}));
}

TEST(YamlToJsonTest, RefusesAliases) {
  EXPECT_EQ(JsonOf("a: &x [1]\nb: *x\n"),
            (Texts{"error: line 2, column 4: aliases are not accepted"}));
}

TEST(YamlToJsonTest, RefusesOtherTags) {
  EXPECT_TRUE(JsonOf("a: !ruby/object x").at(0).starts_with("error: line 1"));
}

TEST(YamlToJsonTest, RefusesKeysThatAreNoScalars) {
  EXPECT_TRUE(JsonOf("? [a, b]\n: c\n").at(0).starts_with("error: "));
}

TEST(YamlToJsonTest, RefusesSyntaxErrorsWithTheirPlace) {
  EXPECT_TRUE(JsonOf("a: [1\nb: 2").at(0).starts_with("error: line "));
  EXPECT_TRUE(JsonOf("a: b: c").at(0).starts_with("error: line 1"));
}

TEST(YamlToJsonTest, RefusesStrayTokensInsteadOfReadingThemForEver) {
  for (const std::string_view yaml : {"}", "a: 1\n}", "]", "--- ]", ", b"}) {
    EXPECT_TRUE(JsonOf(yaml).at(0).starts_with("error: ")) << yaml;
  }
}

TEST(YamlToJsonTest, RefusesMoreLevelsThanTheLimit) {
  const std::string deepest(kYamlDepthMax, '[');
  EXPECT_EQ(JsonOf(deepest + std::string(kYamlDepthMax, ']')).at(0).substr(0, 2), "[[");
  EXPECT_TRUE(
      JsonOf(deepest + "[" + std::string(kYamlDepthMax + 1, ']')).at(0).starts_with("error: "));
  EXPECT_TRUE(JsonOf(std::string(100000, '[')).at(0).starts_with("error: "));
}

}  // namespace
}  // namespace offcut::api
