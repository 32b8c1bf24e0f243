#include "api/reclaimer.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "api/kube_time.h"
#include "api/reclaim_calls.h"
#include "api/reclaim_text.h"

namespace offcut::api {
namespace {

using scheduler::Pod;
using scheduler::PodEntry;
using scheduler::ReclaimMode;
using scheduler::ReclaimPlan;
using scheduler::Snapshot;

std::string NameOfPod(const Pod& pod) { return fmt::format("{}/{}", pod.name_space, pod.name); }

PodEvent EventOn(const Pod& pod, const std::string& node, std::string reason, std::string note) {
  return {.name_space = pod.name_space,
          .pod = pod.name,
          .pod_uid = pod.uid,
          .node = node,
          .reason = reason,
          .action = "Reclaiming",
          .note = std::move(note),
          .key = std::move(reason)};
}

// Another pod has the name, or none: then it is gone all the same.
bool IsGone(const KubeResult& result) {
  return result && (result->status == 404 || result->status == 409);
}

}  // namespace

Reclaimer::Reclaimer(KubeClient& client, const scheduler::StateStore& store,
                     const scheduler::Policy& policy, Metrics& metrics, EventRecorder& events,
                     std::function<bool()> may_act, ReclaimerSettings settings)
    : client_(client),
      store_(store),
      policy_(policy),
      metrics_(metrics),
      events_(events),
      may_act_(std::move(may_act)),
      settings_(settings),
      budget_(policy.reclaim) {}

void Reclaimer::Start() {
  if (IsOn()) LookAgain();
}

void Reclaimer::LookAgain() {
  client_.RunAfter(settings_.period, [this] {
    Look();
    LookAgain();
  });
}

void Reclaimer::StateChanged() {
  if (task_ && task_->stage == Stage::kHeld) GoOn();
}

void Reclaimer::Look() {
  const Clock::time_point now = Clock::now();
  if (!may_act_()) {
    waiting_.clear();
    task_.reset();
    return;
  }
  if (task_) {
    GoOn();
    return;
  }
  const auto snapshot = store_.Read();
  NoteWaiting(*snapshot, now);
  PlanOne(*snapshot, now);
}

void Reclaimer::NoteWaiting(const Snapshot& snapshot, Clock::time_point now) {
  std::erase_if(waiting_, [&](const auto& each) {
    const PodEntry* entry = snapshot.FindPod(each.first);
    return entry == nullptr || entry->phase != scheduler::PodPhase::kPending;
  });
  snapshot.ForEachPod([&](const PodEntry& entry) {
    if (MayReclaim(snapshot, entry)) {
      waiting_.try_emplace(
          entry.pod->uid, Waiting{.since = now,
                                  .not_before = now + std::chrono::seconds(policy_.reclaim.after_s),
                                  .pause_s = policy_.reclaim.hold_s});
    }
  });
}

// Whose pause is over: by priority, then who waits longest.
std::vector<Reclaimer::PodPtr> Reclaimer::Turns(const Snapshot& snapshot,
                                                Clock::time_point now) const {
  std::vector<std::pair<Clock::time_point, PodPtr>> due;
  for (const auto& [uid, waiting] : waiting_) {
    const PodEntry* entry = snapshot.FindPod(uid);
    if (now < waiting.not_before || entry == nullptr || !MayReclaim(snapshot, *entry)) continue;
    due.emplace_back(waiting.since, entry->pod);
  }
  std::ranges::sort(due, [](const auto& a, const auto& b) {
    return std::tuple(-std::int64_t{a.second->priority}, a.first, std::string_view(a.second->uid)) <
           std::tuple(-std::int64_t{b.second->priority}, b.first, std::string_view(b.second->uid));
  });
  std::vector<PodPtr> pods;
  pods.reserve(due.size());
  for (auto& [since, pod] : due) pods.push_back(std::move(pod));
  return pods;
}

void Reclaimer::PlanOne(const Snapshot& snapshot, Clock::time_point now) {
  std::vector<PodPtr> turns = Turns(snapshot, now);
  if (turns.size() > settings_.plans_max) turns.resize(settings_.plans_max);
  if (turns.empty()) return;
  const std::int64_t now_s = NowSeconds();
  const auto spared = budget_.Spared(snapshot, now_s);
  for (PodPtr& pod : turns) {
    auto plan = PlanReclaim(snapshot, *pod, policy_, spared, now_s);
    if (plan && !budget_.Allows(snapshot, plan->victims, now_s)) plan.reset();
    if (!plan) {
      // Behind the others; what changes may make a plan of it at the next look.
      waiting_.at(pod->uid).since = now;
      continue;
    }
    Pause(pod->uid, now);
    if (policy_.reclaim.mode == ReclaimMode::kDryRun) {
      SayWhatWouldBe(snapshot, *pod, *plan);
      continue;
    }
    Begin(std::move(pod), *std::move(plan));
    return;
  }
}

void Reclaimer::Pause(const std::string& uid, Clock::time_point now) {
  Waiting& waiting = waiting_.at(uid);
  waiting.not_before = now + std::chrono::seconds(waiting.pause_s);
  waiting.pause_s = std::min(2 * waiting.pause_s,
                             std::max(policy_.reclaim.hold_s, policy_.reclaim.backoff_s_max));
}

void Reclaimer::SayWhatWouldBe(const Snapshot& snapshot, const Pod& pod, const ReclaimPlan& plan) {
  metrics_.CountReclaim(ReclaimOutcome::kDryRun);
  const std::string note = ReclaimNote(snapshot, pod, plan, true, 0);
  spdlog::info("reclaim for {}: {}", NameOfPod(pod), note);
  events_.Record(EventOn(pod, plan.node, "OffcutWouldReclaim", note));
  for (const PodPtr& victim : plan.victims) {
    events_.Record(
        EventOn(*victim, plan.node, "OffcutWouldEvict", VictimNote(snapshot, pod, *victim, true)));
  }
}

void Reclaimer::Begin(PodPtr pod, ReclaimPlan plan) {
  scheduler::Hold hold{.pod_uid = pod->uid,
                       .node = plan.node,
                       .cause = scheduler::HoldCause::kReclaim,
                       .until_s = NowSeconds() + policy_.reclaim.hold_s,
                       .victim_uids = {},
                       .devices = plan.devices};
  hold.victim_uids.reserve(plan.victims.size());
  for (const PodPtr& victim : plan.victims) hold.victim_uids.push_back(victim->uid);
  task_ = Task{.pod = std::move(pod),
               .plan = std::move(plan),
               .hold = std::move(hold),
               .unseen_end = Clock::now() + settings_.unseen_timeout};
  const std::uint64_t number = ++task_number_;
  client_.Call(HoldRequest(*task_->pod, &task_->hold), [this, number](const KubeResult& result) {
    if (!task_ || number != task_number_) return;
    if (OutcomeOf(result) == CallOutcome::kDone) {
      task_->stage = Stage::kHeld;
      GoOn();
    } else {
      GiveUp(fmt::format("the hold was not written: {}", ResultText(result)));
    }
  });
}

// With every change of the state, and at every look.
void Reclaimer::GoOn() {
  if (task_->stage != Stage::kHeld) return;
  const auto snapshot = store_.Read();
  const PodEntry* entry = snapshot->FindPod(task_->pod->uid);
  const bool is_seen = entry != nullptr && entry->pod->hold == task_->hold;
  if (!is_seen) {
    const bool waits = entry != nullptr && Clock::now() < task_->unseen_end;
    if (!waits) GiveUp("the hold is not seen on the pod");
    return;
  }
  task_->stage = Stage::kTrying;
  SendNext(true);
}

// Whether the pod still waits for just this, its hold counts, and whoever is left to go must go.
// One that has gone by itself is as good as evicted.
bool Reclaimer::IsStillRight(const Snapshot& snapshot) const {
  const PodEntry* entry = snapshot.FindPod(task_->pod->uid);
  if (entry == nullptr || entry->phase != scheduler::PodPhase::kPending) return false;
  const Pod& pod = *entry->pod;
  if (pod.hold != task_->hold || pod.is_terminating || !snapshot.IsHeld(pod.uid)) return false;
  const std::string& node = task_->plan.node;
  if (!pod.nominated_node_name.empty() && pod.nominated_node_name != node) return false;
  std::vector<std::string> left;
  for (std::size_t i = task_->next; i < task_->plan.victims.size(); ++i) {
    const PodEntry* victim = snapshot.FindPod(task_->plan.victims[i]->uid);
    if (victim == nullptr) continue;
    if (victim->node_name != node) return false;
    left.push_back(victim->pod->uid);
  }
  return MustStillGo(snapshot, pod, node, left, policy_, NowSeconds());
}

void Reclaimer::SendNext(bool is_trial) {
  const auto snapshot = store_.Read();
  if (!may_act_() || !IsStillRight(*snapshot)) {
    GiveUp("the state has changed meanwhile");
    return;
  }
  const Pod& victim = *task_->plan.victims[task_->next];
  if (!is_trial) {
    budget_.Count(*snapshot, victim, NowSeconds());
    events_.Record(EventOn(victim, task_->plan.node, "OffcutEvicts",
                           VictimNote(*snapshot, *task_->pod, victim, false)));
    if (task_->next == 0) {
      const std::string note =
          ReclaimNote(*snapshot, *task_->pod, task_->plan, false, task_->hold.until_s);
      spdlog::info("reclaim for {}: {}", NameOfPod(*task_->pod), note);
      events_.Record(EventOn(*task_->pod, task_->plan.node, "OffcutReclaims", note));
    }
  }
  const std::uint64_t number = task_number_;
  client_.Call(EvictionRequest(victim, is_trial), [this, number](const KubeResult& result) {
    if (task_ && number == task_number_) Evicted(result);
  });
}

void Reclaimer::Evicted(const KubeResult& result) {
  const CallOutcome outcome = OutcomeOf(result);
  const bool is_done = outcome == CallOutcome::kDone;
  if (task_->stage == Stage::kEvicting && outcome != CallOutcome::kRefused) {
    task_->may_have_evicted = true;
  }
  if (!is_done && !IsGone(result)) {
    GiveUp(fmt::format("{} may not be evicted: {}", NameOfPod(*task_->plan.victims[task_->next]),
                       ResultText(result)));
    return;
  }
  if (task_->stage == Stage::kEvicting && is_done) metrics_.CountEviction();
  const bool is_last = ++task_->next == task_->plan.victims.size();
  if (!is_last) {
    SendNext(task_->stage == Stage::kTrying);
  } else if (task_->stage == Stage::kTrying) {
    task_->stage = Stage::kEvicting;
    task_->next = 0;
    SendNext(false);
  } else {
    metrics_.CountReclaim(ReclaimOutcome::kDone);
    task_.reset();
  }
}

void Reclaimer::GiveUp(const std::string& why) {
  const Task task = *std::exchange(task_, std::nullopt);
  metrics_.CountReclaim(ReclaimOutcome::kGivenUp);
  spdlog::warn("reclaim for {} on node {} given up: {}", NameOfPod(*task.pod), task.plan.node, why);
  // What somebody has left, or may have, is kept for whom he left it.
  if (may_act_() && !task.may_have_evicted) TakeOff(*task.pod);
}

// Where it fails the hold ends at its deadline.
void Reclaimer::TakeOff(const Pod& pod) {
  client_.Call(HoldRequest(pod, nullptr), [name = NameOfPod(pod)](const KubeResult& result) {
    if (OutcomeOf(result) == CallOutcome::kDone || IsGone(result)) return;
    spdlog::warn("the hold of {} was not taken off: {}", name, ResultText(result));
  });
}

}  // namespace offcut::api
