// What comes malformed gets the answer that api/routes.h documents, and changes nothing.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "test/api/extender_world.h"
#include "test/api/text_files.h"
#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::PodFromText;
using testing::SnapshotOf;
using testing::WholeInventory;

const std::vector<std::string> kVerbs = {"filter", "prioritize", "preempt", "bind"};

class BadInputTest : public ::testing::Test {
 protected:
  // The state is as it was: nothing that is wrong may change it.
  void TearDown() override { EXPECT_EQ(world_.Dump(), before_); }

  int StatusOf(const std::string& verb, std::string_view body) {
    const HttpResponse answer = world_.Post("/v1/" + verb, body);
    const json parsed = json::parse(answer.body, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << answer.body;
    EXPECT_TRUE(answer.status == 200 || parsed["error"].is_string()) << answer.body;
    return answer.status;
  }

  std::string FilterError(const json& pod) {
    return world_.Json("/v1/filter", NamesBody(pod, {"n"}))["Error"];
  }

  // n: XX..    one pod waits
  ExtenderWorld world_{SnapshotOf(
      {WholeInventory("n", 4)},
      {PodFromText("holder nvidia.com/gpu=2 node=n"), PodFromText("waiting nvidia.com/gpu=1")})};
  const std::string before_ = world_.Dump();
};

TEST_F(BadInputTest, ABodyCutAtAnyByteIs400) {
  const std::string folder = "recorded/v1.37.2-names/";
  for (const auto& [verb, name] : {std::pair("filter", "001-filter-whole-one.json"),
                                   std::pair("prioritize", "002-prioritize-whole-one.json"),
                                   std::pair("bind", "003-bind-whole-one.json"),
                                   std::pair("preempt", "053-preempt-filler-one-5.json")}) {
    const std::string body = ReadTextFile(DataPath(folder + name));
    for (std::size_t size = 0; size < body.size(); ++size) {
      ASSERT_EQ(StatusOf(verb, body.substr(0, size)), 400) << verb << " cut at " << size;
    }
  }
}

TEST_F(BadInputTest, WhatIsNoJsonIs400) {
  const std::string deep(100'000, '[');
  for (const std::string& verb : kVerbs) {
    for (const std::string& body :
         {std::string("hello"), std::string("{"), std::string("{\"Pod\"}"),
          std::string("{'Pod':1}"), std::string(1, '\0'), std::string("\xef\xbb\xbf{}"),
          std::string("{}{}"), deep, "{\"x\":" + deep + std::string(deep.size(), ']') + "}"}) {
      EXPECT_EQ(StatusOf(verb, body), 400) << verb << ' ' << body.substr(0, 40);
    }
  }
}

TEST_F(BadInputTest, AByteOrderMarkIs400AndSaysSo) {
  const HttpResponse answer = world_.Post("/v1/filter", "\xEF\xBB\xBF{}");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("byte order mark"));
}

TEST_F(BadInputTest, NestingThatIsTooDeepInThePodIs400) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const std::string verb : {"filter", "prioritize", "preempt"}) {
    EXPECT_EQ(StatusOf(verb, R"({"Pod":{"spec":)" + deep + R"(},"NodeNames":["n"]})"), 400);
  }
}

TEST_F(BadInputTest, TextThatIsNotUtf8Is400) {
  for (const std::string& verb : kVerbs) {
    for (const std::string bad : {"\xff", "\xc3", "\xed\xa0\x80"}) {
      EXPECT_EQ(StatusOf(verb, R"({"x":")" + bad + R"("})"), 400);
      EXPECT_EQ(StatusOf(verb, R"({"Pod":{"metadata":{"name":")" + bad + R"("}},"Node":")" + bad +
                                   R"(","NodeNames":["n"]})"),
                400);
    }
  }
}

// Every member of every body in turn, as each type that it is not.
TEST_F(BadInputTest, AMemberOfTheWrongTypeIs400) {
  const json pod = PodJson("p nvidia.com/gpu=1 priority=7");
  const json victims = {{"n", {{"Pods", json::array()}, {"NumPDBViolations", 0}}}};
  const json filter = {{"Pod", pod}, {"Nodes", {{"items", json::array()}}}, {"NodeNames", {"n"}}};
  const json preempt = {
      {"Pod", pod}, {"NodeNameToVictims", victims}, {"NodeNameToMetaVictims", victims}};
  const json bind = json::parse(BindBody("waiting", "uid-waiting", "n"));
  const std::vector<json> values = {7, -1.5, true, "text", json::array({1}), json{{"a", 1}}};
  for (const auto& [verb, body] : {std::pair("filter", filter), std::pair("prioritize", filter),
                                   std::pair("preempt", preempt), std::pair("bind", bind)}) {
    for (const auto& [key, right] : body.items()) {
      for (const json& value : values) {
        if (value.type() == right.type()) continue;
        json wrong = body;
        wrong[key] = value;
        EXPECT_EQ(StatusOf(verb, wrong.dump()), 400) << verb << ' ' << key << ' ' << value;
      }
    }
  }
}

TEST_F(BadInputTest, AMemberOfTheWrongTypeFurtherDownIs400) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"filter", R"({"Pod":{},"NodeNames":[1]})"},
      {"filter", R"({"Pod":{},"NodeNames":[null]})"},
      {"filter", R"({"Pod":{},"NodeNames":[["n"]]})"},
      {"filter", R"({"Pod":{},"NodeNames":[""]})"},
      {"filter", R"({"Pod":{},"Nodes":{"items":{}}})"},
      {"filter", R"({"Pod":{},"Nodes":{"items":[1]}})"},
      {"filter", R"({"Pod":{},"Nodes":{"items":[{}]}})"},
      {"filter", R"({"Pod":{},"Nodes":{"items":[{"metadata":[]}]}})"},
      {"filter", R"({"Pod":{},"Nodes":{"items":[{"metadata":{"name":1}}]}})"},
      {"preempt", R"({"Pod":{},"NodeNameToMetaVictims":{"n":1}})"},
      {"preempt", R"({"Pod":{},"NodeNameToMetaVictims":{"n":{"Pods":{}}}})"},
      {"preempt", R"({"Pod":{},"NodeNameToMetaVictims":{"n":{"Pods":[1]}}})"},
      {"preempt", R"({"Pod":{},"NodeNameToMetaVictims":{"n":{"Pods":[{"UID":null}]}}})"},
      {"preempt", R"({"Pod":{},"NodeNameToMetaVictims":{"n":{"NumPDBViolations":1.5}}})"},
      {"preempt", R"({"Pod":{},"NodeNameToVictims":{"n":{"Pods":[{"metadata":{"uid":1}}]}}})"},
  };
  for (const auto& [verb, body] : cases) EXPECT_EQ(StatusOf(verb, body), 400) << body;
}

TEST_F(BadInputTest, NamesAndUidsThatAreTooLongAre413) {
  const std::string name(254, 'n');
  const std::string uid(129, 'u');
  const json pod = PodJson("p nvidia.com/gpu=1");
  for (const std::string verb : {"filter", "prioritize"}) {
    EXPECT_EQ(StatusOf(verb, NamesBody(pod, {"n", name})), 413);
    EXPECT_EQ(StatusOf(verb, NodesBody(pod, {"n", name})), 413);
  }
  const json victim = {{"Pods", json::array({{{"UID", uid}}})}, {"NumPDBViolations", 0}};
  EXPECT_EQ(
      StatusOf("preempt", json{{"Pod", pod}, {"NodeNameToMetaVictims", {{"n", victim}}}}.dump()),
      413);
  EXPECT_EQ(
      StatusOf("preempt", json{{"Pod", pod}, {"NodeNameToMetaVictims", {{name, nullptr}}}}.dump()),
      413);
  EXPECT_EQ(StatusOf("bind", BindBody(name, "uid-waiting", "n")), 413);
  EXPECT_EQ(StatusOf("bind", BindBody("waiting", uid, "n")), 413);
  EXPECT_EQ(StatusOf("bind", BindBody("waiting", "uid-waiting", name)), 413);
}

TEST_F(BadInputTest, AMemberOfThePodThatCannotBeReadIsToldInError) {
  const json right = PodJson("p nvidia.com/gpu=1");
  ASSERT_EQ(FilterError(right), "");
  json pod = right;
  pod["metadata"].erase("name");
  EXPECT_THAT(FilterError(pod), HasSubstr("Pod.metadata.name"));
  pod = right;
  pod["metadata"]["uid"] = 7;
  EXPECT_THAT(FilterError(pod), HasSubstr("Pod.metadata.uid"));
  pod = right;
  pod["spec"]["containers"] = "none";
  EXPECT_THAT(FilterError(pod), HasSubstr("Pod.spec.containers"));
  pod = right;
  pod["metadata"]["name"] = std::string(254, 'n');
  EXPECT_THAT(FilterError(pod), HasSubstr("Pod.metadata.name"));
  EXPECT_NE(FilterError(json::object()), "");
}

TEST_F(BadInputTest, AQuantityThatMakesNoSenseIsToldInErrorByFilterAndPassesTheOthers) {
  for (const std::string quantity : {"-1", "-9223372036854775808", "1.5", "x", "", "1e", "0x10"}) {
    json pod = PodJson("p nvidia.com/gpu=1");
    pod["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = quantity;
    EXPECT_THAT(FilterError(pod),
                HasSubstr("Pod.spec.containers[0].resources.requests[\"nvidia.com/gpu\"]"))
        << quantity;
    EXPECT_EQ(world_.Json("/v1/prioritize", NamesBody(pod, {"n"})),
              json::parse(R"([{"Host":"n","Score":0}])"));
    const json victims = {
        {"n", {{"Pods", json::array({{{"UID", "uid-holder"}}})}, {"NumPDBViolations", 0}}}};
    EXPECT_EQ(
        world_.Json("/v1/preempt", json{{"Pod", pod}, {"NodeNameToMetaVictims", victims}}.dump()),
        json::parse(R"({"NodeNameToMetaVictims":{}})"));
  }
}

// Beyond what int64 holds, Kubernetes' quantities stay legal: the request exceeds any node.
TEST_F(BadInputTest, AQuantityBeyondEveryNodeIsARefusalAndNoBindGetsIt) {
  for (const std::string quantity :
       {"9223372036854775807", "9223372036854775808", "1e30", "8E", "4294967297"}) {
    json pod = PodJson("p nvidia.com/gpu=1");
    auto& resources = pod["spec"]["containers"][0]["resources"];
    resources["limits"]["nvidia.com/gpu"] = quantity;
    resources["requests"]["nvidia.com/gpu"] = quantity;
    const json answer = world_.Json("/v1/filter", NamesBody(pod, {"n"}));
    EXPECT_EQ(answer["Error"], "") << quantity;
    EXPECT_EQ(answer["FailedAndUnresolvableNodes"],
              (json{{"n", "request is larger than the whole node"}}));
    EXPECT_EQ(world_.Json("/v1/bind", BindBody("p", "uid-p", "n"))["Error"],
              "request is larger than the whole node");
  }
}

TEST_F(BadInputTest, TwoContainersWhoseSumOverflowsAreARefusal) {
  json pod = PodJson("p nvidia.com/gpu=1");
  json container = pod["spec"]["containers"][0];
  container["resources"]["requests"]["nvidia.com/gpu"] = "9223372036854775807";
  container["resources"]["limits"]["nvidia.com/gpu"] = "9223372036854775807";
  pod["spec"]["containers"] = {container, container};
  const json answer = world_.Json("/v1/filter", NamesBody(pod, {"n"}));
  EXPECT_EQ(answer["FailedAndUnresolvableNodes"],
            (json{{"n", "request is larger than the whole node"}}));
}

TEST_F(BadInputTest, AnUnknownNodeIsARefusalLikeAnyOther) {
  const json pod = PodJson("waiting nvidia.com/gpu=1");
  const json answer = world_.Json("/v1/filter", NamesBody(pod, {"unknown", "n", "unknown"}));
  EXPECT_EQ(answer["NodeNames"], json::array({"n"}));
  EXPECT_EQ(answer["FailedAndUnresolvableNodes"],
            (json{{"unknown", "node not known to offcut (yet)"}}));
  EXPECT_EQ(world_.Json("/v1/prioritize", NamesBody(pod, {"unknown", "unknown"})),
            json::parse(R"([{"Host":"unknown","Score":0}])"));
  EXPECT_EQ(world_.Json("/v1/bind", BindBody("waiting", "uid-waiting", "unknown"))["Error"],
            "node not known to offcut (yet)");
}

// A rule of the whole: whatever single byte of a body is changed, the answer is one of those that
// are documented, and is JSON. Bind is left out: with a byte changed it may be a right bind still.
TEST_F(BadInputTest, ABodyWithAnyByteChangedGetsADocumentedAnswer) {
  const std::string body = NamesBody(PodJson("p nvidia.com/gpu=1 priority=5"), {"n", "m"});
  for (std::size_t at = 0; at < body.size(); ++at) {
    for (const char byte : {'\0', '"', '{', ']', '9', '\x80', '\\'}) {
      std::string changed = body;
      changed[at] = byte;
      for (const std::string verb : {"filter", "prioritize", "preempt"}) {
        ASSERT_THAT(StatusOf(verb, changed), AnyOf(200, 400, 413)) << changed;
      }
    }
  }
}

}  // namespace
}  // namespace offcut::api
