#include "api/policy_tenants.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/policy_file.h"
#include "api/policy_pools.h"
#include "api/policy_quota.h"
#include "quota/tenant_tree.h"
#include "scheduler/policy.h"

namespace offcut::api {
namespace {

using scheduler::IsolationLevel;
using scheduler::Sharers;
using scheduler::SpotUse;
using scheduler::Tenancy;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::array<std::string_view, 1> kStrategies = {"offcut"};

// A policy whose third line is the first of `body`.
auto Read(std::string_view body) {
  return ReadPolicy("apiVersion: offcut.dev/v1alpha1\nkind: Policy\n" + std::string(body), "p.yaml",
                    kStrategies);
}

// "LINE:COLUMN CODE POINTER: MESSAGE (SUGGESTION)" of each error.
std::vector<std::string> ErrorsOf(std::string_view body) {
  std::vector<std::string> shown;
  const auto policy = Read(body);
  if (policy) return shown;
  for (const PolicyError& error : policy.error()) {
    shown.push_back(std::to_string(error.line) + ":" + std::to_string(error.column) + " " +
                    std::string(CodeText(error.code)) + " " + error.pointer + ": " + error.message +
                    (error.suggestion.empty() ? "" : " (" + error.suggestion + ")"));
  }
  return shown;
}

// The tenants of a body without errors.
Tenancy TenancyOf(std::string_view body) {
  EXPECT_THAT(ErrorsOf(body), IsEmpty());
  const auto policy = Read(body);
  EXPECT_TRUE(policy && policy->tenancy != nullptr);
  return policy && policy->tenancy != nullptr ? *policy->tenancy : Tenancy{};
}

int Index(const Tenancy& tenancy, std::string_view name) {
  return quota::FindTenant(*tenancy.tree, name);
}

scheduler::TenantRules RulesOf(const Tenancy& tenancy, std::string_view name) {
  return tenancy.rules[static_cast<std::size_t>(Index(tenancy, name))];
}

constexpr std::string_view kEveryField = R"(
tenants:
- name: team-a
  parent: research
  weight: 2.5
  namespaces: [team-a, team-a-dev]
  labelNamespaces: [shared]
  queues: [team-a-cq]
  minIsolation: software
  spot: avoid
  quotas:
  - pool: a100
    guarantee: {devices: 8, memoryMiB: 1000, coresPermille: 4000, instances: {1g.10gb: 4}}
    borrowingLimit: {devices: "1/7", instances: {2g.20gb: null}}
    lendingLimit: {devices: 0}
  - pool: "*"
    guarantee: {devices: null}
- name: research
  labelNamespaces: [shared]
isolation:
  timeSlicing: {sharers: same-tenant, required: true}
  mps: {sharers: same-namespace}
  hami: {required: true}
  memoryOvercommit: true
tenantSource: kueue
pools: [{name: a100, models: ["A100*", "H100*"]}]
)";

TEST(PolicyTenantsTest, ReadsEveryField) {
  const Tenancy tenancy = TenancyOf(kEveryField);
  const int team = Index(tenancy, "team-a");
  const int research = Index(tenancy, "research");
  EXPECT_EQ(tenancy.tree->Parent(team), research);
  EXPECT_EQ(tenancy.tree->tenants[static_cast<std::size_t>(team)].weight_micro, 2'500'000);
  EXPECT_THAT(tenancy.by_namespace, ElementsAre(Pair("team-a", team), Pair("team-a-dev", team)));
  EXPECT_THAT(tenancy.by_label_in,
              ElementsAre(Pair("shared", ::testing::UnorderedElementsAre(team, research))));
  EXPECT_THAT(tenancy.by_queue, ElementsAre(Pair("team-a-cq", team)));
  EXPECT_EQ(tenancy.source, scheduler::TenantSource::kKueue);
  EXPECT_EQ(tenancy.pools, (std::vector<scheduler::PoolSpec>{{"a100", {"A100*", "H100*"}}}));
  EXPECT_EQ(tenancy.isolation,
            (scheduler::IsolationRules{.time_slicing = {Sharers::kSameTenant, true},
                                       .mps = {Sharers::kSameNamespace, false},
                                       .hami = {Sharers::kAnyone, true},
                                       .allows_memory_overcommit = true}));
  EXPECT_EQ(RulesOf(tenancy, "team-a"),
            (scheduler::TenantRules{IsolationLevel::kSoftware, SpotUse::kAvoid}));
  EXPECT_EQ(RulesOf(tenancy, "research"), scheduler::TenantRules{});
}

// 8 GPUs are 11200/1400; 1/7 is 200. Resources come as devices, memory, cores, profiles.
TEST(PolicyTenantsTest, QuotaHasAnAmountOfEachResourceThatIsNamed) {
  using quota::QuotaSpec;
  EXPECT_EQ(TenancyOf(kEveryField).specs[0].quotas,
            (std::vector<QuotaSpec>{{"a100", "devices", 11'200, 200, 0},
                                    {"a100", "memoryMiB", 1000, {}, {}},
                                    {"a100", "coresPermille", 4000, {}, {}},
                                    {"a100", "1g.10gb", 4, {}, {}},
                                    {"a100", "2g.20gb", {}, {}, {}},
                                    {"*", "devices", {}, {}, {}}}));
}

TEST(PolicyTenantsTest, PrintsWhatReadsBackToTheSameTenants) {
  const auto policy = Read(kEveryField);
  ASSERT_TRUE(policy);
  const std::string printed = PrintPolicy(*policy);
  const auto read = ReadPolicy(printed, "printed", kStrategies);
  ASSERT_TRUE(read) << printed;
  EXPECT_EQ(PrintPolicy(*read), printed);
  const Tenancy& was = *policy->tenancy;
  const Tenancy& is = *read->tenancy;
  EXPECT_EQ(is.specs, was.specs);
  EXPECT_EQ(is.rules, was.rules);
  EXPECT_EQ(is.pools, was.pools);
  EXPECT_EQ(is.by_namespace, was.by_namespace);
  EXPECT_EQ(is.by_label_in, was.by_label_in);
  EXPECT_EQ(is.by_queue, was.by_queue);
  EXPECT_EQ(is.source, was.source);
  EXPECT_EQ(is.isolation, was.isolation);
}

TEST(PolicyTenantsTest, GpusPrintAsTheyAreWritten) {
  EXPECT_EQ(GpusText(0), "0");
  EXPECT_EQ(GpusText(11'200), "8");
  EXPECT_EQ(GpusText(200), "1/7");
  EXPECT_EQ(GpusText(467), "467/1400");  // a third, rounded up
}

TEST(PolicyTenantsTest, ThereAreNoneWherePoolsIsolationAndTenantsAreNotSaid) {
  EXPECT_EQ(Read("")->tenancy, nullptr);
  EXPECT_EQ(Read("tenantSource: kueue")->tenancy, nullptr);
  EXPECT_THAT(PrintPolicy(*Read("")), ::testing::Not(HasSubstr("tenants")));
}

TEST(PolicyTenantsTest, PoolsAndIsolationNeedNoTenants) {
  for (const char* body : {"isolation: {memoryOvercommit: true}", "tenants: []",
                           "pools: [{name: t4, models: [Tesla-T4]}]"}) {
    const Tenancy tenancy = TenancyOf(body);
    EXPECT_THAT(tenancy.tree->tenants, IsEmpty()) << body;
  }
}

// a > b > c. b asks for less isolation than a and stricter spot; c says nothing.
TEST(PolicyTenantsTest, ChildIsHeldToTheStricterOfItsOwnAndItsParentsRules) {
  const Tenancy tenancy = TenancyOf(R"(
tenants:
- {name: c, parent: b, namespaces: [c]}
- {name: b, parent: a, minIsolation: process, spot: never}
- {name: a, minIsolation: hardware, spot: avoid}
)");
  EXPECT_EQ(RulesOf(tenancy, "a"),
            (scheduler::TenantRules{IsolationLevel::kHardware, SpotUse::kAvoid}));
  EXPECT_EQ(RulesOf(tenancy, "b"),
            (scheduler::TenantRules{IsolationLevel::kHardware, SpotUse::kNever}));
  EXPECT_EQ(RulesOf(tenancy, "c"), RulesOf(tenancy, "b"));
}

TEST(PolicyTenantsTest, WeightsAreKeptToTheMillionth) {
  const Tenancy tenancy = TenancyOf(
      "tenants: [{name: a, weight: 0.000001}, {name: b, weight: 0}, {name: c, weight: 1000000}]");
  EXPECT_EQ(tenancy.specs[0].weight_micro, 1);
  EXPECT_EQ(tenancy.specs[1].weight_micro, 0);
  EXPECT_EQ(tenancy.specs[2].weight_micro, quota::kWeightMax);
  for (const char* weight : {"-1", "1e-7", "1000001", "1e300"}) {
    EXPECT_THAT(ErrorsOf("tenants: [{name: a, weight: " + std::string(weight) + "}]"),
                ElementsAre(HasSubstr("out-of-range /tenants/0/weight")));
  }
  EXPECT_THAT(ErrorsOf("tenants: [{name: a, weight: \"1\"}]"),
              ElementsAre(HasSubstr("wrong-type /tenants/0/weight")));
}

TEST(PolicyTenantsTest, TellsWhatIsWrongWithPools) {
  EXPECT_THAT(ErrorsOf("pools:\n"
                       "- {name: default, models: [A]}\n"
                       "- {name: \"*\", models: [B]}\n"
                       "- {name: A100, models: [C]}\n"
                       "- {name: x, models: [D, d]}\n"
                       "- {name: x, models: [c]}\n"
                       "- {name: y, model: [E]}\n"
                       "- {models: []}\n"),
              ElementsAre("4:10 name-conflict /pools/0/name: \"default\" is the pool of GPUs that "
                          "are in no other",
                          "5:10 name-conflict /pools/1/name: \"*\" is the pool of all GPUs",
                          HasSubstr("6:10 invalid-name /pools/2/name: got \"A100\""),
                          "7:25 name-conflict /pools/3/models/1: \"d\" is listed twice",
                          "8:10 name-conflict /pools/4/name: another pool has this name",
                          "8:22 name-conflict /pools/4/models/0: \"c\" is of pool \"A100\"",
                          "9:3 missing-field /pools/5/models: must be there",
                          "9:13 unknown-field /pools/5/model: there is no such field (models)",
                          "10:3 missing-field /pools/6/name: must be there",
                          "10:12 missing-field /pools/6/models: must name a model"));
}

TEST(PolicyTenantsTest, TellsWhatIsWrongWithIsolationAndSource) {
  EXPECT_THAT(
      ErrorsOf("isolation: {mig: {}, mps: {sharers: same-team, required: 1}}\n"
               "tenantSource: Kueue\n"),
      ElementsAre(HasSubstr("3:13 unknown-field /isolation/mig"),
                  HasSubstr("3:37 unknown-value /isolation/mps/sharers"),
                  HasSubstr("3:58 wrong-type /isolation/mps/required: got the number 1"),
                  AllOf(HasSubstr("4:15 unknown-value /tenantSource"), HasSubstr("(kueue)"))));
}

TEST(PolicyTenantsTest, TellsWhatIsWrongWithATenant) {
  EXPECT_THAT(
      ErrorsOf("tenants:\n"
               "- {name: -a, namespaces: [Team, b, b]}\n"
               "- {name: b, namespace: [x]}\n"
               "- {weight: 1}\n"
               "- {name: c, minIsolation: mig, spot: no}\n"
               "- 7\n"),
      ElementsAre(HasSubstr("4:10 invalid-name /tenants/0/name: got \"-a\""),
                  HasSubstr("4:27 invalid-name /tenants/0/namespaces/0: got \"Team\""),
                  "4:36 name-conflict /tenants/0/namespaces/2: \"b\" is listed twice",
                  "5:13 unknown-field /tenants/1/namespace: there is no such field (namespaces)",
                  "6:3 missing-field /tenants/2/name: must be there",
                  HasSubstr("7:27 unknown-value /tenants/3/minIsolation"),
                  HasSubstr("7:38 unknown-value /tenants/3/spot"),
                  "8:3 wrong-type /tenants/4: got the number 7, allowed an object"));
}

TEST(PolicyTenantsTest, NamespaceAndQueueLeadToOneTenantOnly) {
  EXPECT_THAT(
      ErrorsOf("tenantSource: kueue\n"
               "tenants:\n"
               "- {name: a, namespaces: [x], labelNamespaces: [l], queues: [q]}\n"
               "- {name: b, namespaces: [x], labelNamespaces: [l], queues: [q]}\n"),
      ElementsAre(
          "6:26 name-conflict /tenants/1/namespaces/0: \"x\" is a namespace of tenant \"a\"",
          "6:61 name-conflict /tenants/1/queues/0: \"q\" is a queue of tenant \"a\""));
}

TEST(PolicyTenantsTest, QueuesGoWithKueueAlone) {
  EXPECT_THAT(ErrorsOf("tenants: [{name: a, queues: [q]}]"),
              ElementsAre("3:29 conflict /tenants/0/queues: goes with tenantSource kueue alone"));
}

TEST(PolicyTenantsTest, PlacesWhatIsWrongWithTheTree) {
  EXPECT_THAT(
      ErrorsOf("tenants:\n"
               "- {name: research}\n"
               "- {name: team-a, parent: reserch}\n"
               "- {name: x, parent: y}\n"
               "- {name: y, parent: x}\n"
               "- {name: below, parent: x}\n"
               "- {name: research}\n"),
      ElementsAre(
          "5:26 unknown-value /tenants/1/parent: no tenant is called \"reserch\" (research)",
          "6:21 conflict /tenants/2/parent: its parents lead back to itself",
          "7:21 conflict /tenants/3/parent: its parents lead back to itself",
          "8:25 conflict /tenants/4/parent: its parents lead to no root",
          "9:10 name-conflict /tenants/5/name: another tenant has this name"));
}

TEST(PolicyTenantsTest, PlacesTheTenantThatIsTooDeep) {
  std::string body = "tenants:\n- {name: t0}\n";
  for (int i = 1; i <= quota::kTenantDepthMax; ++i) {
    body += "- {name: t" + std::to_string(i) + ", parent: t" + std::to_string(i - 1) + "}\n";
  }
  EXPECT_THAT(ErrorsOf(body), ElementsAre(HasSubstr("too-large /tenants/16/parent: ")));
}

// 3/2 + 8 GPUs of 8.
TEST(PolicyTenantsTest, PlacesGuaranteesBeyondTheParentAtItsOwnGuarantee) {
  EXPECT_THAT(
      ErrorsOf("tenants:\n"
               "- {name: a, parent: r, quotas: [{pool: default, guarantee: {devices: 8}}]}\n"
               "- {name: b, parent: r, quotas: [{pool: default, guarantee: {devices: \"3/2\"}}]}\n"
               "- {name: r, quotas: [{pool: default, guarantee: {devices: 8}}]}\n"),
      ElementsAre("6:59 conflict /tenants/2/quotas/0/guarantee/devices: the guarantees of its "
                  "children add up to 19/2, and its own is 8"));
}

TEST(PolicyTenantsTest, TellsWhatIsWrongWithAQuota) {
  const std::string before =
      "pools: [{name: a100, models: [A100*]}]\ntenants:\n- name: a\n  quotas:\n";
  EXPECT_THAT(
      ErrorsOf(before + "  - {pool: a10, guarantee: {devices: 1}}\n"
                        "  - {pool: a100, guarantee: {}}\n"
                        "  - {pool: a100, lendingLimit: {gpus: 1}}\n"
                        "  - {pool: default}\n"),
      ElementsAre("7:12 unknown-value /tenants/0/quotas/0/pool: there is no pool \"a10\" (a100)",
                  "8:29 missing-field /tenants/0/quotas/1/guarantee: must name a resource",
                  HasSubstr("9:33 unknown-field /tenants/0/quotas/2/lendingLimit/gpus"),
                  "10:5 missing-field /tenants/0/quotas/3: must have one of guarantee, "
                  "borrowingLimit and lendingLimit"));
  EXPECT_THAT(ErrorsOf(before + "  - {pool: a100, guarantee: {devices: 1}}\n"
                                "  - {pool: a100, borrowingLimit: {devices: 1}}\n"
                                "  - {guarantee: {memoryMiB: -1}}\n"),
              ElementsAre("8:12 name-conflict /tenants/0/quotas/1/pool: the tenant has quotas of "
                          "pool \"a100\" already",
                          "9:5 missing-field /tenants/0/quotas/2/pool: must be there",
                          HasSubstr("9:29 out-of-range /tenants/0/quotas/2/guarantee/memoryMiB")));
}

TEST(PolicyTenantsTest, DevicesAreWholeGpusOrAFractionAsText) {
  const auto with = [](std::string_view devices) {
    return "tenants: [{name: a, quotas: [{pool: default, guarantee: {devices: " +
           std::string(devices) + "}}]}]";
  };
  const auto units = [&](std::string_view devices) {
    return TenancyOf(with(devices)).specs[0].quotas[0].guarantee;
  };
  EXPECT_EQ(units("0"), 0);
  EXPECT_EQ(units("3.0"), 4200);
  EXPECT_EQ(units("\"1/3\""), 467);  // 466.7: the first of three slots fits
  EXPECT_EQ(units("\"9/7\""), 1800);
  EXPECT_EQ(units("1000000"), 1'400'000'000);
  EXPECT_EQ(units("null"), std::nullopt);
  for (const char* wrong : {"0.5", "-1", "1000001", "\"1\"", "\"1/0\"", "\"-1/2\"", "\"1/2/3\"",
                            "\"1000001/1\"", "\"1/1000001\"", "\" 1/2\"", "true", "[1]"}) {
    EXPECT_THAT(ErrorsOf(with(wrong)),
                ElementsAre(HasSubstr(" /tenants/0/quotas/0/guarantee/devices: got ")))
        << wrong;
  }
}

TEST(PolicyTenantsTest, ProfileIsNamedAsNvidiaSmiNamesIt) {
  const auto with = [](std::string_view profile) {
    return "tenants: [{name: a, quotas: [{pool: default, guarantee: {instances: {" +
           std::string(profile) + "}}}]}]";
  };
  for (const char* right : {"1g.10gb: 1", "1g.10gb+me: 1", "1g.24gb-me: 1", "1g.24gb+me.all: 1"}) {
    EXPECT_THAT(ErrorsOf(with(right)), IsEmpty());
  }
  for (const char* wrong : {"devices", "''", "1g.10gb.me", "1g.10g", "g.10gb", "1g.10gb+", "mig"}) {
    EXPECT_THAT(ErrorsOf(with(std::string(wrong) + ": 1")),
                ElementsAre(HasSubstr("invalid-name /tenants/0/quotas/0/guarantee/instances/")));
  }
  EXPECT_THAT(ErrorsOf(with("")),
              ElementsAre(HasSubstr("missing-field /tenants/0/quotas/0/guarantee/instances")));
}

TEST(PolicyTenantsTest, BoundsPoolsAndNamespaces) {
  std::string pools;
  for (std::size_t i = 0; i <= kMaxPools; ++i) {
    pools += "{name: p" + std::to_string(i) + ", models: [m" + std::to_string(i) + "]}, ";
  }
  EXPECT_THAT(ErrorsOf("pools: [" + pools + "]"),
              ElementsAre("3:8 too-large /pools: got 65 pools, allowed 64"));
  std::string namespaces;
  for (std::size_t i = 0; i <= kMaxTenantNamespaces; ++i)
    namespaces += "n" + std::to_string(i) + ", ";
  EXPECT_THAT(ErrorsOf("tenants: [{name: a, namespaces: [" + namespaces + "]}]"),
              ElementsAre(HasSubstr("too-large /tenants/0/namespaces: got 1001 namespaces")));
}

}  // namespace
}  // namespace offcut::api
