#include "api/policy_reload.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "api/state_files.h"
#include "test/testing/waiting.h"
#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using testing::WaitUntil;

constexpr std::string_view kHead = "apiVersion: offcut.dev/v1alpha1\nkind: Policy\n";

// A server's policy file and its state.
class PolicyReloadTest : public ::testing::Test {
 protected:
  PolicyReloadTest() { Write("tenants: [{name: red, namespaces: [a]}]\n"); }
  ~PolicyReloadTest() override { std::filesystem::remove(path_); }

  // As an editor or a ConfigMap does it: whole, or not at all.
  void Write(const std::string& text) {
    const std::string next = path_ + ".next";
    std::ofstream(next) << kHead << text;
    std::filesystem::rename(next, path_);
  }

  void Start() {
    const auto policy = LoadPolicy(path_);
    ASSERT_TRUE(policy) << policy.error().message;
    store_.Update([&](scheduler::Snapshot& next) { next.SetTenancy(policy->tenancy); });
    reload_.emplace(path_, *policy, store_, [this] { ++changes_; }, std::chrono::milliseconds{1});
  }

  // The first tenant's name, or "".
  std::string Tenant() const {
    const auto snapshot = store_.Read();
    const scheduler::Accounts* accounts = snapshot->accounts();
    if (accounts == nullptr || accounts->tenancy().tree->tenants.empty()) return "";
    return accounts->tenancy().tree->tenants[0].name;
  }

  const std::string path_ = ::testing::TempDir() + "policy_reload_" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name();
  scheduler::StateStore store_;
  std::atomic<int> changes_ = 0;
  std::optional<PolicyReload> reload_;
};

TEST_F(PolicyReloadTest, ChangedTenantsCountWithoutARestart) {
  Start();
  EXPECT_EQ(Tenant(), "red");
  Write("tenants: [{name: blue, namespaces: [a]}]\n");
  EXPECT_TRUE(WaitUntil([&] { return Tenant() == "blue" && changes_ == 1; }));
  Write("packing: {strategy: best-fit}\n");
  EXPECT_TRUE(WaitUntil([&] { return Tenant().empty() && changes_ == 2; }));
}

TEST_F(PolicyReloadTest, AWrongFileChangesNothing) {
  Start();
  Write("tenants: [{name: blue, parent: nobody}]\n");
  // Whether it has been looked at or not: no more than the next one's change is seen.
  Write("tenants: [{name: green, namespaces: [a]}]\n");
  EXPECT_TRUE(WaitUntil([&] { return changes_ == 1; }));
  EXPECT_EQ(Tenant(), "green");
}

}  // namespace
}  // namespace offcut::api
