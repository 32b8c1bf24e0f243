// Keeps places with a date for large pods that wait for long: the hand, whose head is
// scheduler/dated_hold.h. Nobody is evicted by it.
//
// A hold counts from the moment that it is sent, until the watch shows it or the API server has
// refused it; so two pods that are looked at together do not hold the same place. Each replica
// learns lifetimes and how long pods wait; only the leader writes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/backoff.h"
#include "api/event_recorder.h"
#include "api/kube_client.h"
#include "scheduler/dated_hold.h"
#include "scheduler/lifetimes.h"
#include "scheduler/policy.h"
#include "scheduler/state_store.h"

namespace offcut::api {

struct DatedHoldsSettings {
  // After a change: further ones are waited for.
  std::chrono::milliseconds delay = std::chrono::seconds{1};
  // Between two looks while pods wait, whatever is told.
  std::chrono::milliseconds period = std::chrono::seconds{5};
  // Between two looks for a better place than the one that is held.
  std::chrono::milliseconds review_period = std::chrono::seconds{30};
  std::size_t holds_max = 16;  // with a date, at once; a further pod waits for its turn
  std::size_t plans_max = 4;   // in one look, since each asks many nodes
  // How long the watch may take to show what was written.
  std::chrono::milliseconds unseen_timeout = std::chrono::seconds{30};
  // What the API server refuses for one pod is not asked again for so long.
  std::chrono::milliseconds aside_time = std::chrono::seconds{60};
  BackoffSettings backoff = {};
};

// On the client's thread.
class DatedHolds {
 public:
  // All that is named here outlives this; so does this the client's last callback. `may_hold`:
  // whether we lead, and know the state. Asked before anything is sent.
  DatedHolds(KubeClient& client, const scheduler::StateStore& store,
             const scheduler::Policy& policy, EventRecorder& events, std::function<bool()> may_hold,
             DatedHoldsSettings settings = {});

  // The state has changed, or we have begun to lead.
  void StateChanged() { LookWithin(settings_.delay); }

  // The pod is seen to have ended: called before the state forgets it.
  void NoteEnd(const std::string& uid);

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiter {
    std::int64_t since_s = 0;         // it has been refused, or might have been; seconds since 1970
    Clock::time_point not_before;     // of the next plan
    int failures = 0;                 // holds that were of no use
    std::int64_t failed_until_s = 0;  // the deadline of the last of them
    bool is_in_flight = false;
    // Written or on its way, and not shown yet; nullopt in it: that there is none any more.
    struct Sent {
      std::optional<scheduler::Hold> hold;
      Clock::time_point ends;
    };
    std::optional<Sent> sent;
  };

  void LookWithin(std::chrono::milliseconds delay);
  void Look();
  bool Track(const scheduler::Snapshot& shown, std::int64_t now_s);
  void TrackPod(const scheduler::Snapshot& shown, const scheduler::PodEntry& entry,
                std::int64_t now_s);
  void NoteFailure(const scheduler::Snapshot& shown, const scheduler::Pod& pod, Waiter& waiter,
                   std::int64_t now_s);
  scheduler::Snapshot WithSent(const scheduler::Snapshot& shown) const;
  std::vector<std::string> DueOf(const scheduler::Snapshot& expected, std::int64_t now_s) const;
  void HoldAll(scheduler::Snapshot& expected, std::int64_t now_s);
  bool HoldFor(scheduler::Snapshot& expected, const std::string& uid, std::int64_t now_s);
  void Send(const scheduler::Pod& pod, std::optional<scheduler::Hold> hold);
  void Answered(const scheduler::Pod& pod, const std::optional<scheduler::Hold>& hold,
                const KubeResult& result);
  void Tell(const scheduler::Pod& pod, const scheduler::Hold& hold);

  KubeClient& client_;
  const scheduler::StateStore& store_;
  const scheduler::Policy& policy_;
  EventRecorder& events_;
  const std::function<bool()> may_hold_;
  const DatedHoldsSettings settings_;

  scheduler::Lifetimes lifetimes_;
  // By UID, of the pods of the state that hold nothing yet and ask for devices.
  std::unordered_map<std::string, Waiter> waiters_;
  Backoff backoff_;
  Clock::time_point not_before_;  // the API server's pause
  KubeTicket timer_ = 0;          // of the next look; 0: none
  Clock::time_point due_;         // its time
  Clock::time_point warned_at_;
};

}  // namespace offcut::api
