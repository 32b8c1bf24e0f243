// Which place is kept for a large pod, and by when it should be free, where nobody is evicted for
// it. Among a stream of small pods a large one starves: whatever comes free goes to the next small
// one. So it holds the place that will be free soonest, by the expected ends of those who stand
// there (scheduler/lifetimes.h), and until that date the place is used by those alone who must have
// ended by then.
//
// Large is a pod that is charged for more than one GPU; and one that is charged for half a GPU or
// more, where all that it waits for are charged for less than it: between equals it is a matter of
// turns, and the queue knows whose it is.
//
// Quota must be there at the date: of what is used now, that of those is taken off for whom the
// hold waits, and of nobody else. A tenant at its limit so gets a hold where its own pods leave,
// and none elsewhere: what it could not use would stand idle.
//
// Where no end is known at all, a node can be drained: see PlanDrain().
// Units: seconds since 1970. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/lifetimes.h"
#include "scheduler/policy.h"
#include "scheduler/snapshot.h"

namespace offcut::scheduler {

// Nothing is kept for a date that is further away: what comes free until then would stand idle.
inline constexpr std::int64_t kDatedHoldSecondsMax = std::int64_t{24} * 3600;
// A hold outlives its date by so long: 30 s of grace that a pod has by default when its deadline
// ends it, up to 10 s of kube-scheduler's back-off before it tries again, and as much for watches
// and clocks.
inline constexpr std::int64_t kDatedHoldSlackS = 60;
// A hold moves if that makes its date earlier by this, and by a quarter of what is left.
inline constexpr std::int64_t kDatedHoldMoveS = 60;

struct DatedHoldPlan {
  std::string node;
  std::int64_t expected_s = 0;
  std::vector<std::shared_ptr<const Pod>> waits_for;  // by expected end, then by UID
  std::vector<RecordedDevice> devices;  // what the pod would get; empty where the kubelet picks
  bool is_drain = false;
};

// Whether a hold may be made for the pod, or one with a date be replaced.
bool MayHoldByDate(const Snapshot& snapshot, const PodEntry& entry);

// The place that will be free soonest; of several the one whose devices stand idle least until
// then, then by node name. nullopt: the pod fits somewhere now, is not large, or no place is known
// that will be free within kDatedHoldSecondsMax. A hold that the pod has already does not count.
std::optional<DatedHoldPlan> PlanDatedHold(const Snapshot& snapshot, const Pod& pod,
                                           const Policy& policy, const Lifetimes& lifetimes,
                                           std::int64_t now_s);

// The node on which the least must leave, whenever that will be, until `holdSeconds` of the policy
// are over: with nobody new there but who ends before, some will have left, and how long they have
// run becomes known. For a cluster one at a time, since nothing says that it succeeds.
std::optional<DatedHoldPlan> PlanDrain(const Snapshot& snapshot, const Pod& pod,
                                       const Policy& policy, std::int64_t now_s);

Hold HoldOf(const Pod& pod, const DatedHoldPlan& plan);
// Whether it is of a drain: then it has no slack, by which it is told.
bool IsDrain(const Hold& hold);

// Whether the plan is worth it that the hold is given up for it.
bool IsClearlyEarlier(const DatedHoldPlan& plan, const Hold& hold, std::int64_t now_s);

// Whether the pod may still stand on the node of its hold.
bool IsUsable(const Snapshot& snapshot, const Pod& pod, const Hold& hold);

// How long nothing is held for the pod after the hold, its `failures`-th that was of no use: the
// first that had a date is renewed at once, or who took the place would be back. Later ones, and
// drains, are followed by a pause of holdSeconds, then twice as long each time, up to
// maxBackoffSeconds. Requires: failures > 0.
std::int64_t PauseAfter(const Hold& hold, int failures, const ReclaimRules& rules);

}  // namespace offcut::scheduler
