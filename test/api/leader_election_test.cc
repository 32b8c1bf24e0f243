// The election at a played API server. No test sleeps: each waits for what must come.
#include "api/leader_election.h"

#include <chrono>
#include <condition_variable>
#include <future>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/lease.h"
#include "test/testing/api_server.h"
#include "test/testing/kube_calls.h"
#include "test/testing/waiting.h"

namespace offcut::api {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::WaitUntil;

constexpr const char* kPost = "POST /apis/coordination.k8s.io/v1/namespaces/gpu/leases";

std::string LeaseOf(const std::string& holder, const std::string& renewed = "0",
                    seconds duration = seconds{3600}) {
  return NewLease("gpu", "offcut",
                  {.holder = holder,
                   .duration = duration,
                   .renew_time = renewed,
                   .acquire_time = "0",
                   .transitions = 4})
      .dump();
}

LeaderElectionSettings QuickSettings() {
  return {.name_space = "gpu",
          .name = "offcut",
          .identity = "us",
          .lease_duration = seconds{3600},
          .renew_deadline = hours{1},
          .retry_period = milliseconds{5}};
}

class World {
 public:
  explicit World(LeaderElectionSettings settings = QuickSettings()) {
    client = StartClient(PlainConfig(server.Port()));
    election = std::make_unique<LeaderElection>(
        *client, std::move(settings), std::mt19937_64(1), [this] { Count(&World::started_); },
        [this] { Count(&World::stopped_); });
  }
  ~World() { client->Stop(); }

  void Begin() const {
    client->Post([this] { election->Start(); });
  }
  bool ComesToLead(int times = 1) { return ComesTo(&World::started_, times); }
  bool ComesToAnEnd() { return ComesTo(&World::stopped_, 1); }
  LeaseRecord Written(const char* method) {
    return *ReadLease(nlohmann::json::parse(server.WaitForRequests(method, 1).front().body));
  }

  ApiServer server;
  std::unique_ptr<KubeClient> client;
  std::unique_ptr<LeaderElection> election;

 private:
  void Count(int World::* count) {
    const std::lock_guard lock(mutex_);
    ++(this->*count);
    changed_.notify_all();
  }
  bool ComesTo(int World::* count, int value) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kKubePatience, [&] { return this->*count == value; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int started_ = 0;
  int stopped_ = 0;
};

TEST(LeaderElectionTest, MakesTheLeaseWhereThereIsNone) {
  World world;
  world.server.On("GET", {{Reply(404, "{}")}});
  world.server.On(kPost, {{Reply(201, LeaseOf("us"))}});
  world.server.On("PUT", {{Reply(200, LeaseOf("us"))}});
  EXPECT_FALSE(world.election->IsLeading());
  world.Begin();
  EXPECT_TRUE(world.ComesToLead());
  EXPECT_TRUE(world.election->IsLeading());
  EXPECT_EQ(world.Written("POST").holder, "us");
  EXPECT_EQ(world.Written("PUT").holder, "us");  // and renews it
}

TEST(LeaderElectionTest, TakesALeaseThatWasGivenBackAtOnce) {
  World world;
  world.server.On("GET", {{Reply(200, LeaseOf(""))}});
  world.server.On("PUT", {{Reply(200, LeaseOf("us"))}});
  world.Begin();
  EXPECT_TRUE(world.ComesToLead());
  const LeaseRecord written = world.Written("PUT");
  EXPECT_EQ(written.holder, "us");
  EXPECT_EQ(written.transitions, 5);
}

// A rollout of replicas that could never lead must not pass.
TEST(LeaderElectionTest, HasAProblemUntilAnotherIsSeenToHoldTheLease) {
  World world;
  EXPECT_EQ(world.election->Problem(), "the Lease has not been asked for yet");
  std::promise<void> granted;
  ApiStep lease = {Reply(200, LeaseOf("other"))};
  lease.once = granted.get_future().share();
  world.server.On("GET", {{Reply(403, "{}")}, lease});
  world.Begin();
  EXPECT_TRUE(WaitUntil(
      [&] { return world.election->Problem().starts_with("cannot read gpu/offcut: 403"); }));
  granted.set_value();
  EXPECT_TRUE(WaitUntil([&] { return world.election->Problem().empty(); }));
}

TEST(LeaderElectionTest, HasAProblemWhereItMayReadTheLeaseAndNotWriteIt) {
  World world;
  std::promise<void> granted;
  ApiStep written = {Reply(200, LeaseOf("us"))};
  written.once = granted.get_future().share();
  world.server.On("GET", {{Reply(200, LeaseOf(""))}});
  world.server.On("PUT", {{Reply(403, "{}")}, written});
  world.Begin();
  EXPECT_TRUE(WaitUntil(
      [&] { return world.election->Problem().starts_with("cannot write gpu/offcut: 403"); }));
  granted.set_value();
  EXPECT_TRUE(WaitUntil([&] { return world.election->Problem().empty(); }));
}

// It stands by while another's lease holds, and finds that it may not follow it.
TEST(LeaderElectionTest, HasAProblemAgainWhereItMayNotTakeAnExpiredLease) {
  World world;
  world.server.On("GET", {{Reply(200, LeaseOf("other", "0", seconds{1}))}});
  world.server.On("PUT", {{Reply(403, "{}")}});
  world.Begin();
  EXPECT_TRUE(WaitUntil([&] { return world.election->Problem().empty(); }));
  EXPECT_TRUE(WaitUntil([&] { return !world.election->Problem().empty(); }));
}

TEST(LeaderElectionTest, HasNoProblemWhereTheServerIsAwayForAWhile) {
  World world;
  world.server.On("GET", {{Reply(200, LeaseOf("other"))}, {Reply(503, "{}")}});
  world.Begin();
  world.server.WaitForRequests("GET", 5);
  EXPECT_EQ(world.election->Problem(), "");
}

// The API server takes no negative number, and would refuse the write for ever.
TEST(LeaderElectionTest, CountsTransitionsOnFromTheGreatestNumber) {
  World world;
  auto lease = nlohmann::json::parse(LeaseOf(""));
  lease["spec"]["leaseTransitions"] = std::numeric_limits<int>::max();
  world.server.On("GET", {{Reply(200, lease.dump())}});
  world.server.On("PUT", {{Reply(200, LeaseOf("us"))}});
  world.Begin();
  EXPECT_TRUE(world.ComesToLead());
  EXPECT_EQ(world.Written("PUT").transitions, 0);
}

// The renewTime says 1970: by the clocks the lease ended long ago. What counts is when we saw it.
TEST(LeaderElectionTest, WaitsForAWholeLeaseSinceItSawTheLastChange) {
  World world;
  world.server.On("GET", {{Reply(200, LeaseOf("other", "1970-01-01T00:00:00Z", seconds{1}))}});
  world.server.On("PUT", {{Reply(200, LeaseOf("us"))}});
  const auto began = steady_clock::now();
  world.Begin();
  EXPECT_TRUE(world.ComesToLead());
  EXPECT_GE(steady_clock::now() - began, seconds{1});
}

// The next look by the clock would be in an hour.
TEST(LeaderElectionTest, LooksAtTheMomentWhenTheLeaseExpires) {
  auto settings = QuickSettings();
  settings.retry_period = hours{1};
  World world(settings);
  world.server.On("GET", {{Reply(200, LeaseOf("other", "0", seconds{1}))}});
  world.server.On("PUT", {{Reply(200, LeaseOf("us"))}});
  world.Begin();
  EXPECT_TRUE(world.ComesToLead());
}

TEST(LeaderElectionTest, TakesNoLeaseThatIsRenewed) {
  World world;
  std::vector<ApiStep> renewals;
  for (int i = 0; i < 20; ++i) {
    renewals.push_back({Reply(200, LeaseOf("other", fmt::format("{}", i)))});
  }
  world.server.On("GET", renewals);
  world.Begin();
  world.server.WaitForRequests("GET", renewals.size());
  EXPECT_EQ(world.server.Count("PUT"), 0U);
  EXPECT_FALSE(world.election->IsLeading());
}

TEST(LeaderElectionTest, LooksAgainWhereAnotherWasFaster) {
  World world;
  world.server.On("GET", {{Reply(404, "{}")}, {Reply(200, LeaseOf("other"))}});
  world.server.On(kPost, {{Reply(409, StatusBody(409, "AlreadyExists", "exists"))}});
  world.Begin();
  world.server.WaitForRequests("GET", 3);
  EXPECT_EQ(world.server.Count("POST"), 1U);
  EXPECT_FALSE(world.election->IsLeading());
}

TEST(LeaderElectionTest, StopsByItselfWhenItCouldNotRenewInTime) {
  LeaderElectionSettings settings = QuickSettings();
  settings.renew_deadline = milliseconds{300};
  World world(settings);
  world.server.On("GET", {{Reply(200, LeaseOf(""))}, {Reply(503, "{}")}});
  world.server.On("PUT", {{Reply(200, LeaseOf("us"))}, {Reply(503, "{}")}});
  const auto began = steady_clock::now();
  world.Begin();
  EXPECT_TRUE(world.ComesToLead());
  EXPECT_TRUE(world.ComesToAnEnd());
  EXPECT_GE(steady_clock::now() - began, settings.renew_deadline);
  EXPECT_FALSE(world.election->IsLeading());
}

// Long before the deadline of an hour.
TEST(LeaderElectionTest, StopsAtOnceWhereAnotherHasTakenTheLease) {
  World world;
  world.server.On("GET", {{Reply(200, LeaseOf(""))}, {Reply(200, LeaseOf("other"))}});
  world.server.On(
      "PUT", {{Reply(200, LeaseOf("us"))}, {Reply(409, StatusBody(409, "Conflict", "modified"))}});
  world.Begin();
  EXPECT_TRUE(world.ComesToLead());
  EXPECT_TRUE(world.ComesToAnEnd());
  EXPECT_FALSE(world.election->IsLeading());
}

TEST(LeaderElectionTest, LeadsOnThroughAWriteThatFails) {
  World world;
  world.server.On("GET", {{Reply(200, LeaseOf(""))}, {Reply(200, LeaseOf("us", "1"))}});
  world.server.On(
      "PUT", {{Reply(200, LeaseOf("us"))}, {Reply(503, "{}")}, {Reply(200, LeaseOf("us", "2"))}});
  world.Begin();
  EXPECT_TRUE(world.ComesToLead());
  world.server.WaitForRequests("PUT", 4);
  EXPECT_TRUE(world.election->IsLeading());
}

TEST(LeaderElectionTest, GivesTheLeaseBack) {
  World world;
  world.server.On("GET", {{Reply(200, LeaseOf(""))}});
  world.server.On("PUT", {{Reply(200, LeaseOf("us"))}});
  world.Begin();
  EXPECT_TRUE(world.ComesToLead());
  std::promise<void> released;
  world.client->Post([&] { world.election->Release([&] { released.set_value(); }); });
  ASSERT_EQ(released.get_future().wait_for(kKubePatience), std::future_status::ready);
  EXPECT_TRUE(world.ComesToAnEnd());
  EXPECT_FALSE(world.election->IsLeading());
  const auto writes = world.server.WaitForRequests("PUT", 2);
  const LeaseRecord last = *ReadLease(nlohmann::json::parse(writes.back().body));
  EXPECT_EQ(last.holder, "");
  EXPECT_EQ(last.duration, seconds{1});  // whoever waits, waits no longer
}

TEST(LeaderElectionTest, GivesNothingBackThatItDoesNotHold) {
  World world;
  world.server.On("GET", {{Reply(200, LeaseOf("other"))}});
  world.Begin();
  world.server.WaitForRequests("GET", 1);
  std::promise<void> released;
  world.client->Post([&] { world.election->Release([&] { released.set_value(); }); });
  ASSERT_EQ(released.get_future().wait_for(kKubePatience), std::future_status::ready);
  EXPECT_EQ(world.server.Count("PUT"), 0U);
}

}  // namespace
}  // namespace offcut::api
