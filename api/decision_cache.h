// The evaluations that filter and prioritize share between requests. kube-scheduler asks for one
// pod at a time and both verbs read the same numbers, so that prioritize mostly finds what filter
// left. Thread-safe; the verbs have one thread, so nobody waits for the lock.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "scheduler/decision.h"

namespace offcut::api {

class DecisionCache {
 public:
  // The policy outlives the cache, and does not change once a decision has been asked for.
  explicit DecisionCache(const scheduler::Policy& policy)
      : cache_(policy, scheduler::Prefilter::kByKubeScheduler) {}

  std::vector<scheduler::Verdict> Filter(const scheduler::Snapshot& snapshot,
                                         const scheduler::Pod& pod,
                                         std::span<const std::string> node_names) {
    const std::lock_guard lock(mutex_);
    return scheduler::Filter(snapshot, pod, node_names, cache_);
  }

  std::vector<std::int64_t> Score(const scheduler::Snapshot& snapshot, const scheduler::Pod& pod,
                                  std::span<const std::string> node_names) {
    const std::lock_guard lock(mutex_);
    return scheduler::Score(snapshot, pod, node_names, cache_);
  }

 private:
  std::mutex mutex_;
  scheduler::EvaluationCache cache_;
};

}  // namespace offcut::api
