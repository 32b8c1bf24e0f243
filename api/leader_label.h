// The label by which a Service that stands before several replicas finds the one that leads.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "api/kube_client.h"

namespace offcut::api {

inline constexpr std::string_view kLeaderLabel = "offcut.dev/leader";  // "true"

// From time to time while we lead: somebody may have taken the label off, and without it the
// Service leads nowhere.
inline constexpr std::chrono::milliseconds kLabelPeriod{30'000};

// Writes the label of one pod, our own, until it is as it shall be; and takes it off every other
// pod of the namespace while we lead, since a leader that was killed has left it behind. On the
// client's thread.
class LeaderLabel {
 public:
  // The client outlives this.
  LeaderLabel(KubeClient& client, std::string pod_namespace, std::string pod_name,
              std::chrono::milliseconds period = kLabelPeriod);

  void Set(bool is_leading);

 private:
  void Send();
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
};

}  // namespace offcut::api
