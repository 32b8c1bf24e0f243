// Wakes pods that a stale no has parked.
//
// kube-scheduler asks again about a refused pod when something changes that it sees; what we learn
// later than it does (a watch that lags) or alone (a claim that ends, a device that heals) it does
// not. Such a pod would sleep for five minutes. So refused pods are remembered, and when the newest
// state would take one and no filter has come for it, its own annotation is patched, once, which
// wakes exactly that pod.
// Of pods that wait for the same devices only as many are woken as could be placed together, in the
// order of priority and age. A nudge that fails gives its place back: to the same pod after a
// while, or, where that is gone, to the next. One that is not used within a while does, too.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/kube_client.h"
#include "scheduler/policy.h"
#include "scheduler/state_store.h"

namespace offcut::api {

inline constexpr std::string_view kNudgeAnnotation = "offcut.dev/nudge";

struct NudgerSettings {
  // After a change: the time that kube-scheduler has to ask by itself.
  std::chrono::milliseconds delay{250};
  std::size_t pods_max = 10'000;  // remembered; one more is not
  // Patches on their way at once: the client's calls are for bindings and the Lease, too, and what
  // is looked at in one go stays short.
  std::size_t patches_max = 100;
  std::chrono::milliseconds retry_delay = std::chrono::seconds{5};  // of a nudge that failed
  // After a nudge: the time that kube-scheduler has to use it. It may refuse the pod for another
  // reason, or find it another place, and then the place is for the next one.
  std::chrono::milliseconds follow_up = std::chrono::seconds{2};
};

// Refused() and Offered() may be called from any thread; all else happens on the client's.
class Nudger {
 public:
  // All that is named here outlives the nudger; so does the nudger the client's last callback.
  Nudger(KubeClient& client, scheduler::StateStore& store, const scheduler::Policy& policy,
         NudgerSettings settings = {});

  // Filter has refused the pod on all of these nodes, by that state.
  void Refused(std::shared_ptr<const scheduler::Pod> pod, std::vector<std::string> node_names,
               std::shared_ptr<const scheduler::Snapshot> judged_on);
  // The pod has been told to wait for something that need not come, or come to be seen: wakes it
  // after `follow_up` if it has no place by then, and again until the API server has taken that.
  void Remind(std::shared_ptr<const scheduler::Pod> pod);
  // Filter has found a node for it, or it is gone.
  void Forget(std::string uid);

  // The state has changed. On the client's thread.
  void StateChanged();

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    std::shared_ptr<const scheduler::Pod> pod;
    std::shared_ptr<const std::vector<std::string>> node_names;  // sorted
    Clock::time_point refused_at;
    // Set where it is another state than the one that was last looked at; until the next check.
    std::shared_ptr<const scheduler::Snapshot> judged_on;
  };

  void Check();
  std::vector<std::string> Candidates(const Waiting& waiting, const scheduler::Snapshot& now,
                                      const std::vector<std::string>& changed) const;
  std::vector<const Waiting*> InOrder() const;
  void Patch(const std::string& uid, std::shared_ptr<const scheduler::Snapshot> base);
  void Send(const scheduler::Pod& pod, KubeDone done);
  void Failed(const Waiting& waiting, const KubeResult& result);
  void WarnOf(const scheduler::Pod& pod, const KubeResult& result);
  void LookAgain(const std::shared_ptr<const scheduler::Snapshot>& base);

  KubeClient& client_;
  scheduler::StateStore& store_;
  const scheduler::Policy& policy_;
  const NudgerSettings settings_;

  // Of the client's thread.
  std::unordered_map<std::string, Waiting> waiting_;  // by UID
  // Most pods are refused on the same nodes; they share the list.
  std::shared_ptr<const std::vector<std::string>> last_node_names_;
  std::shared_ptr<const scheduler::Snapshot> checked_;  // the state that was last looked at
  bool is_scheduled_ = false;
  std::size_t patches_open_ = 0;
  bool is_full_ = false;  // others would be woken, had patches_max allowed it
  Clock::time_point warned_at_;
};

// The nodes of `now` that are not as they were, by name, ascending.
std::vector<std::string> ChangedNodes(const scheduler::Snapshot& before,
                                      const scheduler::Snapshot& now);

}  // namespace offcut::api
