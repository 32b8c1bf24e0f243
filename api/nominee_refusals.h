// Which pods filter has just refused on the very node that they are nominated to.
//
// kube-scheduler evicted pods there, sees them gone and offers the node again; a state that lags
// refuses it. kube-scheduler then looks for another set of victims within the same attempt, and the
// preempt verb has to know why. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace offcut::api {

class NomineeRefusals {
 public:
  using Clock = std::chrono::steady_clock;

  // An attempt asks preempt within its own time. What is older belongs to another attempt.
  static constexpr std::chrono::seconds kAge{10};
  // Preemptors between filter and preempt: one a scheduler. Beyond it all are forgotten.
  static constexpr std::size_t kPodsMax = 1'000;

  void Note(std::string_view uid, Clock::time_point now);
  // Filter has passed the pod on that node, or was not asked about it.
  void Forget(std::string_view uid);

  bool IsNoted(std::string_view uid, Clock::time_point now) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Clock::time_point> refused_at_;  // by UID
};

}  // namespace offcut::api
