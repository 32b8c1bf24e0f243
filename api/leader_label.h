// The label by which a Service that stands before several replicas finds the one that leads.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/kube_client.h"

namespace offcut::api {

inline constexpr std::string_view kLeaderLabel = "offcut.dev/leader";  // "true"

// From time to time while we lead: somebody may have taken the label off, and without it the
// Service leads nowhere.
inline constexpr std::chrono::milliseconds kLabelPeriod{30'000};
// So long the label may be missing, or not be known to stand, before that is a problem.
inline constexpr std::chrono::milliseconds kLabelPatience{30'000};

// Writes the label of one pod, our own, until it is as it shall be; and takes it off every other
// pod of the namespace while we lead, since a leader that was killed has left it behind. On the
// client's thread, but for Problem().
class LeaderLabel {
 public:
  // The client outlives this.
  LeaderLabel(KubeClient& client, std::string pod_namespace, std::string pod_name,
              std::chrono::milliseconds period = kLabelPeriod);

  void Set(bool is_leading);

  // Why the Service does not find us, though we have led for longer than kLabelPatience; empty: it
  // does, or need not. Thread-safe.
  std::string Problem(std::chrono::steady_clock::time_point now) const;

 private:
  void Send();
  void NotePatch(bool as_leader, const KubeResult& result);
  void SendLater();
  void FindOthers();
  void TakeFromOthers(std::string_view pod_list);
  void Take(const std::string& pod_name);

  KubeClient& client_;
  const std::string pod_namespace_;
  const std::string pod_name_;
  const std::chrono::milliseconds period_;
  bool is_leading_ = false;
  bool is_sending_ = false;  // a patch is on its way, or will be tried again
  bool is_finding_ = false;  // a look for others is on its way, or will be tried again
  KubeTicket timer_ = 0;     // of the next one while we lead; 0: none

  mutable std::mutex problem_mutex_;  // of the two below
  // Since then we lead and no patch of ours has succeeded.
  std::optional<std::chrono::steady_clock::time_point> missing_since_;
  std::string problem_;
};

}  // namespace offcut::api
