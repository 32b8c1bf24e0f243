// Evicts pods for others where kube-scheduler's preemption cannot (scheduler/reclaim.h): the
// leader's hand, off unless the policy says so.
//
// One pod is helped at a time, in this order, so that whatever fails, nobody is evicted in vain:
// the hold is written on the pod that waits, and seen to be there by our own watch; every eviction
// is tried as a dry run; then each is made. A budget's 429, a victim that has gone, or a state in
// which the plan would be another ends it, and the hold is taken off. The pod is not tried again
// before a pause, which grows with each try.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "api/event_recorder.h"
#include "api/kube_client.h"
#include "api/metrics.h"
#include "scheduler/eviction_budget.h"
#include "scheduler/hold.h"
#include "scheduler/policy.h"
#include "scheduler/reclaim.h"
#include "scheduler/state_store.h"

namespace offcut::api {

struct ReclaimerSettings {
  // Between two looks. Planning for one pod may look at every node.
  std::chrono::milliseconds period = std::chrono::seconds{2};
  // Pods planned for in one look, on the thread that bindings use; the others' turn comes with the
  // next ones.
  std::size_t plans_max = 2;
  // For how long our watch may take to show the hold.
  std::chrono::milliseconds unseen_timeout = std::chrono::seconds{30};
};

// On the client's thread.
class Reclaimer {
 public:
  // All that is named here outlives this; so does this the client's last callback. `may_act`:
  // whether we lead, and know the state. Asked before anything is sent; once it says no, what was
  // being done is left, and its hold ends at its deadline.
  Reclaimer(KubeClient& client, const scheduler::StateStore& store, const scheduler::Policy& policy,
            Metrics& metrics, EventRecorder& events, std::function<bool()> may_act,
            ReclaimerSettings settings = {});

  // Begins to look, if the policy wants it. Once.
  void Start();
  // The state has changed: perhaps our hold is there.
  void StateChanged();

 private:
  using Clock = std::chrono::steady_clock;
  using PodPtr = std::shared_ptr<const scheduler::Pod>;

  // What is known of a pod that waits.
  struct Waiting {
    Clock::time_point since;       // we have seen it refused
    Clock::time_point not_before;  // of the next try
    std::int64_t pause_s = 0;      // behind the next try
  };

  enum class Stage : std::uint8_t { kHolding, kHeld, kTrying, kEvicting };
  struct Task {
    PodPtr pod;
    scheduler::ReclaimPlan plan;
    scheduler::Hold hold;
    Stage stage = Stage::kHolding;
    std::size_t next = 0;  // of the victims
    bool may_have_evicted = false;
    Clock::time_point unseen_end;  // of kHolding and kHeld
  };

  bool IsOn() const { return policy_.reclaim.mode != scheduler::ReclaimMode::kOff; }
  void LookAgain();
  void Look();
  void NoteWaiting(const scheduler::Snapshot& snapshot, Clock::time_point now);
  std::vector<PodPtr> Turns(const scheduler::Snapshot& snapshot, Clock::time_point now) const;
  void PlanOne(const scheduler::Snapshot& snapshot, Clock::time_point now);
  void Pause(const std::string& uid, Clock::time_point now);
  void SayWhatWouldBe(const scheduler::Snapshot& snapshot, const scheduler::Pod& pod,
                      const scheduler::ReclaimPlan& plan);

  void Begin(PodPtr pod, scheduler::ReclaimPlan plan);
  void GoOn();
  bool IsStillRight(const scheduler::Snapshot& snapshot) const;
  void SendNext(bool is_trial);
  void Evicted(const KubeResult& result);
  void GiveUp(const std::string& why);
  void TakeOff(const scheduler::Pod& pod);

  KubeClient& client_;
  const scheduler::StateStore& store_;
  const scheduler::Policy& policy_;
  Metrics& metrics_;
  EventRecorder& events_;
  const std::function<bool()> may_act_;
  const ReclaimerSettings settings_;

  scheduler::EvictionBudget budget_;
  std::unordered_map<std::string, Waiting> waiting_;  // by UID
  std::optional<Task> task_;
  std::uint64_t task_number_ = 0;  // an answer to an earlier task's call means nothing
};

}  // namespace offcut::api
