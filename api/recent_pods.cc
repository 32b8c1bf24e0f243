#include "api/recent_pods.h"

#include <cassert>
#include <utility>

namespace offcut::api {

RecentPods::RecentPods(std::size_t pods_max) : pods_max_(pods_max) { assert(pods_max_ > 0); }

void RecentPods::Remember(std::shared_ptr<const scheduler::Pod> pod) {
  const std::lock_guard lock(mutex_);
  if (const auto known = by_uid_.find(pod->uid); known != by_uid_.end()) {
    const auto place = known->second;
    by_uid_.erase(known);  // before the pod whose text is its key
    by_age_.erase(place);
  }
  const auto place = by_age_.insert(by_age_.end(), std::move(pod));
  by_uid_.emplace((*place)->uid, place);
  if (by_age_.size() > pods_max_) {
    by_uid_.erase(by_age_.front()->uid);
    by_age_.pop_front();
  }
}

std::shared_ptr<const scheduler::Pod> RecentPods::Find(std::string_view uid) const {
  const std::lock_guard lock(mutex_);
  const auto known = by_uid_.find(uid);
  return known == by_uid_.end() ? nullptr : *known->second;
}

std::size_t RecentPods::size() const {
  const std::lock_guard lock(mutex_);
  return by_age_.size();
}

}  // namespace offcut::api
