#include "api/tenant_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/status_routes.h"
#include "test/api/tenant_world.h"

namespace offcut::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(TenantMetricsTest, AreNoneWithoutTenants) {
  EXPECT_THAT(PrintTenantMetrics(testing::SnapshotOf({})), IsEmpty());
}

TEST(TenantMetricsTest, CountGpusByStateAndPodsThatWait) {
  Metrics metrics("test", scheduler::Reasons());
  const std::string text =
      AnswerMetrics(TeamsAtWork(), metrics, {.method = "GET", .target = "/metrics"}).body;
  const auto devices = [](const char* tenant, const char* state, const char* gpus) {
    return HasSubstr(std::string("offcut_tenant_devices{tenant=\"") + tenant +
                     "\",pool=\"default\",state=\"" + state + "\"} " + gpus + "\n");
  };
  EXPECT_THAT(text, AllOf(HasSubstr("offcut_nodes 2\n"), devices("all", "used", "6.5"),
                          devices("team-a", "guaranteed", "4"), devices("team-a", "used", "6"),
                          devices("team-a", "borrowed", "2"), devices("team-b", "used", "0.5"),
                          devices("team-b", "lent", "1")));
  EXPECT_THAT(text, AllOf(HasSubstr("offcut_tenant_waiting_pods{tenant=\"team-a\"} 3\n"),
                          HasSubstr("offcut_tenant_waiting_pods{tenant=\"all\"} 0\n"),
                          HasSubstr("offcut_tenants_left_out 0\n"), Not(HasSubstr("pool=\"*\""))));
}

// all, team-a and team-b fit; team-c does not.
TEST(TenantMetricsTest, LeaveOutTenantsBeyondTheLimitAndSaySo) {
  EXPECT_THAT(PrintTenantMetrics(TeamsAtWork(), 3),
              AllOf(HasSubstr("tenant=\"team-b\""), Not(HasSubstr("tenant=\"team-c\"")),
                    HasSubstr("offcut_tenants_left_out 1\n")));
}

}  // namespace
}  // namespace offcut::api
