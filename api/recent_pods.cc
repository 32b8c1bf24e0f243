#include "api/recent_pods.h"

#include <cassert>
#include <string>
#include <utility>
#include <vector>

namespace offcut::api {

std::size_t MemoryOf(const scheduler::Pod& pod) {
  std::size_t bytes = sizeof pod + pod.uid.capacity() + pod.name_space.capacity() +
                      pod.name.capacity() + pod.nominated_node_name.capacity() +
                      pod.unscheduled_message.capacity();
  const auto add_resources = [&bytes](const std::vector<scheduler::ResourceCount>& counts) {
    for (const auto& count : counts) bytes += sizeof count + count.resource.capacity();
  };
  for (const scheduler::ContainerRequest& container : pod.containers) {
    bytes += sizeof container + container.name.capacity();
    add_resources(container.devices);
    add_resources(container.unshared_devices);
  }
  add_resources(pod.request.devices);
  add_resources(pod.request.unshared_devices);
  bytes += pod.request.fractions.size() * sizeof(binpack::Fraction);
  const binpack::GpuConstraint& constraint = pod.request.constraint;
  for (const auto* names : {&constraint.models_allowed, &constraint.models_denied,
                            &constraint.uuids_allowed, &constraint.uuids_denied}) {
    for (const std::string& name : *names) bytes += sizeof(std::string) + name.capacity();
  }
  if (pod.record) {
    for (const auto& device : pod.record->devices) {
      bytes += sizeof device + device.container.capacity() + device.uuid.capacity();
    }
  }
  return bytes;
}

RecentPods::RecentPods(std::size_t pods_max, std::size_t bytes_max)
    : pods_max_(pods_max), bytes_max_(bytes_max) {
  assert(pods_max_ > 0 && bytes_max_ > 0);
}

void RecentPods::Remember(std::shared_ptr<const scheduler::Pod> pod) {
  const std::lock_guard lock(mutex_);
  if (retired_.contains(pod->uid)) return;
  std::uint64_t first = next_first_;
  if (const auto known = by_uid_.find(pod->uid); known != by_uid_.end()) {
    first = known->second->first;
    Forget(known->second);
  } else {
    ++next_first_;
  }
  bytes_ += MemoryOf(*pod);
  const auto place = by_age_.insert(by_age_.end(), {std::move(pod), first});
  by_uid_.emplace(place->pod->uid, place);
  while (by_age_.size() > pods_max_ || (bytes_ > bytes_max_ && by_age_.size() > 1)) {
    Forget(by_age_.begin());
  }
}

void RecentPods::Forget(ByAge::iterator place) {
  bytes_ -= MemoryOf(*place->pod);
  by_uid_.erase(place->pod->uid);  // before the pod whose text is its key
  by_age_.erase(place);
}

void RecentPods::Retire(std::string_view uid) {
  const std::lock_guard lock(mutex_);
  if (const auto known = by_uid_.find(uid); known != by_uid_.end()) Forget(known->second);
  if (!retired_.emplace(uid).second) return;
  retired_by_age_.emplace_back(uid);
  if (retired_by_age_.size() <= pods_max_) return;
  retired_.erase(retired_by_age_.front());
  retired_by_age_.pop_front();
}

std::optional<std::uint64_t> RecentPods::FirstRemembered(std::string_view uid) const {
  const std::lock_guard lock(mutex_);
  const auto known = by_uid_.find(uid);
  if (known == by_uid_.end()) return std::nullopt;
  return known->second->first;
}

std::shared_ptr<const scheduler::Pod> RecentPods::Find(std::string_view uid) const {
  const std::lock_guard lock(mutex_);
  const auto known = by_uid_.find(uid);
  return known == by_uid_.end() ? nullptr : known->second->pod;
}

std::size_t RecentPods::size() const {
  const std::lock_guard lock(mutex_);
  return by_age_.size();
}

}  // namespace offcut::api
