#include "api/tenant_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/explain_text.h"
#include "api/state_routes.h"
#include "test/api/tenant_world.h"

namespace offcut::api {
namespace {

using scheduler::QuotaRefusal;
using scheduler::Reason;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(TenantTextTest, PrintsDevicesAsGpusAndAllElseAsItStands) {
  EXPECT_EQ(AmountText("devices", 0), "0");
  EXPECT_EQ(AmountText("devices", 11'200), "8");
  EXPECT_EQ(AmountText("devices", 700), "0.5");
  EXPECT_EQ(AmountText("devices", 467), "0.33");
  EXPECT_EQ(AmountText("devices", 1'470), "1.05");
  EXPECT_EQ(AmountText("devices", 1'399), "1");  // to the nearest
  EXPECT_EQ(AmountText("devices", 3), "<0.01");
  EXPECT_EQ(AmountText("memoryMiB", 81'920), "81920");
  EXPECT_EQ(AmountText("1g.10gb", 3), "3");
  EXPECT_EQ(AmountText("devices", quota::kUnlimited), "unlimited");
}

// team-b's half GPU is a slot of two; its other resources have no limit, and no row.
TEST(TenantTextTest, DrawsTheTreeAndSaysWhyPodsWait) {
  const auto snapshot = TeamsAtWork();
  EXPECT_EQ(
      PrintTenants(scheduler::ReportTenants(snapshot, {}), &snapshot.accounts()->tenancy()),
      "TENANT    POOL     RESOURCE  GUARANTEE  USED  BORROWED  LENT  AVAILABLE  SHARE      "
      "WAITING\n"
      "all       default  devices           9   6.5         0     0        2.5      -            "
      "0\n"
      "  team-a  default  devices           4     6         2     0          0  22.3%  3 (1 "
      "gated)\n"
      "  team-b  default  devices           4   0.5         0     1        2.5   0.0%            "
      "1\n"
      "  team-c  default  devices           1     0         0     0        2.5   0.0%            "
      "0\n"
      "\n"
      "team-a: 3 pods wait, 1 behind the gate\n"
      "  2 quota.wait  more than is left now of the tenant's quota and of what it may borrow\n"
      "  1 quota.never  more than the pod's tenant may ever use there, with all that it may "
      "borrow\n"
      "  oldest: ml/old, ml/gated, ml/big\n"
      "\n"
      "team-b: 1 pod waits\n"
      "  1 fits  fits by quota and devices; its turn has not come\n"
      "  oldest: web/next\n");
}

TEST(TenantTextTest, NamesThePodsOfOneTenantWithTheirReasons) {
  const HttpResponse answer = AnswerState(
      TeamsAtWork(), {}, {.method = "GET", .target = "/api/v1/tenants/team-a?output=text"});
  EXPECT_THAT(answer.body, StartsWith("TENANT  POOL "));
  EXPECT_THAT(answer.body, HasSubstr("\nteam-a  default  devices "));
  EXPECT_THAT(answer.body, HasSubstr("  oldest:\n"
                                     "    ml/old  quota.wait\n"
                                     "    ml/gated  quota.wait, gated\n"
                                     "    ml/big  quota.never\n"));
}

TEST(TenantTextTest, SaysThatThereAreNone) {
  EXPECT_EQ(PrintTenants({}, nullptr), "no tenants: the policy names none\n");
}

QuotaRefusal Refusal() {
  return {.reason = Reason::kQuotaWait,
          .pool = "a100",
          .resource = "devices",
          .asked = 1400,
          .standing = {.guarantee = 8 * 1400, .used = 10 * 1400, .borrowed = 2 * 1400},
          .borrowing_limit = 2 * 1400,
          .may_borrow = true,
          .limited_by = "team-a"};
}

TEST(TenantTextTest, SaysWhichLimitRefusesAPod) {
  QuotaRefusal refusal = Refusal();
  EXPECT_EQ(RefusalText("team-a", refusal),
            "team-a uses 8 of 8 GPUs guaranteed in pool a100 and borrows 2 of 2; the pod asks "
            "for 1");
  refusal.standing.used = 9 * 1400;
  refusal.standing.borrowed = 1400;
  refusal.standing.available = 1400;
  refusal.asked = 2800;
  EXPECT_EQ(RefusalText("team-a", refusal),
            "team-a uses 8 of 8 GPUs guaranteed in pool a100 and borrows 1 of 2; 1 left; the pod "
            "asks for 2");
}

TEST(TenantTextTest, OneGpuIsNoGpus) {
  QuotaRefusal refusal = Refusal();
  refusal.standing = {.guarantee = 1400, .used = 1400, .lent = 1400};
  EXPECT_EQ(RefusalText("team-a", refusal),
            "team-a uses 1 of 1 GPU guaranteed in pool a100 and borrows 0 of 2, and 1 is lent; the "
            "pod asks for 1");
  refusal.reason = Reason::kQuotaNever;
  refusal.may_borrow = false;
  refusal.resource = "1g.10gb";
  refusal.standing.potential = 1;
  refusal.asked = 2;
  EXPECT_EQ(RefusalText("team-a", refusal),
            "team-a may never use more than 1 1g.10gb instance in pool a100; the pod asks for 2");
}

TEST(TenantTextTest, SaysWhoLendsNoMore) {
  QuotaRefusal refusal = Refusal();
  refusal.borrowing_limit = quota::kUnlimited;
  refusal.limited_by = "all";
  EXPECT_EQ(RefusalText("team-a", refusal),
            "team-a uses 8 of 8 GPUs guaranteed in pool a100 and borrows 2; all has nothing left "
            "for all below it; the pod asks for 1");
  refusal.standing = {.guarantee = 8 * 1400, .used = 6 * 1400, .lent = 2 * 1400};
  refusal.left_there = 700;
  EXPECT_EQ(RefusalText("team-a", refusal),
            "team-a uses 6 of 8 GPUs guaranteed in pool a100, and 2 are lent; all has 0.5 left "
            "for all below it; the pod asks for 1");
}

TEST(TenantTextTest, NamesTheUnitOfWhatIsShort) {
  QuotaRefusal refusal = Refusal();
  refusal.standing = {.guarantee = 4, .used = 4};
  refusal.borrowing_limit = 0;
  refusal.asked = 1;
  refusal.resource = "1g.10gb";
  EXPECT_EQ(RefusalText("team-a", refusal),
            "team-a uses 4 of 4 1g.10gb instances guaranteed in pool a100 and borrows 0 of 0; the "
            "pod asks for 1");
  refusal.resource = "memoryMiB";
  EXPECT_THAT(RefusalText("team-a", refusal), HasSubstr("4 of 4 MiB of GPU memory guaranteed in"));
}

TEST(TenantTextTest, SaysWhatCanNeverBe) {
  QuotaRefusal refusal = Refusal();
  refusal.reason = Reason::kQuotaNever;
  refusal.pool = "*";
  refusal.standing.potential = 10 * 1400;
  refusal.asked = 11 * 1400;
  EXPECT_EQ(RefusalText("team-a", refusal),
            "team-a may never use more than 10 GPUs in all pools together, borrowed ones among "
            "them; the pod asks for 11");
}

TEST(TenantTextTest, StandsInTheExplanationOfAPod) {
  const auto explanation = scheduler::Explain(TeamsAtWork(), "uid-gated", {});
  const std::string text = PrintExplanation(explanation);
  EXPECT_THAT(text, StartsWith("pod ml/gated of tenant team-a asks for 1 x nvidia.com/gpu; "));
  EXPECT_THAT(text, HasSubstr("quota: team-a uses 4 of 4 GPUs guaranteed in pool default and "
                              "borrows 2 of 2; the pod asks for 1 (1 node)\n"
                              "waits behind the gate offcut.dev/quota until its turn comes\n"));
  const auto json = ToJson(explanation);
  EXPECT_EQ(json["tenant"], "team-a");
  ASSERT_EQ(json["quota"].size(), 1U);
  EXPECT_EQ(json["quota"][0]["reason"], "quota.wait");
  EXPECT_EQ(json["quota"][0]["limitedBy"], "team-a");
  EXPECT_EQ(json["quota"][0]["nodes"], 1);
  EXPECT_THAT(json["quota"][0]["text"], StartsWith("team-a uses 4 of 4 GPUs"));
}

}  // namespace
}  // namespace offcut::api
