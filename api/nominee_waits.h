// Which pods may wait for the very node that they are nominated to, rather than have others
// evicted.
//
// kube-scheduler evicted pods there, sees them gone and offers the node again; a watch that lags
// shows them to us still, and filter refuses the node. kube-scheduler then looks for another set of
// victims within the same attempt, and preempt has to know why. A pod waits so for seconds and no
// longer: what has not come to be seen by then is no lag. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace offcut::api {

class NomineeWaits {
 public:
  using Clock = std::chrono::steady_clock;

  // An attempt asks preempt within its own time. What is older belongs to another attempt.
  static constexpr std::chrono::seconds kAttempt{10};
  // How long a pod waits for one nomination, from the first time.
  static constexpr std::chrono::seconds kPatience{5};
  // Preemptors at a time: few. Beyond it all are forgotten, and preempt as they would otherwise.
  static constexpr std::size_t kPodsMax = 1'000;

  // Filter has refused the pod on the node that it is nominated to.
  void Refused(std::string_view uid, std::string_view node_name, Clock::time_point now);
  // Filter was not asked about that node.
  void NotRefused(std::string_view uid);
  // Filter has passed it there: what it waits for there from now on is something else.
  void Passed(std::string_view uid);

  // Preempt asks, once an attempt: whether filter has just refused the pod on that node, and it has
  // not waited too long yet. `would_help`: whether waiting may lead anywhere; if not, preempt goes
  // on, and a nomination to the same node that comes of it is another one.
  bool Begin(std::string_view uid, std::string_view node_name, bool would_help,
             Clock::time_point now);

  // Whether filter has refused the pod on that node of late, and not passed it there since.
  bool WasRefused(std::string_view uid, std::string_view node_name, Clock::time_point now);

 private:
  struct Nominee {
    std::string node_name;
    std::optional<Clock::time_point> refused_at;  // until preempt has asked
    std::optional<Clock::time_point> last_refused_at;
    std::optional<Clock::time_point> waits_since;
  };

  std::mutex mutex_;
  std::unordered_map<std::string, Nominee> nominees_;  // by UID
};

}  // namespace offcut::api
