#include "api/leader_label.h"

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/testing/api_server.h"
#include "test/testing/kube_calls.h"
#include "test/testing/waiting.h"

namespace offcut::api {
namespace {

using ::testing::StartsWith;
using testing::WaitUntil;

constexpr const char* kLabelled =
    R"({"items":[{"metadata":{"name":"us"}},{"metadata":{"name":"dead"}}]})";

class LeaderLabelTest : public ::testing::Test {
 protected:
  LeaderLabelTest() { server_.On("PATCH", {{Reply(200, "{}")}}); }
  ~LeaderLabelTest() override { client_->Stop(); }

  void Set(bool is_leading) {
    client_->Post([this, is_leading] { label_.Set(is_leading); });
  }

  ApiServer server_;
  std::unique_ptr<KubeClient> client_ = StartClient(PlainConfig(server_.Port()));
  LeaderLabel label_{*client_, "gpu", "us"};
};

TEST_F(LeaderLabelTest, GoesToUsAndIsTakenOffALeaderThatWasKilled) {
  server_.On("GET", {{Reply(200, kLabelled)}});
  Set(true);
  const auto patches = server_.WaitForRequests("PATCH", 2);
  EXPECT_EQ(patches[0].target, "/api/v1/namespaces/gpu/pods/us");
  EXPECT_EQ(patches[0].body, R"({"metadata":{"labels":{"offcut.dev/leader":"true"}}})");
  EXPECT_EQ(patches[1].target, "/api/v1/namespaces/gpu/pods/dead");
  EXPECT_EQ(patches[1].body, R"({"metadata":{"labels":{"offcut.dev/leader":null}}})");
  EXPECT_EQ(server_.WaitForRequests("GET", 1)[0].target,
            "/api/v1/namespaces/gpu/pods?labelSelector=offcut.dev%2Fleader%3Dtrue");
}

TEST_F(LeaderLabelTest, AsksForOthersAgainWhereThatFails) {
  server_.On("GET", {{Reply(500, "{}")}, {Reply(200, kLabelled)}});
  Set(true);
  EXPECT_EQ(server_.WaitForRequests("PATCH", 2)[1].target, "/api/v1/namespaces/gpu/pods/dead");
}

TEST_F(LeaderLabelTest, IsWrittenAgainWhileWeLead) {
  server_.On("GET", {{Reply(200, R"({"items":[7,{"metadata":{"name":7}}]})")}});
  LeaderLabel often(*client_, "gpu", "us", std::chrono::milliseconds{2});
  client_->Post([&] { often.Set(true); });
  EXPECT_EQ(server_.WaitForRequests("PATCH", 3)[2].body,
            R"({"metadata":{"labels":{"offcut.dev/leader":"true"}}})");
  client_->Stop();
}

// Each time that the label is written again would else begin another row of tries without an end.
TEST_F(LeaderLabelTest, LooksForOthersOnceAtATimeWhereThatFails) {
  server_.On("GET", {{Reply(403, "{}")}});
  LeaderLabel often(*client_, "gpu", "us", std::chrono::milliseconds{2});
  client_->Post([&] { often.Set(true); });
  server_.WaitForRequests("PATCH", 20);
  EXPECT_LT(server_.Count("GET"), 10U);  // the next try comes after a second
  client_->Stop();
}

// Then the Service leads nowhere, and the probe shall say so.
TEST_F(LeaderLabelTest, IsAProblemOnceItCouldNotBeWrittenForHalfAMinute) {
  server_.On("PATCH", {{Reply(403, "{}")}});
  Set(true);
  const auto later = [this](std::chrono::seconds delay) {
    return label_.Problem(std::chrono::steady_clock::now() + delay);
  };
  EXPECT_TRUE(WaitUntil([&] { return later(std::chrono::seconds{31}).contains("403"); }));
  EXPECT_THAT(later(std::chrono::seconds{31}), StartsWith("we lead, and the label"));
  EXPECT_EQ(later(std::chrono::seconds{0}), "");
  server_.On("PATCH", {{Reply(200, "{}")}});  // the next try comes after a second
  EXPECT_TRUE(WaitUntil([&] { return later(std::chrono::seconds{31}).empty(); }));
}

TEST_F(LeaderLabelTest, IsNoProblemOfWhoDoesNotLead) {
  server_.On("PATCH", {{Reply(403, "{}")}});
  Set(true);
  Set(false);
  server_.WaitForRequests("PATCH", 2);
  EXPECT_EQ(label_.Problem(std::chrono::steady_clock::now() + std::chrono::hours{1}), "");
}

TEST_F(LeaderLabelTest, TakesNothingFromOthersWhenWeDoNotLead) {
  Set(false);
  const auto patches = server_.WaitForRequests("PATCH", 1);
  EXPECT_EQ(patches[0].body, R"({"metadata":{"labels":{"offcut.dev/leader":null}}})");
  Ask(*client_, Get("/x"));  // behind whatever would have been sent
  EXPECT_EQ(server_.Count("GET"), 1U);
}

}  // namespace
}  // namespace offcut::api
