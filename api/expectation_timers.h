// Ends what keeps devices for a pod that may never come: advisory claims, nominations, and holds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "api/kube_client.h"
#include "scheduler/state_store.h"

namespace offcut::api {

struct ExpectationTimeouts {
  // A volume, Permit, or the rest of a gang may take so long between filter and bind.
  std::chrono::milliseconds claim = std::chrono::seconds{60};
  // For a pod whose last claim led to no bind: somebody else refuses it (another extender, a
  // volume), and others would starve for what it claims again and again.
  std::chrono::milliseconds claim_again = std::chrono::seconds{2};
  // So long a nomination holds what was freed for it.
  std::chrono::milliseconds nomination = std::chrono::minutes{5};
  // So long does one that kube-scheduler has taken back.
  std::chrono::milliseconds taken_back = std::chrono::seconds{5};
};

// On the client's thread.
class ExpectationTimers {
 public:
  // `ended` is called after each end. All that is named here outlives this.
  ExpectationTimers(KubeClient& client, scheduler::StateStore& store, ExpectationTimeouts timeouts,
                    std::function<void()> ended);

  // The pod's claim was made, or renewed, now.
  void TimeClaim(const std::string& uid);
  // The pod is bound, or gone: a claim that comes yet is its first one.
  void ForgetClaim(const std::string& uid);

  // The pod has come as it is. A nomination that is known already goes on; a hold ends at its
  // deadline by our clock, at once if that is over; what it has no more is forgotten.
  void TimePod(const scheduler::Pod& pod);
  void ForgetPod(const std::string& uid);

  // The pod's nomination counts anew.
  void RestartNomination(const scheduler::Pod& pod);
  void ForgetNomination(const std::string& uid);
  // The pod, as the state is about to have it, keeps a nomination that kube-scheduler has taken
  // back; after its time the state has it no more. A time that runs goes on.
  void KeepNomination(const scheduler::Pod& pod);
  bool KeepsNomination(const std::string& uid) const;

 private:
  struct Nomination {
    std::string node_name;
    bool is_taken_back = false;
    KubeTicket timer = 0;
  };

  void TimeNomination(const scheduler::Pod& pod);
  void TimeHold(const scheduler::Pod& pod);
  void ForgetHold(const std::string& uid);
  void EndKeptNomination(const std::string& uid);

  struct TimedHold {
    std::int64_t until_s = 0;
    KubeTicket timer = 0;
  };

  KubeClient& client_;
  scheduler::StateStore& store_;
  const ExpectationTimeouts timeouts_;
  const std::function<void()> ended_;
  std::unordered_map<std::string, Nomination> nominations_;  // by UID
  std::unordered_map<std::string, TimedHold> holds_;         // by UID
  // Timers of the last ones, by UID, ended or not: of pods of the state, and of those that run yet.
  std::unordered_map<std::string, KubeTicket> claims_;
};

}  // namespace offcut::api
