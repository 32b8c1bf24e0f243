#include "api/metrics.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offcut::api {
namespace {

using scheduler::Reason;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::array<scheduler::ReasonInfo, 3> kReasons{{
    {Reason::kFits, "fits", "", false},
    {Reason::kNodeUnknown, "node.unknown", "the node is unknown", false},
    {Reason::kNodeCordoned, "node.cordoned", "the node is cordoned", false},
}};

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Labels come in an order that prometheus-cpp chooses by hash; so the tests look for parts.
std::string LineWith(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& line : Lines(text)) {
    bool has_all = true;
    for (const std::string& part : parts) has_all = has_all && line.find(part) != line.npos;
    if (has_all) return line;
  }
  return "no such line";
}

// 3 ms lies above the bounds 0.5, 1 and 2.5 ms and under 5 ms.
TEST(MetricsTest, SortsARequestIntoTheBucketOfItsDuration) {
  Metrics metrics("1.2.3", kReasons);
  metrics.ObserveRequest(ExtenderVerb::kFilter, 200, 0.003);
  const std::string text = metrics.Print();
  const std::string bucket = "offcut_extender_request_duration_seconds_bucket{";
  const std::string filter = R"(verb="filter")";
  EXPECT_THAT(LineWith(text, {bucket, filter, R"(le="0.0025")"}), ::testing::EndsWith("} 0"));
  EXPECT_THAT(LineWith(text, {bucket, filter, R"(le="0.005")"}), ::testing::EndsWith("} 1"));
  EXPECT_THAT(LineWith(text, {bucket, filter, R"(le="0.0005")"}), ::testing::EndsWith("} 0"));
  EXPECT_THAT(LineWith(text, {bucket, filter, R"(le="2.5")"}), ::testing::EndsWith("} 1"));
  EXPECT_THAT(LineWith(text, {"_seconds_sum{", filter, R"(code="200")"}),
              ::testing::EndsWith("} 0.003"));
}

TEST(MetricsTest, ShowsACodeOnlyOnceItWasAnswered) {
  Metrics metrics("1.2.3", kReasons);
  EXPECT_THAT(metrics.Print(), Not(HasSubstr(R"(code="503")")));
  metrics.ObserveRequest(ExtenderVerb::kBind, 503, 0.1);
  EXPECT_THAT(LineWith(metrics.Print(), {"_seconds_count{", R"(verb="bind")", R"(code="503")"}),
              ::testing::EndsWith("} 1"));
}

// Who comes later by name has no series, and gets one when others have left.
TEST(MetricsTest, ShowsNoMoreGatedTenantsThanTheLimit) {
  Metrics metrics("1.2.3", kReasons);
  std::map<std::string, std::uint64_t, std::less<>> by_tenant;
  for (std::size_t i = 0; i < kGatedTenantsMax; ++i) by_tenant["t" + std::to_string(i)] = 1;
  by_tenant["u"] = 7;
  const auto shown = [&] {
    const std::vector<std::string> lines = Lines(metrics.Print());
    return static_cast<std::size_t>(std::ranges::count_if(
        lines, [](const std::string& line) { return line.starts_with("offcut_gated_pods{"); }));
  };
  metrics.SetGatedPods(by_tenant);
  EXPECT_EQ(shown(), kGatedTenantsMax);
  EXPECT_THAT(metrics.Print(), HasSubstr("\noffcut_gated_tenants_left_out 1\n"));
  by_tenant.erase("t0");
  by_tenant["a"] = 2;  // so that u stays out, and t0 goes
  metrics.SetGatedPods(by_tenant);
  EXPECT_EQ(shown(), kGatedTenantsMax);
  EXPECT_EQ(LineWith(metrics.Print(), {R"(tenant="u")"}), "no such line");
  EXPECT_EQ(LineWith(metrics.Print(), {R"(tenant="a")"}), R"(offcut_gated_pods{tenant="a"} 2)");
  by_tenant.erase("t1");
  metrics.SetGatedPods(by_tenant);
  EXPECT_EQ(LineWith(metrics.Print(), {R"(tenant="u")"}), R"(offcut_gated_pods{tenant="u"} 7)");
  EXPECT_THAT(metrics.Print(), HasSubstr("\noffcut_gated_tenants_left_out 0\n"));
}

// 418 and 599 are no answers of ours: one series for both, not one each.
TEST(MetricsTest, CountsCodesItDoesNotKnowAsOther) {
  Metrics metrics("1.2.3", kReasons);
  metrics.ObserveRequest(ExtenderVerb::kBind, 418, 0.1);
  metrics.ObserveRequest(ExtenderVerb::kBind, 599, 0.1);
  EXPECT_THAT(LineWith(metrics.Print(), {"_seconds_count{", R"(code="other")"}),
              ::testing::EndsWith("} 2"));
}

TEST(MetricsTest, ShowsEveryReasonFromTheStartButFits) {
  Metrics metrics("1.2.3", kReasons);
  metrics.CountRejections(Reason::kNodeCordoned, 40);
  const std::string text = metrics.Print();
  EXPECT_THAT(text, HasSubstr("offcut_rejections_total{reason=\"node.cordoned\"} 40\n"));
  EXPECT_THAT(text, HasSubstr("offcut_rejections_total{reason=\"node.unknown\"} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("reason=\"fits\"")));
}

TEST(MetricsTest, NamesTheVersionThatRuns) {
  const Metrics metrics("1.2.3", kReasons);
  EXPECT_THAT(metrics.Print(), HasSubstr("offcut_build_info{version=\"1.2.3\"} 1\n"));
}

TEST(MetricsTest, SetsNodesAndPodsByPhase) {
  Metrics metrics("1.2.3", kReasons);
  metrics.SetNodes(5000);
  metrics.SetPods(scheduler::PodPhase::kReserved, 7);
  metrics.SetPods(scheduler::PodPhase::kReserved, 6);
  const std::string text = metrics.Print();
  EXPECT_THAT(text, HasSubstr("offcut_nodes 5000\n"));
  EXPECT_THAT(text, HasSubstr("offcut_pods{phase=\"reserved\"} 6\n"));
  EXPECT_THAT(text, HasSubstr("offcut_pods{phase=\"terminating\"} 0\n"));
}

TEST(MetricsTest, CountsTheEventsOfAServerUnderItsListener) {
  Metrics metrics("1.2.3", kReasons);
  const ServerEvents extender = metrics.EventsOf("extender");
  const ServerEvents health = metrics.EventsOf("health");
  extender.connection_accepted();
  extender.connection_accepted();
  health.connection_shed();
  extender.request_refused(413);
  const std::string text = metrics.Print();
  EXPECT_THAT(text, HasSubstr("offcut_http_connections_accepted_total{listener=\"extender\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("offcut_http_connections_accepted_total{listener=\"health\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("offcut_http_connections_shed_total{listener=\"health\"} 1\n"));
  EXPECT_THAT(LineWith(text, {"requests_refused_total{", R"(code="413")", R"(="extender")"}),
              ::testing::EndsWith("} 1"));
}

// What `promtool check metrics` asks for: help for every family, counters end in _total and
// nothing else does, durations are seconds.
TEST(MetricsTest, NamesFollowPrometheusConventions) {
  Metrics metrics("1.2.3", kReasons);
  metrics.EventsOf("extender").request_refused(400);
  std::map<std::string, std::string> types;
  std::set<std::string> helped;
  for (const std::string& line : Lines(metrics.Print())) {
    std::istringstream words(line);
    std::string hash;
    std::string kind;
    std::string name;
    std::string rest;
    words >> hash >> kind >> name >> rest;
    if (hash != "#") continue;
    if (kind == "HELP" && !rest.empty()) helped.insert(name);
    if (kind == "TYPE") types[name] = rest;
  }
  ASSERT_EQ(types.size(), 20U);
  for (const auto& [name, type] : types) {
    EXPECT_TRUE(name.starts_with("offcut_")) << name;
    EXPECT_TRUE(helped.contains(name)) << name;
    EXPECT_EQ(name.ends_with("_total"), type == "counter") << name;
    if (name.ends_with("_timestamp_seconds")) continue;
    EXPECT_EQ(name.ends_with("_seconds"), type == "histogram") << name;
  }
}

// Four threads, 1,000 requests and 1,000 x 2 rejections each.
TEST(MetricsTest, LosesNothingBetweenThreads) {
  Metrics metrics("1.2.3", kReasons);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&metrics] {
        for (int n = 0; n < 1000; ++n) {
          metrics.ObserveRequest(ExtenderVerb::kPreempt, 404, 0.001);
          metrics.CountRejections(Reason::kNodeUnknown, 2);
          if (n % 100 == 0) static_cast<void>(metrics.Print());
        }
      });
    }
  }
  const std::string text = metrics.Print();
  EXPECT_THAT(LineWith(text, {"_seconds_count{", R"(code="404")", R"(verb="preempt")"}),
              ::testing::EndsWith("} 4000"));
  EXPECT_THAT(text, HasSubstr("offcut_rejections_total{reason=\"node.unknown\"} 8000\n"));
}

}  // namespace
}  // namespace offcut::api
