#include "api/gate_keeper.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "api/binding.h"
#include "api/pod_membership.h"
#include "scheduler/gates.h"

namespace offcut::api {
namespace {

using scheduler::Pod;
using scheduler::PodEntry;
using scheduler::Snapshot;

// Short, so that what was sent as leader has come to an end before another may lead.
constexpr std::chrono::seconds kPatchTimeout{4};
constexpr std::chrono::minutes kWarningPeriod{1};

bool IsGated(const PodEntry& entry) {
  return entry.phase == scheduler::PodPhase::kPending && entry.pod->has_quota_gate;
}

// A strategic merge patch: list items by name, so that it does not matter which gates others have
// taken off meanwhile. The UID is a precondition.
std::string LiftPatch(const Pod& pod) {
  return nlohmann::json(
             {{"metadata", {{"uid", pod.uid}}},
              {"spec",
               {{"schedulingGates", {{{"$patch", "delete"}, {"name", std::string(kQuotaGate)}}}}}}})
      .dump();
}

using GatedPods = std::map<std::string, std::uint64_t, std::less<>>;

// By the tenant's name; empty: none.
GatedPods GatedByTenant(const Snapshot& snapshot) {
  std::map<int, std::uint64_t> counts;
  const scheduler::Accounts* accounts = snapshot.accounts();
  snapshot.ForEachPod([&](const PodEntry& entry) {
    if (!IsGated(entry)) return;
    ++counts[accounts == nullptr ? scheduler::kNoTenant
                                 : TenantOf(accounts->tenancy(), *entry.pod)];
  });
  GatedPods by_name;
  for (const auto& [tenant, count] : counts) {
    const bool has_name = tenant != scheduler::kNoTenant;
    by_name[has_name ? std::string(NameOf(accounts->tenancy(), tenant)) : ""] = count;
  }
  return by_name;
}

}  // namespace

GateKeeper::GateKeeper(KubeClient& client, const scheduler::StateStore& store, Metrics& metrics,
                       std::function<bool()> may_lift, GateKeeperSettings settings)
    : client_(client),
      store_(store),
      metrics_(metrics),
      may_lift_(std::move(may_lift)),
      settings_(settings),
      backoff_(settings.backoff, std::random_device()()) {}

void GateKeeper::LookWithin(std::chrono::milliseconds delay) {
  const Clock::time_point due = Clock::now() + delay;
  if (timer_ != 0 && due_ <= due) return;
  if (timer_ != 0) client_.Cancel(timer_);
  due_ = due;
  timer_ = client_.RunAfter(delay, [this] {
    timer_ = 0;
    Look();
  });
}

void GateKeeper::Look() {
  const std::shared_ptr<const Snapshot> shown = store_.Read();
  const GatedPods gated = GatedByTenant(*shown);
  metrics_.SetGatedPods(gated);
  if (!may_lift_()) {
    lifts_.clear();
    return;
  }
  ForgetWhatIsSeen(*shown);
  const Clock::time_point now = Clock::now();
  if (now >= not_before_) {
    SendAll(*shown);
  } else {
    LookWithin(std::chrono::ceil<std::chrono::milliseconds>(not_before_ - now));
  }
  if (!gated.empty()) LookWithin(settings_.period);
}

void GateKeeper::ForgetWhatIsSeen(const Snapshot& shown) {
  const Clock::time_point now = Clock::now();
  std::erase_if(lifts_, [&](const auto& item) {
    const auto& [uid, lift] = item;
    const PodEntry* entry = shown.FindPod(uid);
    if (entry == nullptr || !IsGated(*entry)) return true;
    return (lift.stage == Stage::kLifted || lift.stage == Stage::kAside) && now >= lift.ends;
  });
}

// The state as it will be shown. What is left aside takes part in nothing.
Snapshot GateKeeper::WithLifts(const Snapshot& shown) const {
  Snapshot expected = shown;
  for (const auto& [uid, lift] : lifts_) {
    const PodEntry* entry = shown.FindPod(uid);
    if (entry == nullptr) continue;
    if (lift.stage == Stage::kAside) {
      expected.RemovePod(uid);
    } else {
      Pod pod = *entry->pod;
      pod.has_quota_gate = false;
      expected.PutPod(std::move(pod));
    }
  }
  return expected;
}

void GateKeeper::SendAll(const Snapshot& shown) {
  std::vector<std::string> uids;
  for (const auto& [uid, lift] : lifts_) {
    if (lift.stage == Stage::kUnknown) uids.push_back(uid);
  }
  const std::size_t taken = in_flight_ + uids.size();
  if (taken < settings_.in_flight_max) {
    const auto turns = GatesToLift(WithLifts(shown), settings_.in_flight_max - taken);
    uids.insert(uids.end(), turns.begin(), turns.end());
  }
  for (const std::string& uid : uids) {
    if (const PodEntry* entry = shown.FindPod(uid); entry != nullptr) Send(*entry->pod);
  }
}

void GateKeeper::Send(const Pod& pod) {
  lifts_[pod.uid] = {.stage = Stage::kSent, .ends = {}};
  ++in_flight_;
  client_.Call({.method = "PATCH",
                .target = PodPath(pod.name_space, pod.name),
                .content_type = "application/strategic-merge-patch+json",
                .body = LiftPatch(pod),
                .timeout = kPatchTimeout},
               [this, uid = pod.uid,
                name = fmt::format("{}/{}", pod.name_space, pod.name)](const KubeResult& result) {
                 --in_flight_;
                 Answered(uid, name, result);
                 StateChanged();
               });
}

void GateKeeper::Answered(const std::string& uid, const std::string& name,
                          const KubeResult& result) {
  if (OutcomeOf(result) == CallOutcome::kDone) {
    metrics_.CountLiftedGate();
    spdlog::info("gate lifted {}: its turn, and quota has room", name);
    backoff_.Reset();
  }
  const auto known = lifts_.find(uid);
  if (known == lifts_.end() || known->second.stage != Stage::kSent) return;  // seen, or not ours
  Lift& lift = known->second;
  if (OutcomeOf(result) == CallOutcome::kDone) {
    lift = {.stage = Stage::kLifted, .ends = Clock::now() + settings_.unseen_timeout};
    return;
  }
  const int status = result ? result->status : 0;
  if (status == 404 || status == 409) {  // gone, or another pod of that name: not shown yet
    LeaveAside(uid, settings_.unseen_timeout);
    return;
  }
  Warn(name, result);
  if (status >= 400 && status < 500 && status != 429) {
    LeaveAside(uid, settings_.aside_time);
    return;
  }
  // Not this pod's fault. Calls that were sent together fail together.
  const Clock::time_point now = Clock::now();
  if (now >= not_before_) not_before_ = now + backoff_.Next(now);
  if (OutcomeOf(result) == CallOutcome::kUnknown) {
    lift.stage = Stage::kUnknown;
  } else {
    lifts_.erase(known);
  }
}

void GateKeeper::LeaveAside(const std::string& uid, std::chrono::milliseconds time) {
  lifts_[uid] = {.stage = Stage::kAside, .ends = Clock::now() + time};
}

void GateKeeper::Warn(const std::string& name, const KubeResult& result) {
  if (Clock::now() - warned_at_ <= kWarningPeriod) return;
  warned_at_ = Clock::now();
  spdlog::warn("gate of {} not lifted: {}", name, ResultText(result));
}

}  // namespace offcut::api
