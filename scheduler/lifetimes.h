// How long the pods of one owner have run, and by that when one that runs will probably end.
//
// The estimate is the longest of the owner's last few pods: a hold that is dated too early fails,
// one that is dated late only waits longer. Pods that were deleted or evicted teach nothing: how
// long they would have run is not known. All is forgotten with the process.
// Units: seconds, and seconds since 1970. Pure; not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scheduler/pod.h"

namespace offcut::scheduler {

inline constexpr std::size_t kLifetimeOwnersMax = 10'000;
inline constexpr std::size_t kLifetimesKept = 8;    // of one owner, the last ones
inline constexpr std::size_t kLifetimesNeeded = 3;  // fewer say nothing

class Lifetimes {
 public:
  // Requires: owners_max > 0.
  explicit Lifetimes(std::size_t owners_max = kLifetimeOwnersMax) : owners_max_(owners_max) {}

  // The pod, as it was last seen, is seen to have ended. Nothing is learnt of one that was being
  // deleted, has no owner, or had not started. Of too many owners the one goes of which no pod has
  // ended for longest.
  void NoteEnd(const Pod& pod, std::int64_t now_s);

  // nullopt: too little is known.
  std::optional<std::int64_t> EstimateOf(const std::string& owner_uid) const;

 private:
  struct Owner {
    std::string uid;
    std::vector<std::int64_t> last_s;  // the oldest first
  };

  const std::size_t owners_max_;
  std::list<Owner> owners_;  // whose pod ended last comes first
  std::unordered_map<std::string_view, std::list<Owner>::iterator> by_uid_;
};

// When a pod on a node, or on its way to one, will have ended: a pod that is being deleted now, any
// other by activeDeadlineSeconds or by the lifetimes of its owner's pods, whichever is earlier. One
// that has not started is taken as if it did so now. Who has run for longer than the estimate has
// shown that the estimate is not its own: its end is not known, or it would look like the next to
// leave for ever. A deadline that has passed is now: the kubelet is about to end it.
// nullopt: not known. Never before `now_s`.
std::optional<std::int64_t> ExpectedEnd(const Pod& pod, const Lifetimes& lifetimes,
                                        std::int64_t now_s);

}  // namespace offcut::scheduler
