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
    reload_.emplace(
        path_, *policy, store_, metrics_, [this] { ++changes_; }, std::chrono::milliseconds{1});
  }

  // What the counter of that result says.
  bool HasCounted(const std::string& result, int count) const {
    return metrics_.Print().find("offcut_policy_reloads_total{result=\"" + result + "\"} " +
                                 std::to_string(count) + "\n") != std::string::npos;
  }

  // When the file was last read well; seconds since 1970.
  double LastRead() const {
    const std::string name = "\noffcut_policy_last_reload_success_timestamp_seconds ";
    const std::string text = metrics_.Print();
    return std::stod(text.substr(text.find(name) + name.size()));
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
  Metrics metrics_{"1.2.3", scheduler::Reasons()};
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
  ASSERT_TRUE(WaitUntil([&] { return HasCounted("failed", 1); }));
  EXPECT_EQ(Tenant(), "red");
  EXPECT_EQ(changes_, 0);
  Write("tenants: [{name: green, namespaces: [a]}]\n");
  EXPECT_TRUE(WaitUntil([&] { return changes_ == 1; }));
  EXPECT_EQ(Tenant(), "green");
}

// The start is no reload; a file that is put right again is one, though nothing changes by it.
TEST_F(PolicyReloadTest, EachChangeOfTheFileIsCountedByItsResult) {
  EXPECT_EQ(LastRead(), 0);
  Start();
  const double at_start = LastRead();
  EXPECT_GT(at_start, 0);
  EXPECT_TRUE(HasCounted("ok", 0) && HasCounted("failed", 0));
  Write("tenants: nobody\n");
  EXPECT_TRUE(WaitUntil([&] { return HasCounted("failed", 1); }));
  EXPECT_EQ(LastRead(), at_start);
  Write("tenants: [{name: red, namespaces: [a]}]\n");
  EXPECT_TRUE(WaitUntil([&] { return HasCounted("ok", 1); }));
  EXPECT_GE(LastRead(), at_start);
  std::filesystem::remove(path_);
  EXPECT_TRUE(WaitUntil([&] { return HasCounted("failed", 2); }));
  EXPECT_EQ(changes_, 0);
}

}  // namespace
}  // namespace offcut::api
