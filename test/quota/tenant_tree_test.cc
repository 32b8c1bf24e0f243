#include "quota/tenant_tree.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/quota/tenant_text.h"

namespace offcut::quota {
namespace {

using ::testing::ElementsAre;

// "maths.0 kParentUnknown": the tenant, its quota where the fault names one, and what is said.
std::vector<std::string> FaultsOf(const std::vector<TenantSpec>& specs) {
  std::vector<std::string> texts;
  const auto tree = BuildTenantTree(specs);
  if (tree) return texts;
  for (const TenantFault& fault : tree.error()) {
    texts.push_back(specs[fault.tenant].name +
                    (fault.quota ? "." + std::to_string(*fault.quota) : "") + ": " +
                    Describe(fault, specs));
  }
  return texts;
}

// school has 12: 4 are maths', 5 arts', and 3 are for either.
TEST(TenantTreeTest, KeepsForAllChildrenWhatNoChildIsGuaranteed) {
  const auto tree = TreeFromText(R"(
    school   h100/devices=12
      maths  h100/devices=4
      arts   h100/devices=5)");
  const int cell = FindCell(*tree, "h100", kDevices);
  EXPECT_EQ(tree->Plan(cell, FindTenant(*tree, "school")).nominal, 3);
  EXPECT_EQ(tree->Plan(cell, FindTenant(*tree, "school")).subtree, 12);
  EXPECT_EQ(tree->Plan(cell, FindTenant(*tree, "maths")).potential, 12);
}

TEST(TenantTreeTest, GivesAParentThatSaysNothingTheSumOfItsChildren) {
  const auto tree = TreeFromText(R"(
    school
      maths  h100/devices=4
      arts   h100/devices=5)");
  const CellPlan& school = tree->Plan(0, FindTenant(*tree, "school"));
  EXPECT_EQ(school.nominal, 0);
  EXPECT_EQ(school.guarantee, 9);
}

TEST(TenantTreeTest, PutsParentsBeforeChildrenWhateverTheirOrder) {
  const std::vector<TenantSpec> specs = {{.name = "leaf", .parent = "middle", .quotas = {}},
                                         {.name = "middle", .parent = "root", .quotas = {}},
                                         {.name = "root", .parent = "", .quotas = {}}};
  const auto tree = BuildTenantTree(specs);
  ASSERT_TRUE(tree);
  EXPECT_THAT(tree->parents, ElementsAre(-1, 0, 1));
  EXPECT_EQ(FindTenant(*tree, "leaf"), 2);
  EXPECT_EQ(FindTenant(*tree, "nobody"), -1);
}

TEST(TenantTreeTest, FindsAllFaultsAtOnce) {
  const std::vector<TenantSpec> specs = {
      {.name = "a", .parent = "b", .quotas = {}},
      {.name = "b", .parent = "a", .quotas = {}},
      {.name = "below", .parent = "b", .quotas = {}},
      {.name = "orphan", .parent = "nobody", .quotas = {}},
      {.name = "below-orphan", .parent = "orphan", .quotas = {}},
      {.name = "self", .parent = "self", .quotas = {}},
      {.name = "", .parent = "", .quotas = {}},
      {.name = "orphan", .parent = "", .weight_micro = -1, .quotas = {}},
      {.name = "quotas",
       .parent = "",
       .quotas = {{"h100", "devices", -1, {}, {}},
                  {"h100", "devices", 1, -1, -1},
                  {"", "devices", kAmountMax + 1, {}, {}}}}};
  EXPECT_THAT(
      FaultsOf(specs),
      ElementsAre("a: its parents lead back to itself", "b: its parents lead back to itself",
                  "below: its parents lead to no root", "orphan: no tenant is called \"nobody\"",
                  "below-orphan: its parents lead to no root",
                  "self: its parents lead back to itself", ": a tenant needs a name",
                  "orphan: another tenant has this name",
                  "orphan: a weight is at least 0 and at most 1000000",
                  "quotas.0: a guarantee is at least 0 and at most 281474976710656",
                  "quotas.1: this pool and resource have been given before",
                  "quotas.1: a borrowing limit is at least 0 and at most 281474976710656",
                  "quotas.1: a lending limit is at least 0 and at most 281474976710656",
                  "quotas.2: a quota needs a pool and a resource",
                  "quotas.2: a guarantee is at least 0 and at most 281474976710656"));
}

// Beside a cycle, which has no guarantees to speak of.
TEST(TenantTreeTest, FindsGuaranteesBeyondTheParentsAtEveryLevel) {
  std::vector<TenantSpec> specs = SpecsFromText(R"(
    school     h100/devices=8  t4/devices=0
      science  h100/devices=7
        maths  h100/devices=4
        physics h100/devices=4 t4/devices=1
      arts     h100/devices=1)");
  specs.push_back({.name = "self", .parent = "self", .quotas = {}});
  EXPECT_THAT(
      FaultsOf(specs),
      ElementsAre("school.1: the guarantees of its children add up to 1 of devices in pool t4, and "
                  "its own is 0",
                  "science.0: the guarantees of its children add up to 8 of devices in pool h100, "
                  "and its own is 7",
                  "self: its parents lead back to itself"));
}

TEST(TenantTreeTest, LimitsHowDeepTenantsStand) {
  std::vector<TenantSpec> specs;
  for (int i = 0; i < kTenantDepthMax; ++i) {
    specs.push_back(
        {.name = std::to_string(i), .parent = i == 0 ? "" : std::to_string(i - 1), .quotas = {}});
  }
  EXPECT_THAT(FaultsOf(specs), ElementsAre());
  specs.push_back({.name = "deep", .parent = std::to_string(kTenantDepthMax - 1), .quotas = {}});
  EXPECT_THAT(FaultsOf(specs), ElementsAre("deep: tenants may be 16 levels deep"));
}

TEST(TenantTreeTest, LimitsHowManyTenantsThereAre) {
  const std::vector<TenantSpec> specs(kTenantsMax + 1);
  const auto tree = BuildTenantTree(specs);
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().front().kind, TenantFaultKind::kTooManyTenants);
}

TEST(TenantTreeTest, LimitsTenantsTimesCells) {
  std::vector<TenantSpec> specs;
  for (int i = 0; i < 10'000; ++i) {
    specs.push_back({.name = std::to_string(i), .parent = "", .quotas = {}});
  }
  for (int i = 0; i < 839; ++i) {
    specs.front().quotas.push_back({"h100", std::to_string(i), 1, {}, {}});
  }
  const auto tree = BuildTenantTree(specs);
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().front().kind, TenantFaultKind::kTooManyCells);
}

// maths was given memory, arts was not: arts is not stopped by it. Of t4 arts says nothing, and
// physics does: arts may only borrow there. Nobody names cores.
TEST(TenantTreeTest, HoldsNobodyToWhatWasNotNamed) {
  const std::vector<TenantSpec> specs = SpecsFromText(R"(
    school
      maths    h100/devices=4 h100/memoryMiB=100
      arts     h100/devices=5
      physics  t4/devices=3 t4/memoryMiB=10
    lonely)");
  const std::vector<std::string> pools = {"h100", "t4"};
  const auto tree = BuildTenantTree(specs, pools);
  ASSERT_TRUE(tree);
  const auto takes_part = [&](const char* tenant, const char* pool, std::string_view resource) {
    return tree->Plan(FindCell(*tree, pool, resource), FindTenant(*tree, tenant)).takes_part;
  };
  EXPECT_TRUE(takes_part("maths", "h100", kMemoryMib));
  EXPECT_FALSE(takes_part("arts", "h100", kMemoryMib));
  EXPECT_TRUE(takes_part("arts", "h100", kDevices));
  EXPECT_TRUE(takes_part("arts", "t4", kDevices));
  EXPECT_TRUE(takes_part("physics", "h100", kMemoryMib));
  EXPECT_FALSE(takes_part("physics", "h100", kCores));
  EXPECT_FALSE(takes_part("lonely", "h100", kDevices));
}

// arts' 5 are its own, though it was promised nothing of all pools together; guests only borrow.
TEST(TenantTreeTest, HoldsNobodyThatHasAQuotaToThePoolOfAllOfASibling) {
  const auto tree = TreeFromText(R"(
    school
      maths   */devices=4
      arts    h100/devices=5
      guests)");
  const int cell = FindCell(*tree, "*", kDevices);
  EXPECT_TRUE(tree->Plan(cell, FindTenant(*tree, "maths")).takes_part);
  EXPECT_FALSE(tree->Plan(cell, FindTenant(*tree, "arts")).takes_part);
  EXPECT_TRUE(tree->Plan(cell, FindTenant(*tree, "guests")).takes_part);
}

// What a tenant above names holds for all below.
TEST(TenantTreeTest, HoldsChildrenToWhatTheirParentNames) {
  const auto tree = TreeFromText(R"(
    school   h100/coresPermille=9
      maths  h100/devices=4)");
  EXPECT_TRUE(tree->Plan(FindCell(*tree, "h100", kCores), FindTenant(*tree, "maths")).takes_part);
}

TEST(TenantTreeTest, ChargesAPoolAndThePoolOfAll) {
  const auto tree = TreeFromText(R"(
    a  h100/devices=4 h100/1g.10gb=2 t4/devices=1 */devices=5)");
  Charge charge;
  AddToCharge(*tree, "h100", {.devices = 3, .memory_mib = 7, .instances = {{"1g.10gb", 1}}},
              charge);
  AddToCharge(*tree, "t4", {.devices = 1, .instances = {{"1g.10gb", 1}}}, charge);
  AddToCharge(*tree, "unknown", {.devices = 1}, charge);
  const auto cell = [&](const char* pool, std::string_view resource) {
    return FindCell(*tree, pool, resource);
  };
  EXPECT_THAT(
      charge,
      ElementsAre(CellAmount{cell("*", kDevices), 5}, CellAmount{cell("h100", "1g.10gb"), 1},
                  CellAmount{cell("h100", kDevices), 3}, CellAmount{cell("t4", kDevices), 1}));
}

// Roots of 12 and 3 on 14 GPUs' worth; of all pools 20 of 14 + 2.
TEST(TenantTreeTest, FindsGuaranteesBeyondTheCluster) {
  const auto tree = TreeFromText(R"(
    a    h100/devices=12 t4/devices=2 */devices=20
      b  h100/devices=12
    c    h100/devices=3)");
  const std::map<std::string, Amount> capacity = {{"h100", {.devices = 14}},
                                                  {"t4", {.devices = 2}}};
  const auto shortages = FindShortages(*tree, capacity);
  ASSERT_EQ(shortages.size(), 2);
  EXPECT_EQ(tree->cells[static_cast<std::size_t>(shortages[0].cell)].pool, "*");
  EXPECT_EQ(shortages[0].guaranteed, 20);
  EXPECT_EQ(shortages[0].capacity, 16);
  EXPECT_EQ(shortages[1].guaranteed, 15);
  EXPECT_EQ(shortages[1].capacity, 14);
}

}  // namespace
}  // namespace offcut::quota
