#include "api/expectation_timers.h"

#include <algorithm>
#include <utility>

#include "api/hold_json.h"
#include "api/kube_time.h"

namespace offcut::api {

using scheduler::Snapshot;

ExpectationTimers::ExpectationTimers(KubeClient& client, scheduler::StateStore& store,
                                     ExpectationTimeouts timeouts, std::function<void()> ended)
    : client_(client), store_(store), timeouts_(timeouts), ended_(std::move(ended)) {}

void ExpectationTimers::TimeClaim(const std::string& uid) {
  const auto [known, is_first] = claims_.try_emplace(uid);
  KubeTicket& timer = known->second;
  client_.Cancel(timer);
  timer = client_.RunAfter(is_first ? timeouts_.claim : timeouts_.claim_again, [this, uid] {
    store_.Update([&](Snapshot& next) { next.DropClaim(uid); });
    // Nobody tells the end of a pod that is not known, or has gone before its claim came.
    if (store_.Read()->FindPod(uid) == nullptr) claims_.erase(uid);
    ended_();
  });
}

void ExpectationTimers::ForgetClaim(const std::string& uid) {
  const auto known = claims_.find(uid);
  if (known == claims_.end()) return;
  client_.Cancel(known->second);
  claims_.erase(known);
}

void ExpectationTimers::TimePod(const scheduler::Pod& pod) {
  TimeNomination(pod);
  TimeHold(pod);
}

void ExpectationTimers::ForgetPod(const std::string& uid) {
  ForgetNomination(uid);
  ForgetHold(uid);
  ForgetClaim(uid);
}

void ExpectationTimers::RestartNomination(const scheduler::Pod& pod) {
  ForgetNomination(pod.uid);
  TimeNomination(pod);
}

void ExpectationTimers::TimeNomination(const scheduler::Pod& pod) {
  const bool is_waiting = pod.node_name.empty() && !pod.nominated_node_name.empty();
  const auto known = nominations_.find(pod.uid);
  if (known != nominations_.end()) {
    const bool is_known = known->second.node_name == pod.nominated_node_name;
    if (is_waiting && is_known && !known->second.is_taken_back) return;
    ForgetNomination(pod.uid);
  }
  if (!is_waiting) return;
  const KubeTicket timer = client_.RunAfter(timeouts_.nomination, [this, uid = pod.uid] {
    store_.Update([&](Snapshot& next) { next.LapseNomination(uid); });
    ended_();
  });
  nominations_[pod.uid] = {
      .node_name = pod.nominated_node_name, .is_taken_back = false, .timer = timer};
}

void ExpectationTimers::KeepNomination(const scheduler::Pod& pod) {
  TimeHold(pod);
  if (KeepsNomination(pod.uid)) return;
  ForgetNomination(pod.uid);
  const KubeTicket timer =
      client_.RunAfter(timeouts_.taken_back, [this, uid = pod.uid] { EndKeptNomination(uid); });
  nominations_[pod.uid] = {
      .node_name = pod.nominated_node_name, .is_taken_back = true, .timer = timer};
}

bool ExpectationTimers::KeepsNomination(const std::string& uid) const {
  const auto known = nominations_.find(uid);
  return known != nominations_.end() && known->second.is_taken_back;
}

// It does not lapse: kube-scheduler may nominate the pod to the same node again, and that counts.
void ExpectationTimers::EndKeptNomination(const std::string& uid) {
  nominations_.erase(uid);
  store_.Update([&](Snapshot& next) {
    const scheduler::PodEntry* entry = next.FindPod(uid);
    if (entry == nullptr || entry->phase != scheduler::PodPhase::kPending) return;
    scheduler::Pod pod = *entry->pod;
    pod.nominated_node_name.clear();
    next.PutPod(std::move(pod));
  });
  ended_();
}

void ExpectationTimers::ForgetNomination(const std::string& uid) {
  const auto known = nominations_.find(uid);
  if (known == nominations_.end()) return;
  client_.Cancel(known->second.timer);
  nominations_.erase(known);
}

void ExpectationTimers::TimeHold(const scheduler::Pod& pod) {
  const bool is_waiting = pod.node_name.empty() && pod.hold;
  const auto known = holds_.find(pod.uid);
  if (known != holds_.end()) {
    if (is_waiting && known->second.until_s == pod.hold->until_s) return;
    ForgetHold(pod.uid);
  }
  if (!is_waiting) return;
  const auto left = std::chrono::seconds(
      std::max<std::int64_t>(0, std::min(pod.hold->until_s - NowSeconds(), kHoldSecondsMax)));
  const KubeTicket timer = client_.RunAfter(left, [this, uid = pod.uid] {
    store_.Update([&](Snapshot& next) { next.LapseHold(uid); });
    ended_();
  });
  holds_[pod.uid] = {.until_s = pod.hold->until_s, .timer = timer};
}

void ExpectationTimers::ForgetHold(const std::string& uid) {
  const auto known = holds_.find(uid);
  if (known == holds_.end()) return;
  client_.Cancel(known->second.timer);
  holds_.erase(known);
}

}  // namespace offcut::api
