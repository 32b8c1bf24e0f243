// Leader election by a Lease, as client-go does it. Whoever waits for the lease looks more often
// than there, and at the moment when it expires: a successor leads within the lease's duration plus
// 1.2 retry periods and a few calls.
//
// What surprises: a Lease expires by the local time since it was last seen to change, never by
// comparing its renewTime with our clock; so a fresh candidate waits a whole lease. Whoever leads
// stops by itself when it could not renew for `renew_deadline`, before another may begin.
// Source: client-go, tools/leaderelection.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <string>

#include <nlohmann/json.hpp>

#include "api/kube_client.h"
#include "api/lease.h"

namespace offcut::api {

struct LeaderElectionSettings {
  std::string name_space = "default";
  std::string name = "offcut";
  std::string identity;  // of this process: no other has it
  // Must hold: lease_duration > renew_deadline > 1.2 x retry_period.
  std::chrono::seconds lease_duration{15};
  std::chrono::milliseconds renew_deadline{10'000};
  std::chrono::milliseconds retry_period{2'000};
};

// On the client's thread, but for IsLeading() and Problem().
class LeaderElection {
 public:
  // `started` and `stopped` are called in turns. The client outlives this.
  LeaderElection(KubeClient& client, LeaderElectionSettings settings, std::mt19937_64 random,
                 std::function<void()> started, std::function<void()> stopped);

  void Start();

  // Whether we lead now: renewed less than `renew_deadline` ago. Thread-safe.
  bool IsLeading() const;

  // Why we may never lead, or cannot know who does: until another has been seen to hold the lease,
  // or we have written it; and while the API server refuses our writing it. Empty: nothing. Later
  // failures are no problem in this sense: whoever leads stops by itself, and who waits goes on.
  // Thread-safe.
  std::string Problem() const;

  // Gives the lease back, so that a successor need not wait, then calls `done`. Nothing is acquired
  // any more. Call it after all that the lease guards has ended.
  void Release(std::function<void()> done);

 private:
  using Clock = std::chrono::steady_clock;

  void Try();
  void Read(Clock::time_point began);
  void Seen(const nlohmann::json& lease, Clock::time_point began);
  void Create(Clock::time_point began);
  void Write(const LeaseRecord& record, Clock::time_point began);
  void Won(const KubeResult& result, Clock::time_point began);
  void SetProblem(std::string problem);
  void NoteFailure(const KubeResult& result, bool was_write);
  void TryLater();
  // Until a look at a lease that another holds: no later than it expires.
  std::chrono::milliseconds StandbyDelay();
  void StopLeading();
  LeaseRecord OurRecord() const;
  std::string Path() const;
  KubeRequest Request(std::string method, std::string target, std::string body) const;

  KubeClient& client_;
  const LeaderElectionSettings settings_;
  std::mt19937_64 random_;
  const std::function<void()> started_;
  const std::function<void()> stopped_;

  std::optional<nlohmann::json> lease_;  // as last seen
  std::optional<LeaseRecord> observed_;  // and when it was first seen so
  Clock::time_point observed_at_;
  bool is_leading_ = false;
  bool is_released_ = false;
  KubeTicket fence_ = 0;  // stops us at the renew deadline
  std::atomic<Clock::time_point> leads_until_ = Clock::time_point::min();
  bool is_settled_ = false;  // once there is no problem
  mutable std::mutex problem_mutex_;
  std::string problem_;
};

}  // namespace offcut::api
