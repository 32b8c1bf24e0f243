#include "api/expectation_timers.h"

#include <utility>

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

void ExpectationTimers::TimeNomination(const scheduler::Pod& pod) {
  const bool is_waiting = pod.node_name.empty() && !pod.nominated_node_name.empty();
  const auto known = nominations_.find(pod.uid);
  if (known != nominations_.end()) {
    if (is_waiting && known->second.node_name == pod.nominated_node_name) return;
    ForgetNomination(pod.uid);
  }
  if (!is_waiting) return;
  const KubeTicket timer = client_.RunAfter(timeouts_.nomination, [this, uid = pod.uid] {
    store_.Update([&](Snapshot& next) { next.LapseNomination(uid); });
    ended_();
  });
  nominations_[pod.uid] = {.node_name = pod.nominated_node_name, .timer = timer};
}

void ExpectationTimers::ForgetNomination(const std::string& uid) {
  const auto known = nominations_.find(uid);
  if (known == nominations_.end()) return;
  client_.Cancel(known->second.timer);
  nominations_.erase(known);
}

}  // namespace offcut::api
