// The pods that kube-scheduler has lately asked about, by UID. A bind names its pod and says
// nothing about it, so where no watch brings pods (state from files) this is how bind knows what to
// reserve. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "scheduler/pod.h"

namespace offcut::api {

// Between a pod's last filter and its bind lie seconds to minutes. At 100 pods a second this is ten
// minutes of them.
inline constexpr std::size_t kRecentPodsMax = 60'000;
// Twice what so many pods of two containers take. Pods of thousands of containers push out sooner.
inline constexpr std::size_t kRecentPodsBytesMax = std::size_t{128} * 1024 * 1024;

// The memory that the pod takes, in bytes, less what an allocator adds.
std::size_t MemoryOf(const scheduler::Pod& pod);

class RecentPods {
 public:
  // Requires: pods_max > 0, bytes_max > 0.
  explicit RecentPods(std::size_t pods_max = kRecentPodsMax,
                      std::size_t bytes_max = kRecentPodsBytesMax);

  // Makes the pod the newest, in place of one of that UID; the oldest have to go while there are
  // too many or they take too much. The newest always stays. Nothing for a UID that was retired.
  void Remember(std::shared_ptr<const scheduler::Pod> pod);

  // The pod is known to have gone: forgets it, and remembers none of that UID again. Of so many
  // UIDs as of pods, the last ones.
  void Retire(std::string_view uid);

  // nullptr: not known, or known too long ago.
  std::shared_ptr<const scheduler::Pod> Find(std::string_view uid) const;

  // Of two pods the one with the greater number was first remembered later. nullopt, which is less
  // than any: not known.
  std::optional<std::uint64_t> FirstRemembered(std::string_view uid) const;

  std::size_t size() const;

 private:
  struct Remembered {
    std::shared_ptr<const scheduler::Pod> pod;
    std::uint64_t first = 0;
  };
  using ByAge = std::list<Remembered>;  // oldest first

  void Forget(ByAge::iterator place);

  const std::size_t pods_max_;
  const std::size_t bytes_max_;
  mutable std::mutex mutex_;
  ByAge by_age_;
  std::size_t bytes_ = 0;                                         // of all in by_age_
  std::unordered_map<std::string_view, ByAge::iterator> by_uid_;  // keys: the pods' own UIDs
  std::uint64_t next_first_ = 0;
  std::unordered_set<std::string> retired_;
  std::deque<std::string> retired_by_age_;  // oldest first
};

}  // namespace offcut::api
