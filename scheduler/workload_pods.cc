#include "scheduler/workload_pods.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <tuple>
#include <utility>

namespace offcut::scheduler {
namespace {

std::tuple<std::int64_t, std::string_view> TurnOf(const Pod& pod) {
  return {pod.created_s, pod.uid};
}

WorkloadPods::Pods::const_iterator PlaceOf(const WorkloadPods::Pods& pods, const Pod& pod) {
  return std::ranges::lower_bound(
      pods, TurnOf(pod), {}, [](const std::shared_ptr<const Pod>& each) { return TurnOf(*each); });
}

bool IsAt(WorkloadPods::Pods::const_iterator place, const WorkloadPods::Pods& pods,
          const Pod& pod) {
  return place != pods.end() && TurnOf(**place) == TurnOf(pod);
}

// Neither UIDs nor names of Kubernetes have a blank.
std::string KeyOfWorkload(std::string_view name_space, std::string_view workload) {
  return "workload " + std::string(name_space) + " " + std::string(workload);
}
std::string KeyOfAnnotation(std::string_view name_space, std::string_view workload) {
  return "annotation " + std::string(name_space) + " " + std::string(workload);
}
std::string KeyOfOwner(std::string_view uid) { return "owner " + std::string(uid); }

std::vector<std::string> KeysOf(const Pod& pod, const Admission* admission) {
  std::vector<std::string> keys;
  if (admission != nullptr) {
    keys.push_back(KeyOfWorkload(admission->name_space, admission->workload));
  }
  if (!pod.owner_uid.empty()) keys.push_back(KeyOfOwner(pod.owner_uid));
  if (!pod.kueue_workload.empty()) {
    keys.push_back(KeyOfAnnotation(pod.name_space, pod.kueue_workload));
  }
  return keys;
}

}  // namespace

void WorkloadPods::Put(const std::shared_ptr<const Pod>& pod, const Admission* admission) {
  for (const std::string& key : KeysOf(*pod, admission)) Add(key, pod);
}

void WorkloadPods::Remove(const Pod& pod, const Admission* admission) {
  for (const std::string& key : KeysOf(pod, admission)) Erase(key, pod);
}

std::span<const std::shared_ptr<const Pod>> WorkloadPods::Of(const Admission& admission) const {
  const Pods* pods = Find(KeyOfWorkload(admission.name_space, admission.workload));
  if (pods == nullptr) return {};
  return *pods;
}

std::size_t WorkloadPods::RankIn(const Admission& admission, const Pod& pod) const {
  const Pods* pods = Find(KeyOfWorkload(admission.name_space, admission.workload));
  return pods == nullptr ? 0 : static_cast<std::size_t>(PlaceOf(*pods, pod) - pods->begin());
}

WorkloadPods::Pods WorkloadPods::CandidatesFor(const Admission& admission) const {
  std::vector<std::string> keys = {KeyOfAnnotation(admission.name_space, admission.workload)};
  for (const std::string& uid : admission.owner_uids) keys.push_back(KeyOfOwner(uid));
  Pods candidates;
  for (const std::string& key : keys) {
    const Pods* pods = Find(key);
    if (pods != nullptr) candidates.insert(candidates.end(), pods->begin(), pods->end());
  }
  return candidates;
}

const WorkloadPods::Pods* WorkloadPods::Find(const std::string& key) const {
  const auto& shard = shards_[std::hash<std::string>()(key) % kShards];
  if (shard == nullptr) return nullptr;
  const auto found = shard->find(key);
  return found == shard->end() ? nullptr : found->second.get();
}

WorkloadPods::Lists& WorkloadPods::MutableShard(const std::string& key) {
  auto& shard = shards_[std::hash<std::string>()(key) % kShards];
  auto copy = shard == nullptr ? std::make_shared<Lists>() : std::make_shared<Lists>(*shard);
  Lists& lists = *copy;
  shard = std::move(copy);
  return lists;
}

void WorkloadPods::Add(const std::string& key, const std::shared_ptr<const Pod>& pod) {
  const Pods* known = Find(key);
  Pods pods = known == nullptr ? Pods() : *known;
  const auto place = PlaceOf(pods, *pod);
  const auto index = place - pods.cbegin();
  if (IsAt(place, pods, *pod)) {
    pods[static_cast<std::size_t>(index)] = pod;
  } else {
    pods.insert(pods.begin() + index, pod);
  }
  MutableShard(key)[key] = std::make_shared<const Pods>(std::move(pods));
}

void WorkloadPods::Erase(const std::string& key, const Pod& pod) {
  const Pods* known = Find(key);
  if (known == nullptr || !IsAt(PlaceOf(*known, pod), *known, pod)) return;
  Pods pods = *known;
  pods.erase(pods.begin() + (PlaceOf(*known, pod) - known->begin()));
  Lists& shard = MutableShard(key);
  if (pods.empty()) {
    shard.erase(key);
  } else {
    shard[key] = std::make_shared<const Pods>(std::move(pods));
  }
}

}  // namespace offcut::scheduler
