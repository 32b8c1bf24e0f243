// The pods of the state by the Workload of Kueue that has admitted them, in the order in which the
// Workload's charge covers them: by creation time and UID. And those that may be of a Workload by
// what they say of themselves, so that an event of one asks no other pods.
//
// Copies are cheap: lists are shared until one of two copies changes them.
// Pure; const use from many threads is safe.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "scheduler/admissions.h"
#include "scheduler/pod.h"

namespace offcut::scheduler {

class WorkloadPods {
 public:
  using Pods = std::vector<std::shared_ptr<const Pod>>;

  // `admission`: of the pod; nullptr: none. In place of a version of the same age.
  void Put(const std::shared_ptr<const Pod>& pod, const Admission* admission);
  // As it was put; nothing where it was not.
  void Remove(const Pod& pod, const Admission* admission);

  // In their order.
  std::span<const std::shared_ptr<const Pod>> Of(const Admission& admission) const;
  // How many of them come before the pod, which need not be among them.
  std::size_t RankIn(const Admission& admission, const Pod& pod) const;

  // Whose owner, or annotation, names the Workload, proven or not.
  Pods CandidatesFor(const Admission& admission) const;

 private:
  using Lists = std::unordered_map<std::string, std::shared_ptr<const Pods>>;
  static constexpr std::size_t kShards = 256;

  const Pods* Find(const std::string& key) const;
  void Add(const std::string& key, const std::shared_ptr<const Pod>& pod);
  void Erase(const std::string& key, const Pod& pod);
  Lists& MutableShard(const std::string& key);

  std::array<std::shared_ptr<const Lists>, kShards> shards_;
};

}  // namespace offcut::scheduler
