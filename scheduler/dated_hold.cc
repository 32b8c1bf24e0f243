#include "scheduler/dated_hold.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "scheduler/decision.h"
#include "scheduler/isolation.h"
#include "scheduler/quota_check.h"
#include "scheduler/waiting_pod.h"

namespace offcut::scheduler {
namespace {

constexpr std::int64_t kNeverS = std::numeric_limits<std::int64_t>::max();

// A holder that may leave.
struct Leaver {
  std::shared_ptr<const Pod> pod;
  std::int64_t end_s = kNeverS;
  std::int64_t devices = 0;  // quota::kWholeDevice a GPU
};

std::vector<std::string> UidsOf(const std::vector<Leaver>& leavers) {
  std::vector<std::string> uids;
  uids.reserve(leavers.size());
  for (const Leaver& leaver : leavers) uids.push_back(leaver.pod->uid);
  return uids;
}

// What the pod gets on the node once those have left.
struct Vacancy {
  binpack::Placement placement;
  std::int64_t devices = 0;  // what it is charged for
};

// One pod's question to the nodes.
class Finder {
 public:
  Finder(const Snapshot& snapshot, const Pod& pod, const Policy& policy)
      : snapshot_(snapshot), pod_(pod), policy_(policy), isolation_(snapshot, pod) {}

  std::optional<Vacancy> Without(const Node& node, const std::vector<Leaver>& gone) {
    const Node without = NodeWithout(snapshot_, node, pod_, UidsOf(gone));
    auto placement = PlacementOn(snapshot_, without, pod_, policy_);
    if (!placement || !isolation_.Restrict({}, without).fits()) return std::nullopt;
    if (!CheckQuotaOn(node, without, snapshot_, pod_, policy_, Prefilter::kNone).fits()) {
      return std::nullopt;
    }
    const std::int64_t devices = SumOf(ChargeOn(without, *placement)).devices;
    return Vacancy{.placement = *std::move(placement), .devices = devices};
  }

  // The first of `leavers`, in their order, that suffice, and of these those that are needed.
  // nullopt: all of them do not suffice, or nobody has to leave.
  std::optional<std::vector<Leaver>> NeededOf(const Node& node,
                                              const std::vector<Leaver>& leavers) {
    // Most nodes are answered here, after one look or none.
    if (leavers.empty() || !Without(node, leavers) || Without(node, {})) return std::nullopt;
    std::vector<Leaver> gone;
    gone.reserve(leavers.size());
    for (const Leaver& leaver : leavers) {
      gone.push_back(leaver);
      if (Without(node, gone)) break;
    }
    for (std::size_t i = gone.size(); i-- > 0;) {
      std::vector<Leaver> fewer = gone;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (Without(node, fewer)) gone = std::move(fewer);
    }
    return gone;
  }

  DatedHoldPlan PlanOf(const Node& node, const std::vector<Leaver>& gone,
                       const Vacancy& vacancy) const {
    DatedHoldPlan plan{.node = node.name(), .waits_for = {}, .devices = {}};
    plan.waits_for.reserve(gone.size());
    for (const Leaver& leaver : gone) plan.waits_for.push_back(leaver.pod);
    if (node.inventory.devices.picker == binpack::DevicePicker::kScheduler) {
      plan.devices = RecordOf(node.inventory, pod_, vacancy.placement, {}).devices;
    }
    return plan;
  }

 private:
  const Snapshot& snapshot_;
  const Pod& pod_;
  const Policy& policy_;
  IsolationCheck isolation_;
};

// Whoever holds no devices is in nobody's way to become large.
bool IsLarge(std::int64_t devices, const std::vector<Leaver>& gone) {
  if (std::ranges::all_of(gone, [](const Leaver& each) { return each.devices == 0; })) return false;
  if (devices > quota::kWholeDevice) return true;
  return 2 * devices >= quota::kWholeDevice &&
         std::ranges::all_of(gone, [&](const Leaver& each) { return each.devices < devices; });
}

// Those of whom an end until `last_s` is known, by end and UID.
std::vector<Leaver> LeaversOf(const Node& node, const Lifetimes& lifetimes, std::int64_t now_s,
                              std::int64_t last_s) {
  std::vector<Leaver> leavers;
  for (const Holder& holder : node.holders) {
    const std::optional<std::int64_t> end_s = ExpectedEnd(*holder.pod, lifetimes, now_s);
    if (!end_s || *end_s > last_s) continue;
    leavers.push_back(
        {.pod = holder.pod, .end_s = *end_s, .devices = SumOf(holder.charge).devices});
  }
  std::ranges::sort(leavers, {}, [](const Leaver& each) {
    return std::tuple(each.end_s, std::string_view(each.pod->uid));
  });
  return leavers;
}

// Device time that passes unused until the date: the place has it, but for what those use who are
// waited for.
std::int64_t IdleOf(const std::vector<Leaver>& gone, const Vacancy& vacancy,
                    std::int64_t expected_s, std::int64_t now_s) {
  std::int64_t idle = vacancy.devices * (expected_s - now_s);
  for (const Leaver& leaver : gone) idle -= leaver.devices * (leaver.end_s - now_s);
  return idle;
}

std::vector<Leaver> SmallestFirst(const Node& node) {
  std::vector<Leaver> leavers;
  leavers.reserve(node.holders.size());
  for (const Holder& holder : node.holders) {
    leavers.push_back({.pod = holder.pod, .devices = SumOf(holder.charge).devices});
  }
  std::ranges::sort(leavers, {}, [](const Leaver& each) {
    return std::tuple(each.devices, std::string_view(each.pod->uid));
  });
  return leavers;
}

}  // namespace

bool MayHoldByDate(const Snapshot& snapshot, const PodEntry& entry) {
  const std::optional<Hold>& hold = entry.pod->hold;
  const bool is_reclaiming =
      hold && hold->cause == HoldCause::kReclaim && snapshot.IsHeld(entry.pod->uid);
  return WaitsForDevices(snapshot, entry) && !is_reclaiming;
}

std::optional<DatedHoldPlan> PlanDatedHold(const Snapshot& snapshot, const Pod& pod,
                                           const Policy& policy, const Lifetimes& lifetimes,
                                           std::int64_t now_s) {
  const std::vector<const Node*> nodes = NodesFor(snapshot, pod);
  if (FitsSomewhere(snapshot, pod, nodes, policy)) return std::nullopt;
  Finder finder(snapshot, pod, policy);
  std::optional<DatedHoldPlan> best;
  std::int64_t least_idle = 0;
  std::int64_t last_s = now_s + kDatedHoldSecondsMax;
  for (const Node* node : nodes) {
    // Later than the best so far is of no interest: most nodes are asked once.
    const auto gone = finder.NeededOf(*node, LeaversOf(*node, lifetimes, now_s, last_s));
    if (!gone) continue;
    const auto vacancy = finder.Without(*node, *gone);
    if (!vacancy || !IsLarge(vacancy->devices, *gone)) continue;
    const std::int64_t expected_s = gone->back().end_s;
    const std::int64_t idle = IdleOf(*gone, *vacancy, expected_s, now_s);
    if (best && expected_s == best->expected_s && idle >= least_idle) continue;
    best = finder.PlanOf(*node, *gone, *vacancy);
    best->expected_s = last_s = expected_s;
    least_idle = idle;
  }
  return best;
}

std::optional<DatedHoldPlan> PlanDrain(const Snapshot& snapshot, const Pod& pod,
                                       const Policy& policy, std::int64_t now_s) {
  const std::vector<const Node*> nodes = NodesFor(snapshot, pod);
  if (FitsSomewhere(snapshot, pod, nodes, policy)) return std::nullopt;
  Finder finder(snapshot, pod, policy);
  std::optional<DatedHoldPlan> best;
  std::int64_t least = 0;
  for (const Node* node : nodes) {
    const auto gone = finder.NeededOf(*node, SmallestFirst(*node));
    if (!gone) continue;
    const auto vacancy = finder.Without(*node, *gone);
    if (!vacancy || !IsLarge(vacancy->devices, *gone)) continue;
    std::int64_t devices = 0;
    for (const Leaver& leaver : *gone) devices += leaver.devices;
    if (best && devices >= least) continue;
    best = finder.PlanOf(*node, *gone, *vacancy);
    best->expected_s = now_s + policy.reclaim.hold_s;
    best->is_drain = true;
    least = devices;
  }
  return best;
}

Hold HoldOf(const Pod& pod, const DatedHoldPlan& plan) {
  Hold hold{.pod_uid = pod.uid,
            .node = plan.node,
            .cause = HoldCause::kDate,
            .until_s = plan.expected_s + (plan.is_drain ? 0 : kDatedHoldSlackS),
            .expected_s = plan.expected_s,
            .victim_uids = {},
            .devices = plan.devices};
  hold.victim_uids.reserve(plan.waits_for.size());
  for (const auto& waited_for : plan.waits_for) hold.victim_uids.push_back(waited_for->uid);
  return hold;
}

bool IsDrain(const Hold& hold) {
  return hold.cause == HoldCause::kDate && hold.expected_s == hold.until_s;
}

bool IsClearlyEarlier(const DatedHoldPlan& plan, const Hold& hold, std::int64_t now_s) {
  const std::int64_t gain_s = std::max(kDatedHoldMoveS, (hold.expected_s - now_s) / 4);
  return plan.expected_s <= hold.expected_s - gain_s;
}

bool IsUsable(const Snapshot& snapshot, const Pod& pod, const Hold& hold) {
  const std::vector<const Node*> nodes = NodesFor(snapshot, pod);
  return std::ranges::any_of(nodes, [&](const Node* node) { return node->name() == hold.node; });
}

std::int64_t PauseAfter(const Hold& hold, int failures, const ReclaimRules& rules) {
  const int doublings = IsDrain(hold) ? failures - 1 : failures - 2;
  if (doublings < 0) return 0;
  std::int64_t pause_s = rules.hold_s;
  for (int i = 0; i < doublings && pause_s < rules.backoff_s_max; ++i) pause_s *= 2;
  return std::min(pause_s, rules.backoff_s_max);
}

}  // namespace offcut::scheduler
