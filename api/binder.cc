#include "api/binder.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "api/kube_status.h"
#include "api/kube_time.h"
#include "api/logging.h"
#include "api/pod_json.h"

namespace offcut::api {
namespace {

using scheduler::Snapshot;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::string_view kGoneText = "pod is gone";
// Of the time for an answer, what a last try at a busy server must have left.
constexpr int kLastTryPart = 8;
constexpr std::string_view kLateText =
    "API server did not answer in time; devices stay reserved until it does";

milliseconds Until(steady_clock::time_point time) {
  return std::max(milliseconds{0}, std::chrono::ceil<milliseconds>(time - steady_clock::now()));
}

// A pod as the API server answers it, or nullopt where it cannot be read.
std::optional<scheduler::Pod> PodOf(const KubeResult& result, const scheduler::Policy& policy) {
  if (!result || result->status != 200) return std::nullopt;
  auto parsed = ParsePodText(result->body, policy.resources);
  if (!parsed) return std::nullopt;
  return std::move(parsed->pod);
}

}  // namespace

Binder::Binder(KubeClient& client, scheduler::StateStore& store, const scheduler::Policy& policy,
               RecentPods& recent_pods, Metrics& metrics, BinderSettings settings,
               std::function<void(const BindResult&)> observer)
    : client_(client),
      store_(store),
      policy_(policy),
      recent_pods_(recent_pods),
      metrics_(metrics),
      settings_(std::move(settings)),
      observer_(std::move(observer)) {}

void Binder::Bind(ExtenderBindingArgs args, const Answer& answer) {
  const Time end = steady_clock::now() + settings_.answer_timeout;
  const bool runs =
      client_.Post([this, args = std::move(args), answer, end] { BindHere(args, answer, end); });
  if (!runs) answer("offcut is shutting down");
}

void Binder::BindHere(const ExtenderBindingArgs& args, const Answer& answer, Time end) {
  const auto snapshot = store_.Read();
  const scheduler::PodEntry* known = snapshot->FindPod(args.pod_uid);
  // The watch has seen it go while its binding is open. Devices that were reserved anew would be
  // confirmed by the answer to that binding, and nobody would free them.
  if (known == nullptr && open_.contains(args.pod_uid)) return answer(std::string(kGoneText));
  const auto pod = known != nullptr ? known->pod : recent_pods_.Find(args.pod_uid);
  if (pod != nullptr) {
    scheduler::Pod asked = *pod;
    SetWouldEnd(asked, NowSeconds());
    BindKnown(args, asked, answer, end);
  } else {
    BindUnknown(args, answer, end);
  }
}

void Binder::BindKnown(const ExtenderBindingArgs& args, const scheduler::Pod& pod,
                       const Answer& answer, Time end) {
  auto binding = ReserveForBind(store_, policy_, metrics_, args, pod);
  if (!binding) {
    answer(std::move(binding.error()));
  } else if (binding->is_bound) {
    answer({});
  } else {
    Start(*std::move(binding), answer, end);
  }
}

// A restart between filter and bind, or a watch that lags: the API server knows the pod.
void Binder::BindUnknown(const ExtenderBindingArgs& args, const Answer& answer, Time end) {
  KubeRequest request{.target = PodPath(args.pod_namespace, args.pod_name),
                      .timeout = settings_.answer_timeout};
  client_.Call(std::move(request), [this, args, answer, end](const KubeResult& result) {
    const auto pod = PodOf(result, policy_);
    if (!pod || pod->uid != args.pod_uid || pod->is_finished) {
      LogBind(args.pod_namespace, args.pod_name, args.node, "pod.unknown");
      const bool has_read = result && (result->status == 200 || result->status == 404);
      answer(has_read ? "pod is not known to offcut"
                      : "pod is not known to offcut, and was not read: " + ResultText(result));
      return;
    }
    // Reserving is for pods that wait; this one may stand on a node already.
    store_.Update([&](Snapshot& next) {
      if (next.FindPod(pod->uid) == nullptr) next.PutPod(*pod);
    });
    BindKnown(args, *pod, answer, end);
  });
}

void Binder::HoldUntil(steady_clock::time_point time) {
  const auto hold = [this, time] { held_until_ = std::max(held_until_, time); };
  // Posted from the client's own thread it could come behind a bind that another thread has posted
  // meanwhile.
  if (client_.RunsInThisThread()) {
    hold();
  } else {
    client_.Post(hold);
  }
}

void Binder::Start(OpenBinding binding, const Answer& answer, Time end) {
  const std::string uid = binding.args.pod_uid;
  const auto [found, is_new] = open_.try_emplace(uid);
  Open& open = found->second;
  if (is_new) open.binding = std::move(binding);
  const std::uint64_t waiter = ++last_waiter_;
  open.waiters.push_back({.id = waiter, .answer = answer, .end = end});
  client_.RunAfter(Until(end), [this, uid, waiter] { GiveUpWaiting(uid, waiter); });
  if (!open.is_calling) Post(uid);
}

void Binder::Post(const std::string& uid) {
  Open& open = open_.at(uid);
  AnswerTheLate(open);
  if (open.waiters.empty()) {
    NobodyWaits(uid, open);
    return;
  }
  if (is_held_ || steady_clock::now() < held_until_) {
    Again(uid, is_held_ ? settings_.retry_delay : Until(held_until_));
    return;
  }
  if (!settings_.may_bind()) {
    NotLeading(uid, open);
    return;
  }
  if (std::exchange(open.was_delayed, false) && !open.may_have_acted) {
    if (const auto again = ReserveAgain(open); !again) {
      GiveBack(uid, again.error());
      return;
    }
  }
  open.is_calling = true;
  open.last_post = steady_clock::now();
  const ExtenderBindingArgs& args = open.binding.args;
  // Not a whole time for an answer from now: it may wait for its turn, or for a connection, and a
  // successor waits for what is sent within the time of a bind alone.
  KubeRequest request{.method = "POST",
                      .target = PodPath(args.pod_namespace, args.pod_name) + "/binding",
                      .content_type = "application/json",
                      .body = PrintBinding(open.binding),
                      .timeout = Until(LastEnd(open)),
                      .limit = KubeLimit::kBindings};
  client_.Call(std::move(request), [this, uid](const KubeResult& result) { Posted(uid, result); });
}

// A predecessor's binding that was waited for may have taken these very devices meanwhile.
std::expected<void, std::string> Binder::ReserveAgain(Open& open) {
  const ExtenderBindingArgs args = open.binding.args;
  const auto snapshot = store_.Read();
  const scheduler::PodEntry* entry = snapshot->FindPod(args.pod_uid);
  if (entry == nullptr) return std::unexpected(std::string(kGoneText));
  auto binding = ReserveForBind(store_, policy_, metrics_, args, *entry->pod,
                                [&](Snapshot& next) -> std::expected<void, std::string> {
                                  next.Unreserve(args.pod_uid);
                                  return {};
                                });
  if (!binding) return std::unexpected(std::move(binding.error()));
  open.binding = *std::move(binding);
  return {};
}

void Binder::NotLeading(const std::string& uid, Open& open) {
  if (!open.may_have_acted) {
    GiveBack(uid, "offcut is not the leader");
    return;
  }
  for (const Waiter& waiter : std::exchange(open.waiters, {})) {
    waiter.answer("offcut is not the leader");
  }
  Again(uid, settings_.settle_period);
}

void Binder::Posted(const std::string& uid, const KubeResult& result) {
  Open& open = open_.at(uid);
  open.is_calling = false;
  switch (OutcomeOf(result)) {
    case CallOutcome::kDone:
      Confirm(uid);
      return;
    case CallOutcome::kRefused:
      Refused(uid, open, result);
      return;
    case CallOutcome::kUnknown:
      spdlog::warn("bind {}/{}: outcome unknown: {}", open.binding.args.pod_namespace,
                   open.binding.args.pod_name, ResultText(result));
      open.may_have_acted = true;
      ReadPod(uid);
      return;
  }
}

void Binder::Refused(const std::string& uid, Open& open, const KubeResult& result) {
  if (!result) AnswerTheLate(open);  // time was too short to send it: they may ask again
  const bool is_busy = !result || result->status == 429;
  const milliseconds asked = std::chrono::seconds{result ? result->retry_after_s : 0};
  if (const auto pause = is_busy ? PauseFor(open, asked) : std::nullopt) {
    Again(uid, *pause);
    return;
  }
  // An earlier POST may be why this one is refused.
  if (open.may_have_acted || (result && result->status == 409)) {
    ReadPod(uid);
    return;
  }
  if (result && result->status == 404) {
    Gone(uid, ResultText(result));
  } else {
    GiveBack(uid, ResultText(result));
  }
}

// How long to wait before a busy server is asked again, or nullopt where the answer would come too
// late for whoever waits: the devices are for others meanwhile. Hundreds of pods that ask as often
// as at first would keep it busy. The last pause is cut, so that a last try has the time that it
// takes.
std::optional<milliseconds> Binder::PauseFor(Open& open, milliseconds asked) {
  if (open.waiters.empty()) return std::nullopt;
  const milliseconds room = Until(LastEnd(open)) - settings_.answer_timeout / kLastTryPart;
  if (room < std::max(settings_.retry_delay, asked)) return std::nullopt;
  open.busy_pause = std::max(settings_.retry_delay, 2 * open.busy_pause);
  std::uniform_int_distribution<milliseconds::rep> more(0, open.busy_pause.count() / 4);
  return std::max(asked, std::min(open.busy_pause + milliseconds{more(random_)}, room));
}

void Binder::ReadPod(const std::string& uid) {
  Open& open = open_.at(uid);
  open.is_calling = true;
  const ExtenderBindingArgs& args = open.binding.args;
  KubeRequest request{.target = PodPath(args.pod_namespace, args.pod_name),
                      .timeout = settings_.answer_timeout};
  client_.Call(std::move(request), [this, uid](const KubeResult& result) { PodRead(uid, result); });
}

void Binder::PodRead(const std::string& uid, const KubeResult& result) {
  Open& open = open_.at(uid);
  open.is_calling = false;
  if (result && result->status == 404) {
    Gone(uid, std::string(kGoneText));
    return;
  }
  const auto pod = PodOf(result, policy_);
  if (!pod) {  // nobody to ask just now
    spdlog::warn("bind {}/{}: outcome not found out yet: {}", open.binding.args.pod_namespace,
                 open.binding.args.pod_name, ResultText(result));
    open.read_pause = std::clamp(open.read_pause * 2, settings_.settle_period,
                                 std::max(settings_.settle_period, settings_.read_pause_max));
    const milliseconds asked = std::chrono::seconds{result ? result->retry_after_s : 0};
    Again(uid,
          std::clamp(asked, open.read_pause, std::max(open.read_pause, settings_.read_pause_max)));
    return;
  }
  open.read_pause = milliseconds{0};
  switch (StateOf(open.binding, *pod)) {
    case BindingState::kBound:
      TakeOver(*pod);
      End(uid, {});
      return;
    case BindingState::kElsewhere:
      metrics_.CountBindConflict();
      TakeOver(*pod);
      End(uid, "pod has been bound by another");
      return;
    case BindingState::kGone:
      Gone(uid, std::string(kGoneText));
      return;
    case BindingState::kUnbound:
      StillUnbound(uid, open);
      return;
  }
}

// The watch may have brought the pod's end since it was read; then nothing would end it again.
void Binder::TakeOver(const scheduler::Pod& pod) {
  store_.Update([&](Snapshot& next) {
    if (next.FindPod(pod.uid) != nullptr) next.PutPod(pod);
  });
}

void Binder::StillUnbound(const std::string& uid, Open& open) {
  if (!open.may_have_acted) {  // a conflict: it is being deleted, or has a scheduling gate
    metrics_.CountBindConflict();
    GiveBack(uid, "pod cannot be bound now: it is being deleted or gated");
  } else if (!open.waiters.empty()) {
    Again(uid, settings_.retry_delay);
  } else if (steady_clock::now() - open.last_post >= settings_.settle_time) {
    GiveBack(uid, "binding was never carried out");
  } else {
    Again(uid, settings_.settle_period);
  }
}

// With somebody who waits, the binding is sent again: the same write, or a conflict that tells.
// Without, it is only looked after.
void Binder::Again(const std::string& uid, milliseconds delay) {
  open_.at(uid).is_calling = true;
  open_.at(uid).was_delayed = true;
  client_.RunAfter(delay, [this, uid] { Post(uid); });
}

// Requires: somebody waits.
Binder::Time Binder::LastEnd(const Open& open) {
  return std::ranges::max(open.waiters, {}, &Waiter::end).end;
}

// After a pause of the whole process every timer is due at once, and one that sends again may come
// before the one that gives up. By then a successor may have given the devices to others: it waits
// for what was sent in time.
void Binder::AnswerTheLate(Open& open) {
  const auto is_late = [now = steady_clock::now()](const Waiter& waiter) {
    return waiter.end <= now;
  };
  std::vector<Waiter> late;
  std::ranges::copy_if(open.waiters, std::back_inserter(late), is_late);
  std::erase_if(open.waiters, is_late);
  for (const Waiter& waiter : late) waiter.answer(std::string(kLateText));
}

void Binder::NobodyWaits(const std::string& uid, const Open& open) {
  if (open.may_have_acted) {
    ReadPod(uid);
  } else {
    GiveBack(uid, "API server did not take the binding");
  }
}

void Binder::GiveUpWaiting(const std::string& uid, std::uint64_t waiter) {
  const auto found = open_.find(uid);
  if (found == open_.end()) return;
  std::vector<Waiter>& waiters = found->second.waiters;
  const auto who = std::ranges::find(waiters, waiter, &Waiter::id);
  if (who == waiters.end()) return;
  const Waiter answered = std::move(*who);
  waiters.erase(who);
  answered.answer(std::string(kLateText));
}

void Binder::Confirm(const std::string& uid) {
  store_.Update([&](Snapshot& next) { next.Confirm(uid); });
  End(uid, {});
}

void Binder::GiveBack(const std::string& uid, const std::string& error) {
  store_.Update([&](Snapshot& next) { next.Unreserve(uid); });
  End(uid, error);
}

// Of a pod that was known from a filter or a read alone no watch will bring the end.
void Binder::Gone(const std::string& uid, const std::string& error) {
  store_.Update([&](Snapshot& next) { next.RemovePod(uid); });
  End(uid, error);
}

void Binder::End(const std::string& uid, const std::string& error) {
  auto ended = open_.extract(uid);
  Open& open = ended.mapped();
  const ExtenderBindingArgs& args = open.binding.args;
  LogBind(args.pod_namespace, args.pod_name, args.node,
          error.empty() ? BoundText(open.binding.record) : error);
  // Before anybody asks again because of the answer.
  if (observer_) observer_({.args = args, .record = open.binding.record, .error = error});
  for (const Waiter& waiter : open.waiters) waiter.answer(error);
}

bool Binder::MayStillBind() const {
  return std::ranges::any_of(
      open_, [](const auto& item) { return item.second.last_post != steady_clock::time_point{}; });
}

void Binder::Stop() {
  for (auto& [uid, open] : open_) {
    for (const Waiter& waiter : std::exchange(open.waiters, {})) {
      waiter.answer("offcut is shutting down");
    }
  }
}

void Binder::Verify(const std::string& pod_uid) {
  const auto snapshot = store_.Read();
  const scheduler::PodEntry* entry = snapshot->FindPod(pod_uid);
  if (entry == nullptr || IsSeen(*entry)) return;
  KubeRequest request{.target = PodPath(entry->pod->name_space, entry->pod->name)};
  client_.Call(std::move(request), [this, pod_uid](const KubeResult& result) {
    const auto pod = PodOf(result, policy_);
    const bool is_gone = (result && result->status == 404) || (pod && pod->uid != pod_uid);
    if (is_gone) {
      store_.Update([&](Snapshot& next) { next.RemovePod(pod_uid); });
    } else if (pod) {
      TakeOver(*pod);
    } else {
      client_.RunAfter(settings_.settle_period, [this, pod_uid] { Verify(pod_uid); });
    }
  });
}

}  // namespace offcut::api
