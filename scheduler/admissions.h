// Which pods another quota system has admitted, and charged to one of its queues: Kueue's
// Workloads. Offcut places such pods and counts them, and does not refuse them for quota: two
// ledgers in different units would lock each other up.
//
// Labels prove nothing, since users may set them. What proves is an admitted Workload whose owner
// is the pod, or the pod's owner; or, where a controller stands between (JobSet, Ray), one that the
// pod's annotation names and whose queue its label names, as Kueue writes both. And since anybody
// may write an owner or an annotation into a pod, a Workload counts for no more pods than it was
// charged for: which ones, a snapshot knows (scheduler/workload_pods.h).
//
// Copies are cheap to share and dear to edit: a published object never changes.
// Pure; const use from many threads is safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/pod.h"

namespace offcut::scheduler {

struct Admission {
  std::string name_space;
  std::string workload;                 // its name
  std::string queue;                    // the ClusterQueue that is charged
  std::vector<std::string> owner_uids;  // of the pod or the job that the Workload stands for
  std::int64_t pods = 0;                // how many are charged
  bool operator==(const Admission&) const = default;
};

using WorkloadName = std::pair<std::string, std::string>;  // namespace and Workload

class Admissions {
 public:
  // In place of an earlier one of that Workload.
  void Put(Admission admission);
  void Remove(std::string_view name_space, std::string_view workload);

  // The Workload that the pod says it is of, proven as above; nullptr: none. The pod's own goes
  // before its owner's, and that before the annotation's; of several of one owner the first by
  // name.
  const Admission* Find(const Pod& pod) const;
  const Admission* FindNamed(const WorkloadName& name) const;  // nullptr: not known

  // The Workloads that one of both has and the other has not, or has otherwise.
  std::vector<WorkloadName> DifferencesFrom(const Admissions& other) const;

  std::size_t size() const { return by_name_.size(); }
  bool operator==(const Admissions& other) const { return by_name_ == other.by_name_; }

 private:
  using Owned = std::tuple<std::string, std::string, std::string>;  // owner's UID, and the name

  const Admission* FindByOwner(std::string_view name_space, std::string_view owner_uid) const;

  std::map<WorkloadName, Admission> by_name_;
  std::set<Owned> by_owner_;
};

}  // namespace offcut::scheduler
