#include "scheduler/admissions.h"

#include <utility>

namespace offcut::scheduler {

void Admissions::Put(Admission admission) {
  Remove(admission.name_space, admission.workload);
  const Name name(admission.name_space, admission.workload);
  for (const std::string& uid : admission.owner_uids) by_owner_[uid] = name;
  by_name_[name] = std::move(admission);
}

void Admissions::Remove(std::string_view name_space, std::string_view workload) {
  const auto found = by_name_.find(Name(name_space, workload));
  if (found == by_name_.end()) return;
  for (const std::string& uid : found->second.owner_uids) {
    // An owner may have got a Workload of another name meanwhile.
    const auto owned = by_owner_.find(uid);
    if (owned != by_owner_.end() && owned->second == found->first) by_owner_.erase(owned);
  }
  by_name_.erase(found);
}

const Admission* Admissions::FindByOwner(std::string_view name_space,
                                         std::string_view owner_uid) const {
  if (owner_uid.empty()) return nullptr;
  const auto owned = by_owner_.find(std::string(owner_uid));
  if (owned == by_owner_.end() || owned->second.first != name_space) return nullptr;
  return &by_name_.find(owned->second)->second;
}

std::string_view Admissions::QueueOf(const Pod& pod) const {
  for (const std::string_view uid : {std::string_view(pod.uid), std::string_view(pod.owner_uid)}) {
    if (const Admission* admission = FindByOwner(pod.name_space, uid)) return admission->queue;
  }
  if (pod.kueue_workload.empty()) return {};
  const auto named = by_name_.find(Name(pod.name_space, pod.kueue_workload));
  if (named == by_name_.end() || named->second.queue != pod.kueue_queue) return {};
  return named->second.queue;
}

}  // namespace offcut::scheduler
