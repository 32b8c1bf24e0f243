#include "api/json_object.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace offcut::api {
namespace {

class JsonObjectTest : public ::testing::Test {
 protected:
  JsonElement Element(std::string_view json) { return *ParseJson(parser_, json); }
  std::string FirstError() const { return errors_.First() ? errors_.First()->message : ""; }

  simdjson::dom::parser parser_;
  JsonErrors errors_;
};

TEST_F(JsonObjectTest, FindsAMemberInAnyCase) {
  const JsonObject object(Element(R"({"NODENAME": "n1"})"), errors_);
  EXPECT_EQ(object.String("nodeName"), "n1");
}

TEST_F(JsonObjectTest, PrefersTheExactMember) {
  const JsonObject object(Element(R"({"NodeName": "wrong", "nodeName": "right"})"), errors_);
  EXPECT_EQ(object.String("nodeName"), "right");
}

// As Go does: who reads the object before or after us must see the same in it.
TEST_F(JsonObjectTest, TakesTheLastOfMembersOfOneKey) {
  const JsonObject object(
      Element(R"({"a": "1", "a": "2", "A": "3", "B": "4", "b": "5", "c": "6", "c": null})"),
      errors_);
  EXPECT_EQ(object.String("a"), "2");
  EXPECT_EQ(object.Entry("a"), "2");
  EXPECT_EQ(object.String("b"), "5");
  EXPECT_FALSE(object.Has("c"));
}

TEST_F(JsonObjectTest, KeepsMapKeysExact) {
  const JsonObject object(Element(R"({"App": "x"})"), errors_);
  EXPECT_EQ(object.Entry("app"), std::nullopt);
  EXPECT_EQ(object.Entry("App"), "x");
}

TEST_F(JsonObjectTest, TakesNullForAbsent) {
  const JsonObject object(Element(R"({"a": null, "o": null, "l": null})"), errors_);
  EXPECT_FALSE(object.Has("a"));
  EXPECT_EQ(object.String("a"), "");
  EXPECT_EQ(object.Int("a", 7, 0, 9), 7);
  EXPECT_FALSE(object.Object("o").IsPresent());
  EXPECT_FALSE(object.HasElements("l"));
  object.ForEach("l", 1, [](const JsonObject&) { ADD_FAILURE(); });
  EXPECT_EQ(FirstError(), "");
}

TEST_F(JsonObjectTest, NamesThePathOfAnError) {
  const JsonObject object(Element(R"({"spec": {"containers": [{}, {"resources": {"limits":
      {"nvidia.com/gpu": true}}}]}})"),
                          errors_);
  object.Object("spec").ForEach("containers", 2, [](const JsonObject& container) {
    const JsonObject resources = container.Object("resources");
    const JsonObject limits = resources.Object("limits");
    limits.ForEachEntry([&](std::string_view, JsonElement value, const JsonPath& path) {
      EXPECT_FALSE(ReadQuantity(value, path, limits.Errors()));
    });
  });
  EXPECT_EQ(FirstError(),
            "spec.containers[1].resources.limits[\"nvidia.com/gpu\"]: must be a quantity");
}

TEST_F(JsonObjectTest, KeepsTheFirstError) {
  const JsonObject object(Element(R"({"a": 1, "b": "x"})"), errors_);
  EXPECT_EQ(object.String("a"), "");
  EXPECT_EQ(object.Int("b", 3, 0, 9), 3);
  EXPECT_EQ(FirstError(), "a: must be a string");
}

TEST_F(JsonObjectTest, RefusesNumbersThatGoRefusesForIntegers) {
  for (const std::string number : {"7.0", "1e1", "\"7\"", "true", "10", "-1"}) {
    JsonErrors errors;
    simdjson::dom::parser parser;
    const JsonObject object(*ParseJson(parser, R"({"n": )" + number + "}"), errors);
    EXPECT_EQ(object.Int("n", 0, 0, 9), 0);
    EXPECT_TRUE(errors.First()) << number;
  }
}

TEST_F(JsonObjectTest, RefusesOtherTypes) {
  const JsonObject object(Element(R"({"o": [], "l": {}, "b": 1})"), errors_);
  EXPECT_FALSE(object.Object("o").IsPresent());
  EXPECT_EQ(FirstError(), "o: must be an object");
  JsonErrors errors;
  const JsonObject again(Element(R"({"l": {}, "b": 1})"), errors);
  again.ForEach("l", 9, [](const JsonObject&) { ADD_FAILURE(); });
  EXPECT_EQ(errors.First()->message, "l: must be an array");
}

TEST_F(JsonObjectTest, VisitsNoArrayAboveItsLimit) {
  const JsonObject object(Element(R"({"l": [{}, {}, {}]})"), errors_);
  object.ForEach("l", 2, [](const JsonObject&) { ADD_FAILURE(); });
  EXPECT_EQ(FirstError(), "l: has more than 2 elements");
  EXPECT_EQ(errors_.First()->kind, ErrorKind::kTooLarge);
}

TEST_F(JsonObjectTest, RefusesAStringAboveItsLimit) {
  const JsonObject object(Element(R"({"name": "abcd"})"), errors_);
  EXPECT_EQ(object.String("name", 4), "abcd");
  EXPECT_EQ(object.String("name", 3), "");
  EXPECT_EQ(FirstError(), "name: is longer than 3 bytes");
}

TEST_F(JsonObjectTest, ReadsQuantitiesFromStringsAndNumbers) {
  const JsonPath root;
  EXPECT_EQ(ReadQuantity(Element("\"8k\""), root, errors_)->value, 8000);
  EXPECT_EQ(ReadQuantity(Element("8"), root, errors_)->value, 8);
  EXPECT_EQ(ReadQuantity(Element("0.1"), root, errors_)->milli, 100);
  EXPECT_EQ(ReadQuantity(Element("1e3"), root, errors_)->value, 1000);
  EXPECT_EQ(ReadQuantity(Element("-3"), root, errors_)->value, -3);
  EXPECT_EQ(FirstError(), "");
  EXPECT_FALSE(ReadQuantity(Element("\"8 k\""), root, errors_));
  EXPECT_EQ(FirstError(), "\"8 k\" is no quantity");
}

TEST_F(JsonObjectTest, ParsesStrictly) {
  for (const std::string_view json :
       {"", "{", "{} x", "{'a': 1}", "{\"a\": 01}", "{\"a\": tru}", "\"\xff\"", "[1,]"}) {
    simdjson::dom::parser parser;
    EXPECT_FALSE(ParseJson(parser, json)) << json;
  }
}

}  // namespace
}  // namespace offcut::api
