#include "api/tenant_json.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/state_routes.h"
#include "test/api/tenant_world.h"

namespace offcut::api {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

HttpRequest Get(std::string_view target) { return {.method = "GET", .target = target}; }

json Read(const scheduler::Snapshot& snapshot, std::string_view target) {
  const HttpResponse answer = AnswerState(snapshot, {}, Get(target));
  EXPECT_EQ(answer.status, 200) << target;
  return json::parse(answer.body);
}

TEST(TenantJsonTest, IsAnEmptyListWithoutTenants) {
  const auto snapshot = testing::SnapshotOf({testing::WholeInventory("n", 1)});
  EXPECT_EQ(Read(snapshot, "/api/v1/tenants"), json::parse(R"({"items": []})"));
  EXPECT_EQ(AnswerState(snapshot, {}, Get("/api/v1/tenants/team-a")).status, 404);
}

// 6 GPUs: 4 of its own, and 2 of the 5 of its siblings; of the 9 of all that is 222.2 permille.
TEST(TenantJsonTest, TellsWhatATenantHasAndUses) {
  const json team_a = Read(TeamsAtWork(), "/api/v1/tenants/team-a");
  EXPECT_EQ(team_a["name"], "team-a");
  EXPECT_EQ(team_a["parent"], "all");
  EXPECT_EQ(team_a["weight"], 1);
  EXPECT_EQ(team_a["namespaces"], json({"ml"}));
  EXPECT_EQ(team_a["namespacesByLabel"], json({"lab"}));
  EXPECT_EQ(team_a["dominantShare"], json({{"permille", 223}, {"resource", "devices"}}));
  EXPECT_EQ(team_a["quotas"][1], json::parse(R"({
    "pool": "default", "resource": "devices", "guarantee": 5600, "used": 8400, "own": 8400,
    "borrowed": 2800, "lent": 0, "borrowingLimit": 2800, "lendingLimit": null, "available": 0,
    "potential": 8400})"));
}

TEST(TenantJsonTest, TellsWhyPodsWait) {
  const json waiting = Read(TeamsAtWork(), "/api/v1/tenants/team-a")["waiting"];
  EXPECT_EQ(waiting["pods"], 3);
  EXPECT_EQ(waiting["gated"], 1);
  EXPECT_EQ(waiting["notJudged"], 0);
  EXPECT_EQ(waiting["reasons"], json({{"quota.wait", 2}, {"quota.never", 1}}));
  ASSERT_EQ(waiting["oldest"].size(), 3U);
  EXPECT_EQ(waiting["oldest"][1]["name"], "gated");
  EXPECT_EQ(waiting["oldest"][1]["gated"], true);
  EXPECT_EQ(waiting["oldest"][2]["reason"], "quota.never");
  EXPECT_THAT(waiting["oldest"][2]["text"], HasSubstr("may ever use"));
}

TEST(TenantJsonTest, ShowsKubernetesOwnQuotasOfItsNamespaces) {
  scheduler::Snapshot snapshot = TeamsAtWork();
  snapshot.SetResourceQuotas(std::make_shared<const std::vector<scheduler::ResourceQuota>>(
      std::vector<scheduler::ResourceQuota>{
          {"ml", "gpus", {{"nvidia.com/gpu", 6}}, {{"nvidia.com/gpu", 6}}},
          {"web", "gpus", {{"nvidia.com/gpu", 1}}, {}}}));
  EXPECT_EQ(Read(snapshot, "/api/v1/tenants/team-a")["resourceQuotas"], json::parse(R"([
    {"namespace": "ml", "name": "gpus", "hard": {"nvidia.com/gpu": 6},
     "used": {"nvidia.com/gpu": 6}}])"));
}

// One in a namespace of nobody, and one where pods may only name a tenant, stand with none.
TEST(TenantJsonTest, ShowsKubernetesOwnQuotasOnceInTheListOfAll) {
  scheduler::Snapshot snapshot = TeamsAtWork();
  snapshot.SetResourceQuotas(std::make_shared<const std::vector<scheduler::ResourceQuota>>(
      std::vector<scheduler::ResourceQuota>{{"kube-system", "q", {}, {}},
                                            {"lab", "q", {}, {}},
                                            {"ml", "a", {}, {}},
                                            {"ml", "b", {}, {}},
                                            {"web", "q", {}, {}}}));
  std::map<std::string, std::vector<std::string>> names;
  const json all = Read(snapshot, "/api/v1/tenants");
  for (const json& tenant : all["items"]) {
    for (const json& quota : tenant["resourceQuotas"]) {
      names[tenant["name"]].push_back(quota["namespace"].get<std::string>() + "/" +
                                      quota["name"].get<std::string>());
    }
  }
  const std::map<std::string, std::vector<std::string>> expected = {{"team-a", {"ml/a", "ml/b"}},
                                                                    {"team-b", {"web/q"}}};
  EXPECT_EQ(names, expected);
}

TEST(TenantJsonTest, ListsParentsBeforeTheirChildren) {
  const json items = Read(TeamsAtWork(), "/api/v1/tenants")["items"];
  ASSERT_EQ(items.size(), 4U);
  EXPECT_EQ(items[0]["name"], "all");
  EXPECT_EQ(items[0]["parent"], "");
  EXPECT_EQ(items[0]["namespaces"], json::array());
  EXPECT_EQ(items[3]["name"], "team-c");
  EXPECT_EQ(items[3]["dominantShare"], json({{"permille", 0}, {"resource", ""}}));
}

// Of weight 0, it has more than any share once it borrows.
TEST(TenantJsonTest, LeavesOutAShareThatIsMoreThanAnyNumber) {
  auto snapshot = TeamsAtWork();
  snapshot.PutPod(testing::PodFromText("c nvidia.com/gpu=2 node=n namespace=c"));
  const json share = Read(snapshot, "/api/v1/tenants/team-c")["dominantShare"];
  EXPECT_EQ(share, json({{"permille", nullptr}, {"resource", "devices"}}));
}

TEST(TenantJsonTest, AnotherPathOrMethodIsRefused) {
  const auto snapshot = TeamsAtWork();
  for (const std::string_view path : {"/api/v1/tenants/", "/api/v1/tenants/team",
                                      "/api/v1/tenants/team-a/x", "/api/v1/tenantsx"}) {
    EXPECT_EQ(AnswerState(snapshot, {}, Get(path)).status, 404) << path;
  }
  EXPECT_EQ(AnswerState(snapshot, {}, {.method = "POST", .target = "/api/v1/tenants"}).status, 405);
}

}  // namespace
}  // namespace offcut::api
