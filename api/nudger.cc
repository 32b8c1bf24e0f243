#include "api/nudger.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "api/binding.h"
#include "scheduler/decision.h"
#include "scheduler/quota_check.h"

namespace offcut::api {
namespace {

using scheduler::Pod;
using scheduler::Prefilter;
using scheduler::Snapshot;

// The first of the nodes that takes the pod, or an empty view.
std::string_view FirstFit(const Snapshot& snapshot, const Pod& pod,
                          const std::vector<std::string>& node_names,
                          const scheduler::Policy& policy) {
  const auto verdicts = Filter(snapshot, pod, node_names, policy, Prefilter::kByKubeScheduler);
  const auto fit = std::ranges::find_if(verdicts, &scheduler::Verdict::fits);
  if (fit == verdicts.end()) return {};
  return node_names[static_cast<std::size_t>(fit - verdicts.begin())];
}

// Those of the nodes that its tenant's quota kept the pod off, and does no longer.
std::vector<std::string> QuotaFreed(const Snapshot& before, const Snapshot& now, const Pod& pod,
                                    const std::vector<std::string>& node_names,
                                    const scheduler::Policy& policy) {
  if (before.accounts() == now.accounts()) return {};
  scheduler::QuotaCheck then(before, pod, policy, Prefilter::kByKubeScheduler);
  scheduler::QuotaCheck by_now(now, pod, policy, Prefilter::kByKubeScheduler);
  if (!then.Applies()) return {};
  std::vector<std::string> freed;
  for (const std::string& name : node_names) {
    const scheduler::Node* node = now.FindNode(name);
    if (node == nullptr || then.Of(*node).fits()) continue;
    if (!by_now.Applies() || by_now.Of(*node).fits()) freed.push_back(name);
  }
  return freed;
}

// Pods that are judged alike, by the same changes of the same nodes.
struct Judged {
  const scheduler::DeviceRequest* request;
  scheduler::Payer payer;
  const std::vector<std::string>* node_names;
};

bool IsAlike(const Judged& a, const Judged& b) {
  return *a.request == *b.request && a.payer == b.payer && a.node_names == b.node_names;
}

// Whoever put it there.
bool HasPlace(const Snapshot& snapshot, const std::string& uid) {
  const scheduler::PodEntry* entry = snapshot.FindPod(uid);
  return entry != nullptr && entry->phase != scheduler::PodPhase::kPending;
}

constexpr std::chrono::minutes kWarningPeriod{1};

// Whether the nudge has not come to the pod, which is still there: not another one of that name.
bool IsLost(const KubeResult& result) {
  const bool is_gone = result && (result->status == 404 || result->status == 409);
  return OutcomeOf(result) != CallOutcome::kDone && !is_gone;
}

bool IsSameExpectation(const scheduler::Expectation& a, const scheduler::Expectation& b) {
  return a.pod == b.pod && a.kind == b.kind;
}

}  // namespace

std::vector<std::string> ChangedNodes(const Snapshot& before, const Snapshot& now) {
  std::vector<std::string> changed;
  const auto old_nodes = before.nodes();
  auto old = old_nodes.begin();
  for (const auto& node : now.nodes()) {
    while (old != old_nodes.end() && (*old)->name() < node->name()) ++old;
    const bool is_same = old != old_nodes.end() && *old == node &&
                         std::ranges::equal(before.ExpectedOn(node->name()),
                                            now.ExpectedOn(node->name()), IsSameExpectation);
    if (!is_same) changed.push_back(node->name());
  }
  return changed;
}

Nudger::Nudger(KubeClient& client, scheduler::StateStore& store, const scheduler::Policy& policy,
               NudgerSettings settings)
    : client_(client),
      store_(store),
      policy_(policy),
      settings_(settings),
      last_node_names_(std::make_shared<const std::vector<std::string>>()),
      checked_(store.Read()) {}

void Nudger::Refused(std::shared_ptr<const Pod> pod, std::vector<std::string> node_names,
                     std::shared_ptr<const Snapshot> judged_on) {
  std::ranges::sort(node_names);
  client_.Post([this, pod = std::move(pod), names = std::move(node_names),
                judged_on = std::move(judged_on)]() mutable {
    const std::string uid = pod->uid;
    if (waiting_.size() >= settings_.pods_max && !waiting_.contains(uid)) return;
    if (*last_node_names_ != names) {
      last_node_names_ = std::make_shared<const std::vector<std::string>>(std::move(names));
    }
    // A claim that has come since and ended again leaves no trace between the state that was last
    // looked at and the newest; against the one that was judged on it does.
    const bool is_other = judged_on != checked_;
    if (!is_other) judged_on.reset();
    waiting_[uid] = {.pod = std::move(pod),
                     .node_names = last_node_names_,
                     .refused_at = Clock::now(),
                     .judged_on = std::move(judged_on)};
    if (is_other || checked_ != store_.Read()) StateChanged();
  });
}

void Nudger::Forget(std::string uid) {
  client_.Post([this, uid = std::move(uid)] { waiting_.erase(uid); });
}

void Nudger::StateChanged() {
  if (is_scheduled_ || waiting_.empty()) {
    // Who is refused from now on is refused on a state as new as this.
    if (waiting_.empty()) checked_ = store_.Read();
    return;
  }
  is_scheduled_ = true;
  client_.RunAfter(settings_.delay, [this] { Check(); });
}

std::vector<const Nudger::Waiting*> Nudger::InOrder() const {
  std::vector<const Waiting*> pods;
  pods.reserve(waiting_.size());
  for (const auto& [uid, waiting] : waiting_) pods.push_back(&waiting);
  std::ranges::sort(pods, [](const Waiting* a, const Waiting* b) {
    return std::tuple(-std::int64_t{a->pod->priority}, a->pod->created_s,
                      std::string_view(a->pod->uid)) < std::tuple(-std::int64_t{b->pod->priority},
                                                                  b->pod->created_s,
                                                                  std::string_view(b->pod->uid));
  });
  return pods;
}

void Nudger::Check() {
  is_scheduled_ = false;
  const auto now = store_.Read();
  const auto changed = ChangedNodes(*checked_, *now);
  std::erase_if(waiting_, [&](const auto& item) { return HasPlace(*now, item.first); });
  Snapshot simulated = *now;
  std::vector<std::string> woken;
  std::vector<Judged> hopeless;  // since the last one that was placed
  bool any_too_young = false;
  is_full_ = false;
  for (const Waiting* waiting : InOrder()) {
    is_full_ = patches_open_ + woken.size() >= settings_.patches_max;
    if (is_full_) break;
    const Pod& pod = *waiting->pod;
    const Judged judged{&pod.request, PayerIn(*now, pod), waiting->node_names.get()};
    const auto is_alike = [&](const Judged& other) { return IsAlike(judged, other); };
    // One that is judged against the same changes, and has no place kept for itself.
    const bool is_plain = waiting->judged_on == nullptr && pod.nominated_node_name.empty();
    if (is_plain && std::ranges::any_of(hopeless, is_alike)) continue;
    const auto candidates = Candidates(*waiting, *now, changed);
    const std::string_view node_name = FirstFit(simulated, pod, candidates, policy_);
    if (node_name.empty()) {
      if (is_plain) hopeless.push_back(judged);
      continue;
    }
    simulated.Claim(waiting->pod, node_name);
    hopeless.clear();
    if (Clock::now() - waiting->refused_at < settings_.delay) {
      any_too_young = true;  // kube-scheduler is at it
    } else {
      woken.push_back(pod.uid);
    }
  }
  for (const std::string& uid : woken) Patch(uid, checked_);
  if (is_full_) return;  // the same change is looked at again once patches are answered
  if (any_too_young) {
    StateChanged();  // likewise
  } else {
    checked_ = now;
    for (auto& [uid, waiting] : waiting_) waiting.judged_on.reset();
  }
}

// The nodes that have changed since the pod was refused there, or its tenant's quota for them.
std::vector<std::string> Nudger::Candidates(const Waiting& waiting, const Snapshot& now,
                                            const std::vector<std::string>& changed) const {
  const std::vector<std::string>& names = *waiting.node_names;
  const Snapshot& before = waiting.judged_on == nullptr ? *checked_ : *waiting.judged_on;
  std::vector<std::string> changed_ones;
  if (waiting.judged_on == nullptr) {
    std::ranges::set_intersection(changed, names, std::back_inserter(changed_ones));
  } else {
    std::ranges::set_intersection(ChangedNodes(before, now), names,
                                  std::back_inserter(changed_ones));
  }
  std::vector<std::string> candidates;
  std::ranges::set_union(changed_ones, QuotaFreed(before, now, *waiting.pod, names, policy_),
                         std::back_inserter(candidates));
  return candidates;
}

// `base`: the state against which the changes were found that wake it.
void Nudger::Patch(const std::string& uid, std::shared_ptr<const Snapshot> base) {
  Waiting waiting = std::move(waiting_.extract(uid).mapped());
  if (waiting.judged_on == nullptr) waiting.judged_on = std::move(base);
  spdlog::info("nudge {}/{}: the newest state would take it", waiting.pod->name_space,
               waiting.pod->name);
  ++patches_open_;
  Send(*waiting.pod, [this, waiting](const KubeResult& result) {
    --patches_open_;
    if (std::exchange(is_full_, false)) StateChanged();
    if (OutcomeOf(result) == CallOutcome::kDone) {
      client_.RunAfter(settings_.follow_up, [this, base = waiting.judged_on] { LookAgain(base); });
    } else {
      Failed(waiting, result);
    }
  });
}

void Nudger::Send(const Pod& pod, KubeDone done) {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  const auto now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  const nlohmann::json patch = {
      {"metadata",
       {{"uid", pod.uid},  // a precondition
        {"annotations", {{std::string(kNudgeAnnotation), std::to_string(now_ms)}}}}}};
  client_.Call({.method = "PATCH",
                .target = PodPath(pod.name_space, pod.name),
                .content_type = "application/merge-patch+json",
                .body = patch.dump(),
                .limit = KubeLimit::kLast},
               std::move(done));
}

void Nudger::Remind(std::shared_ptr<const Pod> pod) {
  client_.RunAfter(settings_.follow_up, [this, pod = std::move(pod)] {
    const auto snapshot = store_.Read();
    if (snapshot->FindPod(pod->uid) == nullptr || HasPlace(*snapshot, pod->uid)) return;
    spdlog::info("nudge {}/{}: it has waited long enough", pod->name_space, pod->name);
    Send(*pod, [this, pod](const KubeResult& result) {
      if (!IsLost(result)) return;
      WarnOf(*pod, result);
      Remind(pod);
    });
  });
}

void Nudger::WarnOf(const Pod& pod, const KubeResult& result) {
  if (Clock::now() - warned_at_ <= kWarningPeriod) return;
  warned_at_ = Clock::now();
  spdlog::warn("nudge {}: {}", pod.name, ResultText(result));
}

void Nudger::Failed(const Waiting& waiting, const KubeResult& result) {
  WarnOf(*waiting.pod, result);
  if (!IsLost(result)) {  // the place is for the next one
    LookAgain(waiting.judged_on);
    return;
  }
  client_.RunAfter(settings_.retry_delay, [this, waiting] {
    waiting_.try_emplace(waiting.pod->uid, waiting);  // a later refusal knows more
    LookAgain(waiting.judged_on);
  });
}

// At what has changed since `base`, for all who wait.
void Nudger::LookAgain(const std::shared_ptr<const Snapshot>& base) {
  checked_ = base;
  StateChanged();
}

}  // namespace offcut::api
