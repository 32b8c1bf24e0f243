#include "scheduler/admissions.h"

namespace offcut::scheduler {

void Admissions::Put(Admission admission) {
  Remove(admission.name_space, admission.workload);
  for (const std::string& uid : admission.owner_uids) {
    by_owner_.emplace(uid, admission.name_space, admission.workload);
  }
  WorkloadName name(admission.name_space, admission.workload);
  by_name_.insert_or_assign(std::move(name), std::move(admission));
}

void Admissions::Remove(std::string_view name_space, std::string_view workload) {
  const auto found = by_name_.find(WorkloadName(name_space, workload));
  if (found == by_name_.end()) return;
  for (const std::string& uid : found->second.owner_uids) {
    by_owner_.erase(Owned(uid, name_space, workload));
  }
  by_name_.erase(found);
}

const Admission* Admissions::FindNamed(const WorkloadName& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &found->second;
}

const Admission* Admissions::FindByOwner(std::string_view name_space,
                                         std::string_view owner_uid) const {
  if (owner_uid.empty()) return nullptr;
  const auto owned = by_owner_.lower_bound(Owned(owner_uid, name_space, ""));
  if (owned == by_owner_.end()) return nullptr;
  const auto& [uid, owned_in, workload] = *owned;
  return uid == owner_uid && owned_in == name_space ? FindNamed({owned_in, workload}) : nullptr;
}

const Admission* Admissions::Find(const Pod& pod) const {
  for (const std::string_view uid : {std::string_view(pod.uid), std::string_view(pod.owner_uid)}) {
    if (const Admission* admission = FindByOwner(pod.name_space, uid)) return admission;
  }
  if (pod.kueue_workload.empty()) return nullptr;
  const Admission* named = FindNamed({pod.name_space, pod.kueue_workload});
  return named != nullptr && named->queue == pod.kueue_queue ? named : nullptr;
}

std::vector<WorkloadName> Admissions::DifferencesFrom(const Admissions& other) const {
  std::vector<WorkloadName> names;
  auto own = by_name_.begin();
  auto others = other.by_name_.begin();
  while (own != by_name_.end() || others != other.by_name_.end()) {
    const bool is_only_own =
        others == other.by_name_.end() || (own != by_name_.end() && own->first < others->first);
    const bool is_only_others =
        own == by_name_.end() || (others != other.by_name_.end() && others->first < own->first);
    if (is_only_own || is_only_others) {
      names.push_back(is_only_own ? (own++)->first : (others++)->first);
    } else {
      if (own->second != others->second) names.push_back(own->first);
      ++own;
      ++others;
    }
  }
  return names;
}

}  // namespace offcut::scheduler
