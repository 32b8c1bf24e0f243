#include "scheduler/tenancy.h"

#include <gtest/gtest.h>

#include "test/testing/tenancies.h"

namespace offcut::scheduler {
namespace {

using testing::TenancyOf;

// red owns the namespace red; blue lets pods in `shared` name it; `shared` itself is red's.
Tenancy RedAndBlue() {
  Tenancy tenancy = TenancyOf({{.name = "red"}, {.name = "blue"}});
  const int red = quota::FindTenant(*tenancy.tree, "red");
  const int blue = quota::FindTenant(*tenancy.tree, "blue");
  tenancy.by_namespace = {{"red", red}, {"shared", red}};
  tenancy.by_label_in = {{"shared", {blue}}};
  return tenancy;
}

std::string_view TenantIn(const Tenancy& tenancy, std::string name_space, std::string label = "") {
  Pod pod;
  pod.name_space = std::move(name_space);
  pod.tenant_label = std::move(label);
  return NameOf(tenancy, TenantOf(tenancy, pod));
}

TEST(TenancyTest, NamespaceSaysWhoseAPodIs) {
  EXPECT_EQ(TenantIn(RedAndBlue(), "red"), "red");
  EXPECT_EQ(TenantIn(RedAndBlue(), "kube-system"), "");
}

TEST(TenancyTest, LabelCountsWhereTheTenantLetsTheNamespaceNameIt) {
  EXPECT_EQ(TenantIn(RedAndBlue(), "shared", "blue"), "blue");
  EXPECT_EQ(TenantIn(RedAndBlue(), "shared"), "red");
}

TEST(TenancyTest, LabelOfATenantThatTheNamespaceMayNotNameIsPassedOver) {
  EXPECT_EQ(TenantIn(RedAndBlue(), "red", "blue"), "red");
  EXPECT_EQ(TenantIn(RedAndBlue(), "shared", "green"), "red");
  EXPECT_EQ(TenantIn(RedAndBlue(), "kube-system", "blue"), "");
}

TEST(TenancyTest, FirstPoolThatNamesTheModelHasIt) {
  Tenancy tenancy = RedAndBlue();
  tenancy.pools = {{"large", {"A100*", "H100*"}}, {"small", {"*-T4", "A100-40GB"}}};
  EXPECT_EQ(PoolOf(tenancy, nullptr, "A100-SXM4-80GB"), "large");
  EXPECT_EQ(PoolOf(tenancy, nullptr, "Tesla-T4"), "small");
  EXPECT_EQ(PoolOf(tenancy, nullptr, "L40S"), "default");
}

}  // namespace
}  // namespace offcut::scheduler
