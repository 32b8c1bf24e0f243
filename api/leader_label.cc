#include "api/leader_label.h"

#include <chrono>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "api/binding.h"

namespace offcut::api {
namespace {

constexpr std::chrono::seconds kRetry{1};

}  // namespace

LeaderLabel::LeaderLabel(KubeClient& client, const std::string& pod_namespace,
                         const std::string& pod_name)
    : client_(client), pod_path_(PodPath(pod_namespace, pod_name)) {}

void LeaderLabel::Set(bool is_leading) {
  is_leading_ = is_leading;
  if (!is_sending_) Send();
}

// One at a time: of two on their way at once, the older could be the last to arrive.
void LeaderLabel::Send() {
  is_sending_ = true;
  const bool as_leader = is_leading_;
  nlohmann::json patch;
  nlohmann::json& label = patch["metadata"]["labels"][std::string(kLeaderLabel)];
  if (as_leader) label = "true";  // else null, which removes it
  KubeRequest request{.method = "PATCH",
                      .target = pod_path_,
                      .content_type = "application/merge-patch+json",
                      .body = patch.dump(),
                      .limit = KubeLimit::kNone};
  client_.Call(std::move(request), [this, as_leader](const KubeResult& result) {
    if (OutcomeOf(result) != CallOutcome::kDone) {
      spdlog::warn("label of our pod: {}", ResultText(result));
      client_.RunAfter(kRetry, [this] { Send(); });
    } else if (as_leader != is_leading_) {
      Send();
    } else {
      is_sending_ = false;
    }
  });
}

}  // namespace offcut::api
