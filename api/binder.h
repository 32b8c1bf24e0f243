// Makes bindings at the API server, and settles what became of those whose answer got lost.
//
//   reserve -> POST pods/binding -> 2xx: confirm
//                                   409: read the pod; ours after all: confirm, else give back
//                                   404: the pod is gone
//                                   403, other 4xx: give back
//                                   429, not sent: again after a pause that doubles, while there
//                                   is time; else give back
//                                   5xx, timeout, cut: unknown. Read the pod; not bound yet: again,
//                                   while there is time. Then kube-scheduler is told, and the
//                                   reservation stays until reads have said for `settle_time` that
//                                   the pod is not bound: a late binding finds its devices free.
//
// Nothing is sent for a bind whose time for an answer is over, however long the process stood
// still, or the binding waited for its turn: a successor waits for what was sent in time.
//
// A bind that comes again while the first is open joins it. Bindings of different pods do not wait
// for each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/binding.h"
#include "api/kube_client.h"
#include "api/recent_pods.h"

namespace offcut::api {

struct BinderSettings {
  // From the bind call to our answer. Below kube-scheduler's httpTimeout (5 s), with a margin.
  std::chrono::milliseconds answer_timeout{4'000};
  // How long a binding that we sent may still be carried out by an API server that never answered:
  // its own limit for a request is 60 s.
  std::chrono::milliseconds settle_time{65'000};
  // Of what was certainly not sent (then twice as long each time), or is unknown.
  std::chrono::milliseconds retry_delay{200};
  std::chrono::milliseconds settle_period{2'000};  // between two reads of an open outcome
  // Twice as long after each read that fails, up to this: the API server has enough to do.
  std::chrono::milliseconds read_pause_max{16'000};
  // Whether we may bind at all; false: another leads. Asked just before each POST.
  std::function<bool()> may_bind = [] { return true; };
};

// What became of a bind, for events and logs.
struct BindResult {
  ExtenderBindingArgs args;
  scheduler::DeviceRecord record;
  std::string error;  // empty: bound
};

// Bind() may be called from any thread; all else, reserving too, happens on the client's, so that
// no end of an open binding comes between a reservation and the binding that it joins.
class Binder {
 public:
  // All that is named here outlives the binder; so does the binder the client's last callback.
  Binder(KubeClient& client, scheduler::StateStore& store, const scheduler::Policy& policy,
         RecentPods& recent_pods, Metrics& metrics, BinderSettings settings = {},
         std::function<void(const BindResult&)> observer = {});

  // Calls `answer` once, with what kube-scheduler is told: empty for success.
  using Answer = std::function<void(std::string)>;
  void Bind(ExtenderBindingArgs args, const Answer& answer);

  // No binding is sent before then: those of a predecessor may still arrive.
  void HoldUntil(std::chrono::steady_clock::time_point time);
  // No binding is sent until Release(): what they were judged by is being read anew. On the
  // client's thread.
  void Hold() { is_held_ = true; }
  void Release() { is_held_ = false; }

  // Whether a binding that we sent may still be carried out: its outcome is not known (yet). On the
  // client's thread.
  bool MayStillBind() const;

  // Answers the binds that are open. By the owner, once the client has stopped.
  void Stop();

  // Asks for a pod whose state nobody has told us, and takes over what is answered. On the client's
  // thread.
  void Verify(const std::string& pod_uid);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Waiter {
    std::uint64_t id = 0;
    std::function<void(std::string)> answer;
    Time end;  // answered by then
  };
  struct Open {
    OpenBinding binding;
    std::vector<Waiter> waiters;
    bool is_calling = false;      // a call of ours is on its way
    bool was_delayed = false;     // the state may have changed since the devices were reserved
    bool may_have_acted = false;  // some POST's outcome is not known
    std::chrono::steady_clock::time_point last_post;
    std::chrono::milliseconds read_pause{0};  // after the last read, which has failed
    std::chrono::milliseconds busy_pause{0};  // after the last POST, which was not taken
  };

  // `end`: when kube-scheduler must have been answered.
  void BindHere(const ExtenderBindingArgs& args, const Answer& answer, Time end);
  void BindKnown(const ExtenderBindingArgs& args, const scheduler::Pod& pod, const Answer& answer,
                 Time end);
  void BindUnknown(const ExtenderBindingArgs& args, const Answer& answer, Time end);
  void Start(OpenBinding binding, const Answer& answer, Time end);
  void Post(const std::string& uid);
  std::expected<void, std::string> ReserveAgain(Open& open);
  void Posted(const std::string& uid, const KubeResult& result);
  void Refused(const std::string& uid, Open& open, const KubeResult& result);
  std::optional<std::chrono::milliseconds> PauseFor(Open& open, std::chrono::milliseconds asked);
  void ReadPod(const std::string& uid);
  void PodRead(const std::string& uid, const KubeResult& result);
  void TakeOver(const scheduler::Pod& pod);
  void StillUnbound(const std::string& uid, Open& open);
  void Again(const std::string& uid, std::chrono::milliseconds delay);
  static Time LastEnd(const Open& open);
  static void AnswerTheLate(Open& open);
  void NobodyWaits(const std::string& uid, const Open& open);
  void GiveUpWaiting(const std::string& uid, std::uint64_t waiter);
  void Confirm(const std::string& uid);
  void NotLeading(const std::string& uid, Open& open);
  void GiveBack(const std::string& uid, const std::string& error);
  void Gone(const std::string& uid, const std::string& error);
  void End(const std::string& uid, const std::string& error);

  KubeClient& client_;
  scheduler::StateStore& store_;
  const scheduler::Policy& policy_;
  RecentPods& recent_pods_;
  Metrics& metrics_;
  const BinderSettings settings_;
  const std::function<void(const BindResult&)> observer_;

  // Of the client's thread.
  std::unordered_map<std::string, Open> open_;  // by pod UID
  std::uint64_t last_waiter_ = 0;
  std::mt19937_64 random_{std::random_device()()};
  std::chrono::steady_clock::time_point held_until_;
  bool is_held_ = false;
};

}  // namespace offcut::api
