#include "api/kube_call.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/kube_status.h"

namespace offcut::api {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

KubeResult Answered(int status, std::string body = "") {
  KubeResponse response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

KubeConfig Config() {
  KubeConfig config;
  config.host = "::1";
  config.port = 6443;
  config.base_path = "/base";
  return config;
}

TEST(KubeCallTest, SaysWhatBecameOfAChange) {
  EXPECT_EQ(OutcomeOf(Answered(201)), CallOutcome::kDone);
  for (const int refused : {301, 400, 401, 403, 404, 409, 422, 429}) {
    EXPECT_EQ(OutcomeOf(Answered(refused)), CallOutcome::kRefused) << refused;
  }
  for (const int unknown : {500, 503, 504}) {
    EXPECT_EQ(OutcomeOf(Answered(unknown)), CallOutcome::kUnknown) << unknown;
  }
  EXPECT_EQ(OutcomeOf(std::unexpected(KubeError{.may_have_acted = true, .message = ""})),
            CallOutcome::kUnknown);
  EXPECT_EQ(OutcomeOf(std::unexpected(KubeError{.may_have_acted = false, .message = ""})),
            CallOutcome::kRefused);
}

TEST(KubeCallTest, WritesTheRequest) {
  KubeRequest request;
  request.method = "PATCH";
  request.target = "/api/v1/namespaces/a/pods/b?x=y";
  request.content_type = "application/merge-patch+json";
  request.body = "{}";
  EXPECT_EQ(RequestText(request, Config(), "secret"),
            "PATCH /base/api/v1/namespaces/a/pods/b?x=y HTTP/1.1\r\n"
            "Host: [::1]:6443\r\n"
            "User-Agent: offcut/" OFFCUT_VERSION
            "\r\n"
            "Accept: application/json\r\n"
            "Authorization: Bearer secret\r\n"
            "Content-Type: application/merge-patch+json\r\n"
            "Content-Length: 2\r\n"
            "\r\n"
            "{}");
}

TEST(KubeCallTest, LeavesOutWhatAReadDoesNotNeed) {
  KubeRequest request;
  request.target = "/version";
  const auto text = RequestText(request, Config(), "");
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, Not(HasSubstr("Authorization")));
  EXPECT_THAT(*text, Not(HasSubstr("Content-")));
}

TEST(KubeCallTest, RefusesWhatWouldForgeAHeader) {
  for (const char* target : {"", "x", "/a b", "/a\r\nX: y", "/\x7f", "/a#b", "/\xC3\xA4"}) {
    KubeRequest request;
    request.target = target;
    EXPECT_FALSE(RequestText(request, Config(), "")) << target;
  }
  KubeRequest method;
  method.method = "GET / HTTP/1.1\r\n";
  method.target = "/";
  EXPECT_FALSE(RequestText(method, Config(), ""));
  KubeRequest type;
  type.target = "/";
  type.content_type = "a\nb";
  EXPECT_FALSE(RequestText(type, Config(), ""));
}

TEST(KubeCallTest, EncodesAllButUnreservedCharacters) {
  EXPECT_EQ(PercentEncoded("spec.nodeName!=,a/b +%\xC3\xA4~_-9Z"),
            "spec.nodeName%21%3D%2Ca%2Fb%20%2B%25%C3%A4~_-9Z");
}

// ---- Status objects ----------------------------------------------------------------------------

constexpr const char* kConflict = R"({"kind":"Status","apiVersion":"v1","metadata":{},
"status":"Failure","message":"pod a is already assigned","reason":"Conflict",
"details":{"name":"a","kind":"pods/binding","retryAfterSeconds":7,
"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large","field":"f"},3]},"code":409})";

TEST(KubeStatusTest, ReadsWhatTheServerSays) {
  const KubeStatus status = ReadStatusBody(400, kConflict);
  EXPECT_EQ(status.code, 409);
  EXPECT_EQ(status.reason, "Conflict");
  EXPECT_EQ(status.message, "pod a is already assigned");
  EXPECT_EQ(status.kind, "pods/binding");
  EXPECT_EQ(status.retry_after_s, 7);
  ASSERT_EQ(status.causes.size(), 1U);
  EXPECT_EQ(status.causes[0].reason, "ResourceVersionTooLarge");
  EXPECT_EQ(status.causes[0].field, "f");
  EXPECT_EQ(StatusText(status), "409 Conflict: pod a is already assigned");
}

TEST(KubeStatusTest, KnowsTheHttpStatusWhereTheBodyIsNone) {
  for (const char* body : {"", "<html>", "[]", "{}", R"({"kind":"Pod","code":1})"}) {
    EXPECT_EQ(StatusText(ReadStatusBody(502, body)), "502") << body;
  }
}

TEST(KubeStatusTest, ReadsMembersOfTheWrongKindAsAbsent) {
  const KubeStatus status = ReadStatusBody(
      500, R"({"kind":"Status","code":"x","reason":1,"message":[],"details":{"causes":{},
"kind":null,"retryAfterSeconds":-5}})");
  EXPECT_EQ(StatusText(status), "500");
  EXPECT_EQ(status.retry_after_s, 0);
  EXPECT_EQ(ReadStatusBody(500, R"({"kind":"Status","details":7})").kind, "");
}

TEST(KubeStatusTest, TellsWhyACallDidNotSucceed) {
  EXPECT_EQ(ResultText(Answered(409, kConflict)), "409 Conflict: pod a is already assigned");
  EXPECT_EQ(ResultText(Answered(200)), "200");
  EXPECT_EQ(ResultText(std::unexpected(KubeError{.may_have_acted = false, .message = "x"})), "x");
}

}  // namespace
}  // namespace offcut::api
