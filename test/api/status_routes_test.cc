#include "api/status_routes.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::PodFromText;
using testing::SnapshotOf;
using testing::WholeInventory;

HttpRequest Get(std::string_view target) { return {.method = "GET", .target = target}; }

TEST(StatusRoutesTest, ReadyIs503UntilEveryCheckHolds) {
  bool is_synced = false;
  const std::vector<ReadyCheck> checks = {{"policy", [] { return true; }},
                                          {"state-synced", [&] { return is_synced; }}};
  for (const std::string_view path : {"/readyz", "/healthz"}) {
    is_synced = false;
    const HttpResponse not_ready = AnswerHealth(checks, Get(path));
    EXPECT_EQ(not_ready.status, 503);
    EXPECT_EQ(not_ready.body, "[+]policy ok\n[-]state-synced failed\nnot ready\n");
    is_synced = true;
    EXPECT_EQ(AnswerHealth(checks, Get(path)).status, 200);
    EXPECT_EQ(AnswerHealth(checks, Get(path)).body, "ok");
  }
  EXPECT_EQ(AnswerHealth(checks, Get("/readyz?verbose")).body,
            "[+]policy ok\n[+]state-synced ok\nok\n");
  EXPECT_EQ(AnswerHealth(checks, Get("/readyz?a=b&verbose=1")).body,
            "[+]policy ok\n[+]state-synced ok\nok\n");
  EXPECT_EQ(AnswerHealth(checks, Get("/readyz?verbosely")).body, "ok");
}

TEST(StatusRoutesTest, WhatIsNotRequiredIsToldAndDecidesNothing) {
  const std::vector<ReadyCheck> checks = {
      {"state-synced", [] { return true; }},
      {"watching", [] { return false; }, /*is_required=*/false}};
  EXPECT_EQ(AnswerHealth(checks, Get("/readyz")).status, 200);
  EXPECT_EQ(AnswerHealth(checks, Get("/readyz?verbose")).body,
            "[+]state-synced ok\n[-]watching failed (not required)\nok\n");
}

TEST(StatusRoutesTest, ACheckThatFailsSaysWhy) {
  std::string problem = "403 Forbidden: no \x1b[2J right";
  const std::vector<ReadyCheck> checks = {{.name = "lease",
                                           .is_ready = [&] { return problem.empty(); },
                                           .why = [&] { return problem; }}};
  EXPECT_EQ(AnswerHealth(checks, Get("/readyz")).body,
            "[-]lease failed: 403 Forbidden: no \\u001b[2J right\nnot ready\n");
  problem.clear();
  EXPECT_EQ(AnswerHealth(checks, Get("/readyz?verbose")).body, "[+]lease ok\nok\n");
}

TEST(StatusRoutesTest, AliveDoesNotWaitForReady) {
  const std::vector<ReadyCheck> checks = {{"state-synced", [] { return false; }}};
  EXPECT_EQ(AnswerHealth(checks, Get("/livez")).status, 200);
  EXPECT_EQ(AnswerHealth(checks, Get("/livez")).body, "ok");
}

TEST(StatusRoutesTest, OnlyReadsAreAllowed) {
  const auto snapshot = SnapshotOf({});
  Metrics metrics("test", scheduler::Reasons());
  for (const std::string_view method : {"POST", "DELETE", "get"}) {
    for (const HttpResponse& answer :
         {AnswerHealth({}, {.method = method, .target = "/livez"}),
          AnswerMetrics(snapshot, metrics, {.method = method, .target = "/metrics"})}) {
      EXPECT_EQ(answer.status, 405);
      EXPECT_EQ(answer.allow, "GET, HEAD");
    }
  }
}

TEST(StatusRoutesTest, AnotherPathIs404) {
  const auto snapshot = SnapshotOf({});
  Metrics metrics("test", scheduler::Reasons());
  EXPECT_EQ(AnswerHealth({}, Get("/metrics")).status, 404);
  EXPECT_EQ(AnswerMetrics(snapshot, metrics, Get("/readyz")).status, 404);
}

TEST(StatusRoutesTest, MetricsCountNodesAndPodsOfTheSnapshot) {
  auto snapshot = SnapshotOf({WholeInventory("n", 2), WholeInventory("m", 2)},
                             {PodFromText("a nvidia.com/gpu=1 node=n"), PodFromText("b"),
                              PodFromText("c"), PodFromText("d")});
  Metrics metrics("test", scheduler::Reasons());
  const HttpResponse answer = AnswerMetrics(snapshot, metrics, Get("/metrics"));
  EXPECT_THAT(answer.content_type, HasSubstr("text/plain; version=0.0.4"));
  EXPECT_THAT(answer.body, HasSubstr("offcut_nodes 2\n"));
  EXPECT_THAT(answer.body, HasSubstr("offcut_pods{phase=\"bound\"} 1\n"));
  EXPECT_THAT(answer.body, HasSubstr("offcut_pods{phase=\"pending\"} 3\n"));
}

}  // namespace
}  // namespace offcut::api
