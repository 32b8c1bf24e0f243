// Which pods another quota system has admitted, and charged to one of its queues: Kueue's
// Workloads. Offcut places such pods and counts them, and does not refuse them for quota: two
// ledgers in different units would lock each other up.
//
// Labels prove nothing, since users may set them. What proves is an admitted Workload whose owner
// is the pod, or the pod's owner; or, where a controller stands between (JobSet, Ray), one that the
// pod's annotation names and whose queue its label names, as Kueue writes both.
//
// Copies are cheap to share and dear to edit: a published object never changes.
// Pure; const use from many threads is safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scheduler/pod.h"

namespace offcut::scheduler {

struct Admission {
  std::string name_space;
  std::string workload;                 // its name
  std::string queue;                    // the ClusterQueue that is charged
  std::vector<std::string> owner_uids;  // of the pod or the job that the Workload stands for
  bool operator==(const Admission&) const = default;
};

class Admissions {
 public:
  // In place of an earlier one of that Workload.
  void Put(Admission admission);
  void Remove(std::string_view name_space, std::string_view workload);

  // The queue that was charged for the pod; empty: none.
  std::string_view QueueOf(const Pod& pod) const;

  std::size_t size() const { return by_name_.size(); }
  bool operator==(const Admissions& other) const { return by_name_ == other.by_name_; }

 private:
  using Name = std::pair<std::string, std::string>;  // namespace and Workload

  const Admission* FindByOwner(std::string_view name_space, std::string_view owner_uid) const;

  std::map<Name, Admission, std::less<>> by_name_;
  std::unordered_map<std::string, Name> by_owner_;  // by UID
};

}  // namespace offcut::scheduler
