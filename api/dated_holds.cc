#include "api/dated_holds.h"

#include <algorithm>
#include <memory>
#include <random>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "api/hold_text.h"
#include "api/kube_time.h"
#include "api/reclaim_calls.h"
#include "scheduler/held_places.h"

namespace offcut::api {
namespace {

using scheduler::Hold;
using scheduler::HoldCause;
using scheduler::Pod;
using scheduler::PodEntry;
using scheduler::Snapshot;

constexpr std::chrono::minutes kWarningPeriod{1};

bool IsGated(const Pod& pod) { return pod.has_quota_gate || pod.has_other_gates; }

bool IsHeldByDate(const Snapshot& snapshot, const Pod& pod) {
  return pod.hold && pod.hold->cause == HoldCause::kDate && snapshot.IsHeld(pod.uid);
}

struct HoldCounts {
  std::size_t all = 0;
  std::size_t drains = 0;
};

HoldCounts CountDated(const Snapshot& snapshot) {
  HoldCounts counts;
  snapshot.ForEachPod([&](const PodEntry& entry) {
    if (entry.phase != scheduler::PodPhase::kPending || !IsHeldByDate(snapshot, *entry.pod)) return;
    ++counts.all;
    if (IsDrain(*entry.pod->hold)) ++counts.drains;
  });
  return counts;
}

std::string NameOf(const Pod& pod) { return fmt::format("{}/{}", pod.name_space, pod.name); }

}  // namespace

DatedHolds::DatedHolds(KubeClient& client, const scheduler::StateStore& store,
                       const scheduler::Policy& policy, EventRecorder& events,
                       std::function<bool()> may_hold, DatedHoldsSettings settings)
    : client_(client),
      store_(store),
      policy_(policy),
      events_(events),
      may_hold_(std::move(may_hold)),
      settings_(settings),
      backoff_(settings.backoff, std::random_device()()) {}

void DatedHolds::NoteEnd(const std::string& uid) {
  const auto snapshot = store_.Read();
  const PodEntry* entry = snapshot->FindPod(uid);
  if (entry != nullptr && entry->phase == scheduler::PodPhase::kBound) {
    lifetimes_.NoteEnd(*entry->pod, NowSeconds());
  }
}

void DatedHolds::LookWithin(std::chrono::milliseconds delay) {
  if (policy_.dated_holds.after_s == 0) return;
  const Clock::time_point due = Clock::now() + delay;
  if (timer_ != 0 && due_ <= due) return;
  if (timer_ != 0) client_.Cancel(timer_);
  due_ = due;
  timer_ = client_.RunAfter(delay, [this] {
    timer_ = 0;
    Look();
  });
}

void DatedHolds::Look() {
  const std::shared_ptr<const Snapshot> shown = store_.Read();
  const std::int64_t now_s = NowSeconds();
  const bool somebody_waits = Track(*shown, now_s);
  if (may_hold_() && Clock::now() >= not_before_) {
    Snapshot expected = WithSent(*shown);
    HoldAll(expected, now_s);
  }
  if (somebody_waits) LookWithin(settings_.period);
}

// Whether anybody waits.
bool DatedHolds::Track(const Snapshot& shown, std::int64_t now_s) {
  std::erase_if(waiters_, [&](const auto& item) {
    const PodEntry* entry = shown.FindPod(item.first);
    return entry == nullptr || entry->phase != scheduler::PodPhase::kPending;
  });
  shown.ForEachPod([&](const PodEntry& entry) {
    const bool is_waiting = entry.phase == scheduler::PodPhase::kPending;
    if (is_waiting && !entry.pod->request.empty()) TrackPod(shown, entry, now_s);
  });
  return !waiters_.empty();
}

// A pod waits from its creation, or from when we last saw it behind a gate.
void DatedHolds::TrackPod(const Snapshot& shown, const PodEntry& entry, std::int64_t now_s) {
  const Pod& pod = *entry.pod;
  const auto [known, is_new] = waiters_.try_emplace(pod.uid);
  Waiter& waiter = known->second;
  if (IsGated(pod)) {
    waiter.since_s = now_s;
  } else if (is_new) {
    waiter.since_s = pod.created_s;
  }
  if (waiter.sent && !waiter.is_in_flight) {
    const bool is_seen = waiter.sent->hold == (shown.IsHeld(pod.uid) ? pod.hold : std::nullopt);
    if (is_seen || Clock::now() >= waiter.sent->ends) waiter.sent.reset();
  }
  NoteFailure(shown, pod, waiter, now_s);
}

// Its hold is over, and it still waits.
void DatedHolds::NoteFailure(const Snapshot& shown, const Pod& pod, Waiter& waiter,
                             std::int64_t now_s) {
  const bool is_over = pod.hold && pod.hold->cause == HoldCause::kDate &&
                       pod.hold->until_s <= now_s && !shown.IsHeld(pod.uid);
  if (!is_over || pod.hold->until_s == waiter.failed_until_s) return;
  waiter.failed_until_s = pod.hold->until_s;
  ++waiter.failures;
  const std::int64_t pause_s = PauseAfter(*pod.hold, waiter.failures, policy_.reclaim);
  waiter.not_before = Clock::now() + std::chrono::seconds(pause_s);
  spdlog::info("hold over {}: node={} expected={} of no use, the next not before {} s", NameOf(pod),
               pod.hold->node, TimeText(pod.hold->expected_s), pause_s);
}

// The state as it will be shown.
Snapshot DatedHolds::WithSent(const Snapshot& shown) const {
  Snapshot expected = shown;
  for (const auto& [uid, waiter] : waiters_) {
    const PodEntry* entry = waiter.sent ? shown.FindPod(uid) : nullptr;
    if (entry == nullptr) continue;
    Pod pod = *entry->pod;
    pod.hold = waiter.sent->hold;
    expected.PutPod(std::move(pod));
  }
  return expected;
}

// Who may be planned for: by priority, then who waits for longest, then by UID.
std::vector<std::string> DatedHolds::DueOf(const Snapshot& expected, std::int64_t now_s) const {
  using Key = std::tuple<std::int32_t, std::int64_t, std::string>;
  std::vector<Key> due;
  const Clock::time_point now = Clock::now();
  for (const auto& [uid, waiter] : waiters_) {
    const PodEntry* entry = expected.FindPod(uid);
    const bool is_due = now_s - waiter.since_s >= policy_.dated_holds.after_s;
    const bool may_be_asked = !waiter.sent && !waiter.is_in_flight && now >= waiter.not_before;
    if (entry == nullptr || !is_due || !may_be_asked) continue;
    if (MayHoldByDate(expected, *entry))
      due.emplace_back(-entry->pod->priority, waiter.since_s, uid);
  }
  std::ranges::sort(due);
  std::vector<std::string> uids;
  uids.reserve(due.size());
  for (Key& key : due) uids.push_back(std::move(std::get<2>(key)));
  return uids;
}

void DatedHolds::HoldAll(Snapshot& expected, std::int64_t now_s) {
  std::size_t plans = 0;
  for (const std::string& uid : DueOf(expected, now_s)) {
    if (plans++ == settings_.plans_max) return LookWithin(settings_.delay);
    // Nothing was found, or nothing better: others are asked before it is asked again.
    if (!HoldFor(expected, uid, now_s)) {
      waiters_[uid].not_before = Clock::now() + settings_.review_period;
    }
  }
}

// Plans for the pod, and writes what has changed; false: nothing has.
bool DatedHolds::HoldFor(Snapshot& expected, const std::string& uid, std::int64_t now_s) {
  const Pod pod = *expected.FindPod(uid)->pod;
  const bool is_held = IsHeldByDate(expected, pod);
  const bool is_lost = is_held && !IsUsable(expected, pod, *pod.hold);
  const HoldCounts counts = CountDated(expected);
  if (!is_held && counts.all >= settings_.holds_max) return false;
  auto plan = PlanDatedHold(expected, pod, policy_, lifetimes_, now_s);
  if (!plan && !is_held && counts.drains == 0) plan = PlanDrain(expected, pod, policy_, now_s);
  std::optional<Hold> hold;
  if (plan && (!is_held || is_lost || IsClearlyEarlier(*plan, *pod.hold, now_s))) {
    hold = HoldOf(pod, *plan);
  } else if (!is_lost) {
    return false;
  }
  Pod held = pod;
  held.hold = hold;
  expected.PutPod(std::move(held));
  Send(pod, std::move(hold));
  return true;
}

void DatedHolds::Send(const Pod& pod, std::optional<Hold> hold) {
  Waiter& waiter = waiters_[pod.uid];
  waiter.is_in_flight = true;
  waiter.sent = Waiter::Sent{.hold = hold, .ends = Clock::now() + settings_.unseen_timeout};
  client_.Call(HoldRequest(pod, hold ? &*hold : nullptr),
               [this, pod, hold](const KubeResult& result) {
                 Answered(pod, hold, result);
                 StateChanged();
               });
}

void DatedHolds::Answered(const Pod& pod, const std::optional<Hold>& hold,
                          const KubeResult& result) {
  const Clock::time_point now = Clock::now();
  const CallOutcome outcome = OutcomeOf(result);
  const auto known = waiters_.find(pod.uid);
  if (known != waiters_.end()) {
    Waiter& waiter = known->second;
    waiter.is_in_flight = false;
    // After an unknown outcome the watch may show it yet; should it not, it is planned anew.
    if (outcome == CallOutcome::kRefused) waiter.sent.reset();
    if (outcome != CallOutcome::kDone) waiter.not_before = now + settings_.aside_time;
  }
  if (outcome == CallOutcome::kDone) {
    backoff_.Reset();
    if (hold) {
      Tell(pod, *hold);
    } else {
      spdlog::info("hold removed {}: its node takes the pod no more", NameOf(pod));
    }
    return;
  }
  const int status = result ? result->status : 0;
  if (status == 404 || status == 409) return;  // gone, or another pod of that name
  const bool is_of_the_pod = status >= 400 && status < 500 && status != 429;
  if (!is_of_the_pod && now >= not_before_) not_before_ = now + backoff_.Next(now);
  if (now - warned_at_ <= kWarningPeriod) return;
  warned_at_ = now;
  spdlog::warn("hold of {} not written: {}", NameOf(pod), ResultText(result));
}

void DatedHolds::Tell(const Pod& pod, const Hold& hold) {
  scheduler::HeldPlace place{.owner = {}, .waits_for = {}};
  auto owner = std::make_shared<Pod>(pod);
  owner->hold = hold;
  place.owner = std::move(owner);
  const auto snapshot = store_.Read();
  for (const std::string& uid : hold.victim_uids) {
    if (const PodEntry* entry = snapshot->FindPod(uid); entry != nullptr) {
      place.waits_for.push_back(entry->pod);
    }
  }
  const std::string text = HeldText(place);
  spdlog::info("hold written {}: {}", NameOf(pod), text);
  events_.Record({.name_space = pod.name_space,
                  .pod = pod.name,
                  .pod_uid = pod.uid,
                  .node = hold.node,
                  .is_warning = false,
                  .reason = "OffcutHolds",
                  .action = "Holding",
                  .note = "Offcut keeps " + text,
                  .key = fmt::format("{} {}", hold.node, hold.expected_s)});
}

}  // namespace offcut::api
