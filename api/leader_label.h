// The label by which a Service that stands before several replicas finds the one that leads.
#pragma once

#include <string>
#include <string_view>

#include "api/kube_client.h"

namespace offcut::api {

inline constexpr std::string_view kLeaderLabel = "offcut.dev/leader";  // "true"

// Writes the label of one pod, our own, until it is as it shall be; and takes it off every other
// pod of the namespace when we come to lead, since a leader that was killed has left it behind. On
// the client's thread.
class LeaderLabel {
 public:
  // The client outlives this.
  LeaderLabel(KubeClient& client, std::string pod_namespace, std::string pod_name);

  void Set(bool is_leading);

 private:
  void Send();
  void FindOthers();
  void TakeFromOthers(std::string_view pod_list);
  void Take(const std::string& pod_name);

  KubeClient& client_;
  const std::string pod_namespace_;
  const std::string pod_name_;
  bool is_leading_ = false;
  bool is_sending_ = false;  // a patch is on its way, or will be tried again
};

}  // namespace offcut::api
