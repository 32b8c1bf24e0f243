#include "api/leader_label.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "api/binding.h"

namespace offcut::api {

using std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds kRetry{1};
// Short, so that a patch that was sent as leader has come to an end before another may lead.
constexpr std::chrono::seconds kOthersTimeout{4};

std::string LabelPatch(bool is_leader) {
  nlohmann::json patch;
  nlohmann::json& label = patch["metadata"]["labels"][std::string(kLeaderLabel)];
  if (is_leader) label = "true";  // else null, which removes it
  return patch.dump();
}

KubeRequest PatchRequest(std::string target, bool is_leader) {
  return {.method = "PATCH",
          .target = std::move(target),
          .content_type = "application/merge-patch+json",
          .body = LabelPatch(is_leader),
          .limit = KubeLimit::kNone};
}

}  // namespace

LeaderLabel::LeaderLabel(KubeClient& client, std::string pod_namespace, std::string pod_name,
                         std::chrono::milliseconds period)
    : client_(client),
      pod_namespace_(std::move(pod_namespace)),
      pod_name_(std::move(pod_name)),
      period_(period) {}

std::string LeaderLabel::Problem(steady_clock::time_point now) const {
  const std::lock_guard lock(problem_mutex_);
  if (!missing_since_ || now - *missing_since_ <= kLabelPatience) return {};
  return fmt::format("we lead, and the label {} of {}/{} could not be written: {}", kLeaderLabel,
                     pod_namespace_, pod_name_, problem_);
}

void LeaderLabel::NotePatch(bool as_leader, const KubeResult& result) {
  if (!is_leading_) return;
  const std::lock_guard lock(problem_mutex_);
  if (OutcomeOf(result) != CallOutcome::kDone) {
    if (!missing_since_) missing_since_ = steady_clock::now();
    problem_ = ResultText(result);
  } else if (as_leader) {
    missing_since_.reset();
  }
}

void LeaderLabel::Set(bool is_leading) {
  {
    const std::lock_guard lock(problem_mutex_);
    if (!is_leading) missing_since_.reset();
    if (is_leading && !is_leading_) missing_since_ = steady_clock::now();
    problem_ = "no answer yet";
  }
  is_leading_ = is_leading;
  if (!is_sending_) Send();
}

// One at a time: of two on their way at once, the older could be the last to arrive.
void LeaderLabel::Send() {
  is_sending_ = true;
  const bool as_leader = is_leading_;
  KubeRequest request = PatchRequest(PodPath(pod_namespace_, pod_name_), as_leader);
  client_.Call(std::move(request), [this, as_leader](const KubeResult& result) {
    NotePatch(as_leader, result);
    if (OutcomeOf(result) != CallOutcome::kDone) {
      spdlog::warn("label of our pod: {}", ResultText(result));
      client_.RunAfter(kRetry, [this] { Send(); });
    } else if (as_leader != is_leading_) {
      Send();
    } else {
      is_sending_ = false;
      if (!as_leader) return;
      if (!is_finding_) FindOthers();
      SendLater();
    }
  });
}

void LeaderLabel::SendLater() {
  if (timer_ != 0) client_.Cancel(timer_);
  timer_ = client_.RunAfter(period_, [this] {
    timer_ = 0;
    if (is_leading_ && !is_sending_) Send();
  });
}

void LeaderLabel::FindOthers() {
  is_finding_ = is_leading_;
  if (!is_leading_) return;
  const std::string selector = PercentEncoded(std::string(kLeaderLabel) + "=true");
  KubeRequest request{
      .target = "/api/v1/namespaces/" + pod_namespace_ + "/pods?labelSelector=" + selector,
      .timeout = kOthersTimeout,
      .limit = KubeLimit::kNone};
  client_.Call(std::move(request), [this](const KubeResult& result) {
    if (OutcomeOf(result) == CallOutcome::kDone) {
      is_finding_ = false;
      TakeFromOthers(result->body);
    } else {
      spdlog::warn("pods labelled {}: {}", kLeaderLabel, ResultText(result));
      client_.RunAfter(kRetry, [this] { FindOthers(); });
    }
  });
}

void LeaderLabel::TakeFromOthers(std::string_view pod_list) {
  const auto list = nlohmann::json::parse(pod_list, nullptr, false);
  if (!list.is_object() || !list.contains("items") || !list["items"].is_array()) return;
  const nlohmann::json::json_pointer pointer("/metadata/name");
  for (const auto& pod : list["items"]) {
    if (!pod.contains(pointer) || !pod[pointer].is_string()) continue;
    const auto name = pod[pointer].get<std::string>();
    if (!name.empty() && name != pod_name_) Take(name);
  }
}

// Once: a pod that has gone needs none, and whoever takes the label wrongly is found the next time.
void LeaderLabel::Take(const std::string& pod_name) {
  if (!is_leading_) return;
  KubeRequest request = PatchRequest(PodPath(pod_namespace_, pod_name), false);
  request.timeout = kOthersTimeout;
  client_.Call(std::move(request), [pod_name](const KubeResult& result) {
    if (OutcomeOf(result) == CallOutcome::kDone) {
      spdlog::info("pod {} leads no more: took the label {} off it", pod_name, kLeaderLabel);
    } else {
      spdlog::warn("label of pod {}: {}", pod_name, ResultText(result));
    }
  });
}

}  // namespace offcut::api
