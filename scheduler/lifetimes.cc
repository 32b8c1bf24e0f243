#include "scheduler/lifetimes.h"

#include <algorithm>
#include <limits>

namespace offcut::scheduler {
namespace {

std::int64_t SumUpTo(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  return b > last - a ? last : a + b;
}

}  // namespace

void Lifetimes::NoteEnd(const Pod& pod, std::int64_t now_s) {
  const bool has_run = pod.started_s > 0 && now_s >= pod.started_s;
  if (pod.is_terminating || pod.owner_uid.empty() || !has_run) return;
  if (const auto known = by_uid_.find(pod.owner_uid); known != by_uid_.end()) {
    owners_.splice(owners_.begin(), owners_, known->second);
  } else {
    if (owners_.size() >= owners_max_) {
      by_uid_.erase(owners_.back().uid);
      owners_.pop_back();
    }
    owners_.push_front({.uid = pod.owner_uid, .last_s = {}});
    by_uid_.emplace(owners_.front().uid, owners_.begin());
  }
  std::vector<std::int64_t>& last_s = owners_.front().last_s;
  if (last_s.size() >= kLifetimesKept) last_s.erase(last_s.begin());
  last_s.push_back(now_s - pod.started_s);
}

std::optional<std::int64_t> Lifetimes::EstimateOf(const std::string& owner_uid) const {
  const auto known = by_uid_.find(owner_uid);
  if (known == by_uid_.end()) return std::nullopt;
  const std::vector<std::int64_t>& last_s = known->second->last_s;
  if (last_s.size() < kLifetimesNeeded) return std::nullopt;
  return std::ranges::max(last_s);
}

std::optional<std::int64_t> ExpectedEnd(const Pod& pod, const Lifetimes& lifetimes,
                                        std::int64_t now_s) {
  if (pod.is_terminating) return now_s;
  const std::int64_t started_s = pod.started_s > 0 ? pod.started_s : now_s;
  std::optional<std::int64_t> end_s;
  if (pod.run_s_max > 0) end_s = std::max(now_s, SumUpTo(started_s, pod.run_s_max));
  const std::optional<std::int64_t> estimate_s = lifetimes.EstimateOf(pod.owner_uid);
  if (!estimate_s) return end_s;
  const std::int64_t estimated_s = SumUpTo(started_s, *estimate_s);
  if (estimated_s < now_s) return end_s;
  return end_s ? std::min(*end_s, estimated_s) : estimated_s;
}

}  // namespace offcut::scheduler
