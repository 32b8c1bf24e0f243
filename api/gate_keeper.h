// Takes the scheduling gate offcut.dev/quota off the pods whose turn it is: gate mode's hand, whose
// head is scheduler/gates.h.
//
// A lift counts from the moment that it is sent, or what a lagging watch does not show yet would be
// given away twice; until the API server has certainly refused it, or the watch shows it. A pod
// that cannot be lifted (it is gone, or somebody's admission refuses) is left aside for a while,
// and its turn is the next one's. While the API server fails nothing is sent until a growing pause
// is over.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "api/backoff.h"
#include "api/kube_client.h"
#include "api/metrics.h"
#include "scheduler/state_store.h"

namespace offcut::api {

struct GateKeeperSettings {
  // After a change: further ones are waited for.
  std::chrono::milliseconds delay{100};
  // Between two looks while pods are gated, whatever is told.
  std::chrono::milliseconds period = std::chrono::seconds{2};
  std::size_t in_flight_max = 32;  // one more waits, but for the rest of a gang
  // How long the watch may take to show a lift; then the pod counts as it is shown.
  std::chrono::milliseconds unseen_timeout = std::chrono::seconds{60};
  std::chrono::milliseconds aside_time = std::chrono::seconds{30};
  BackoffSettings backoff = {};
};

// On the client's thread.
class GateKeeper {
 public:
  // All that is named here outlives the keeper; so does the keeper the client's last callback.
  // `may_lift`: whether we lead, and know the state. Asked before anything is sent; once it says
  // no, what was on its way is forgotten.
  GateKeeper(KubeClient& client, const scheduler::StateStore& store, Metrics& metrics,
             std::function<bool()> may_lift, GateKeeperSettings settings = {});

  // The state has changed, or we have begun to lead.
  void StateChanged() { LookWithin(settings_.delay); }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Stage : std::uint8_t {
    kSent,     // no answer yet
    kUnknown,  // it may have been carried out; to be sent again
    kLifted,   // and the watch has not shown it
    kAside,
  };
  struct Lift {
    Stage stage = Stage::kSent;
    Clock::time_point ends;  // of kLifted and kAside
  };

  void LookWithin(std::chrono::milliseconds delay);
  void Look();
  void ForgetWhatIsSeen(const scheduler::Snapshot& shown);
  scheduler::Snapshot WithLifts(const scheduler::Snapshot& shown) const;
  void SendAll(const scheduler::Snapshot& shown);
  void Send(const scheduler::Pod& pod);
  void Answered(const std::string& uid, const std::string& name, const KubeResult& result);
  void LeaveAside(const std::string& uid, std::chrono::milliseconds time);
  void Warn(const std::string& name, const KubeResult& result);

  KubeClient& client_;
  const scheduler::StateStore& store_;
  Metrics& metrics_;
  const std::function<bool()> may_lift_;
  const GateKeeperSettings settings_;

  std::unordered_map<std::string, Lift> lifts_;  // by UID
  std::size_t in_flight_ = 0;
  Backoff backoff_;
  Clock::time_point not_before_;  // the API server's pause
  KubeTicket timer_ = 0;          // of the next look; 0: none
  Clock::time_point due_;         // its time
  Clock::time_point warned_at_;
};

}  // namespace offcut::api
