#include "api/metrics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace offcut::api {
namespace {

// From a names-only filter of a small cluster to half of kube-scheduler's default timeout of 5 s.
const prometheus::Histogram::BucketBoundaries kDurationBucketsS{.0005, .001, .0025, .005, .01, .025,
                                                                .05,   .1,   .25,   .5,   1,   2.5};

constexpr std::array<std::string_view, 4> kVerbNames{"filter", "prioritize", "preempt", "bind"};

// The statuses that the routes answer with. Any other is labelled "other", so that the number of
// series has a limit.
constexpr std::array<int, 8> kStatuses{200, 400, 404, 405, 413, 415, 500, 503};
constexpr std::size_t kCodes = kStatuses.size() + 1;

std::size_t CodeIndex(int status) {
  return static_cast<std::size_t>(std::ranges::find(kStatuses, status) - kStatuses.begin());
}

std::string CodeName(std::size_t index) {
  return index < kStatuses.size() ? fmt::format("{}", kStatuses[index]) : "other";
}

template <typename T>
prometheus::Family<T>& AddFamily(prometheus::detail::Builder<T> builder,
                                 prometheus::Registry& registry, const char* name,
                                 const char* help) {
  return builder.Name(name).Help(help).Register(registry);
}

}  // namespace

std::string_view NameOf(ExtenderVerb verb) { return kVerbNames[static_cast<std::size_t>(verb)]; }

struct Metrics::Series {
  using Counters = prometheus::Family<prometheus::Counter>;
  using Gauges = prometheus::Family<prometheus::Gauge>;
  using Histograms = prometheus::Family<prometheus::Histogram>;

  prometheus::Registry registry;
  Histograms& duration_family;
  Counters& rejection_family;
  Counters& accepted_family;
  Counters& shed_family;
  Counters& refused_family;
  Gauges& pods_family;
  Gauges& watch_family;
  Gauges& gated_family;
  prometheus::Gauge* nodes = nullptr;
  prometheus::Counter* bind_conflicts = nullptr;
  prometheus::Counter* drift = nullptr;
  prometheus::Counter* events_dropped = nullptr;
  prometheus::Counter* ghosts = nullptr;
  prometheus::Counter* gates_lifted = nullptr;
  std::array<prometheus::Counter*, 3> reclaims{};  // by ReclaimOutcome
  prometheus::Counter* evictions = nullptr;
  prometheus::Gauge* leader = nullptr;
  prometheus::Gauge* gated_left_out = nullptr;
  prometheus::Gauge* policy_read = nullptr;
  prometheus::Counter* policy_reloads_ok = nullptr;
  prometheus::Counter* policy_reloads_failed = nullptr;
  prometheus::Counter* log_lines_dropped = nullptr;
  std::vector<prometheus::Counter*> rejections;  // by scheduler::Reason; null: kFits
  std::array<prometheus::Gauge*, scheduler::kPodPhases.size()> pods{};
  // Null until the first request with that code: most never come.
  std::array<std::array<std::atomic<prometheus::Histogram*>, kCodes>, kVerbNames.size()>
      durations{};

  std::mutex gated_mutex;                                        // guards what follows
  std::map<std::string, prometheus::Gauge*, std::less<>> gated;  // by tenant

  Series();
  void AddReclaims();  // makes `reclaims` and `evictions`
  prometheus::Histogram& Duration(std::size_t verb, std::size_t code);
};

Metrics::Series::Series()
    : duration_family(AddFamily(prometheus::BuildHistogram(), registry,
                                "offcut_extender_request_duration_seconds",
                                "Time from a request's last byte to its answer, by verb and "
                                "HTTP status.")),
      rejection_family(AddFamily(prometheus::BuildCounter(), registry, "offcut_rejections_total",
                                 "Nodes refused to a pod, by reason.")),
      accepted_family(AddFamily(prometheus::BuildCounter(), registry,
                                "offcut_http_connections_accepted_total",
                                "Connections taken into service, by listener.")),
      shed_family(AddFamily(prometheus::BuildCounter(), registry,
                            "offcut_http_connections_shed_total",
                            "Connections refused because there were too many, by listener.")),
      refused_family(AddFamily(prometheus::BuildCounter(), registry,
                               "offcut_http_requests_refused_total",
                               "Requests refused before any route saw them, by listener and HTTP "
                               "status.")),
      pods_family(
          AddFamily(prometheus::BuildGauge(), registry, "offcut_pods", "Pods known, by phase.")),
      watch_family(AddFamily(prometheus::BuildGauge(), registry, "offcut_watch_up",
                             "1 while the watch of that kind is open, else 0.")),
      gated_family(AddFamily(prometheus::BuildGauge(), registry, "offcut_gated_pods",
                             "Pods behind the gate offcut.dev/quota, by tenant.")) {}

// Family::Add returns the same series to every caller with the same labels, so a race is harmless.
prometheus::Histogram& Metrics::Series::Duration(std::size_t verb, std::size_t code) {
  std::atomic<prometheus::Histogram*>& known = durations[verb][code];
  prometheus::Histogram* histogram = known.load(std::memory_order_acquire);
  if (histogram == nullptr) {
    histogram = &duration_family.Add(
        {{"verb", std::string{kVerbNames[verb]}}, {"code", CodeName(code)}}, kDurationBucketsS);
    known.store(histogram, std::memory_order_release);
  }
  return *histogram;
}

void Metrics::Series::AddReclaims() {
  Counters& family =
      AddFamily(prometheus::BuildCounter(), registry, "offcut_reclaims_total",
                "Pods for which others are evicted by Offcut, or would be, by outcome.");
  for (const auto& [outcome, name] :
       {std::pair(ReclaimOutcome::kDone, "done"), std::pair(ReclaimOutcome::kGivenUp, "given-up"),
        std::pair(ReclaimOutcome::kDryRun, "dry-run")}) {
    reclaims[static_cast<std::size_t>(outcome)] = &family.Add({{"outcome", name}});
  }
  evictions = &AddFamily(prometheus::BuildCounter(), registry, "offcut_evictions_total",
                         "Pods that Offcut has evicted by the Eviction API.")
                   .Add({});
}

Metrics::Metrics(std::string_view version, std::span<const scheduler::ReasonInfo> reasons)
    : series_(std::make_unique<Series>()) {
  AddFamily(prometheus::BuildGauge(), series_->registry, "offcut_build_info",
            "Always 1; the label names the version that runs.")
      .Add({{"version", std::string{version}}})
      .Set(1);
  series_->nodes =
      &AddFamily(prometheus::BuildGauge(), series_->registry, "offcut_nodes", "Nodes known.")
           .Add({});
  series_->bind_conflicts =
      &AddFamily(
           prometheus::BuildCounter(), series_->registry, "offcut_bind_conflicts_total",
           "Binds refused since what filter had offered was taken, ill, closed or gone, or since "
           "the pod had been bound, deleted or gated by others.")
           .Add({});
  series_->drift =
      &AddFamily(prometheus::BuildCounter(), series_->registry, "offcut_device_drift_total",
                 "Pods that got other GPUs from the kubelet than are on record.")
           .Add({});
  series_->events_dropped =
      &AddFamily(prometheus::BuildCounter(), series_->registry, "offcut_events_dropped_total",
                 "Events that were not sent because too many were on their way.")
           .Add({});
  series_->leader = &AddFamily(prometheus::BuildGauge(), series_->registry, "offcut_leader",
                               "1 where this process holds the Lease, else 0.")
                         .Add({});
  series_->gated_left_out =
      &AddFamily(prometheus::BuildGauge(), series_->registry, "offcut_gated_tenants_left_out",
                 "Tenants with gated pods that have no series because there are too many.")
           .Add({});
  series_->policy_read =
      &AddFamily(prometheus::BuildGauge(), series_->registry,
                 "offcut_policy_last_reload_success_timestamp_seconds",
                 "When the policy file was last read without error, at the start or since, in "
                 "seconds since 1970; 0: there is none.")
           .Add({});
  Series::Counters& reloads =
      AddFamily(prometheus::BuildCounter(), series_->registry, "offcut_policy_reloads_total",
                "Changes of the policy file that were looked at, by result.");
  series_->policy_reloads_ok = &reloads.Add({{"result", "ok"}});
  series_->policy_reloads_failed = &reloads.Add({{"result", "failed"}});
  series_->ghosts =
      &AddFamily(prometheus::BuildCounter(), series_->registry, "offcut_ledger_ghosts_total",
                 "Pods that had gone unseen, found by a relist.")
           .Add({});
  series_->gates_lifted =
      &AddFamily(prometheus::BuildCounter(), series_->registry, "offcut_gates_lifted_total",
                 "Gates offcut.dev/quota that this process has taken off pods.")
           .Add({});
  series_->AddReclaims();
  series_->log_lines_dropped =
      &AddFamily(prometheus::BuildCounter(), series_->registry, "offcut_log_lines_dropped_total",
                 "Log lines dropped because their reader was too slow.")
           .Add({});
  // What an alert takes a rate of is there, as 0, from the start.
  for (std::size_t verb = 0; verb < kVerbNames.size(); ++verb) {
    static_cast<void>(series_->Duration(verb, CodeIndex(200)));
  }
  for (const scheduler::PodPhase phase : scheduler::kPodPhases) {
    series_->pods[static_cast<std::size_t>(phase)] =
        &series_->pods_family.Add({{"phase", std::string{scheduler::NameOf(phase)}}});
  }
  for (const scheduler::ReasonInfo& info : reasons) {
    assert(static_cast<std::size_t>(info.reason) == series_->rejections.size());
    series_->rejections.push_back(
        info.reason == scheduler::Reason::kFits
            ? nullptr
            : &series_->rejection_family.Add({{"reason", std::string{info.code}}}));
  }
}

Metrics::~Metrics() = default;

void Metrics::ObserveRequest(ExtenderVerb verb, int status, double duration_s) {
  series_->Duration(static_cast<std::size_t>(verb), CodeIndex(status)).Observe(duration_s);
}

void Metrics::CountRejections(scheduler::Reason reason, std::uint64_t count) {
  const auto index = static_cast<std::size_t>(reason);
  assert(reason != scheduler::Reason::kFits && index < series_->rejections.size());
  series_->rejections[index]->Increment(static_cast<double>(count));
}

void Metrics::CountBindConflict() { series_->bind_conflicts->Increment(); }

void Metrics::CountGhosts(std::uint64_t count) {
  series_->ghosts->Increment(static_cast<double>(count));
}

void Metrics::CountDroppedEvent() { series_->events_dropped->Increment(); }

void Metrics::SetLeading(bool is_leading) { series_->leader->Set(is_leading ? 1 : 0); }

void Metrics::SetWatch(std::string_view kind, bool is_up) {
  series_->watch_family.Add({{"kind", std::string{kind}}}).Set(is_up ? 1 : 0);
}

void Metrics::CountDrift() { series_->drift->Increment(); }

void Metrics::CountLiftedGate() { series_->gates_lifted->Increment(); }

void Metrics::CountReclaim(ReclaimOutcome outcome) {
  series_->reclaims[static_cast<std::size_t>(outcome)]->Increment();
}

void Metrics::CountEviction() { series_->evictions->Increment(); }

void Metrics::SetGatedPods(const std::map<std::string, std::uint64_t, std::less<>>& by_tenant) {
  const std::lock_guard lock(series_->gated_mutex);
  const std::size_t shown = std::min(by_tenant.size(), kGatedTenantsMax);
  const auto end = std::next(by_tenant.begin(), static_cast<std::ptrdiff_t>(shown));
  const auto is_shown = [&](const std::string& tenant) {
    return by_tenant.contains(tenant) && (end == by_tenant.end() || tenant < end->first);
  };
  std::erase_if(series_->gated, [&](const auto& known) {
    if (is_shown(known.first)) return false;
    series_->gated_family.Remove(known.second);
    return true;
  });
  for (auto each = by_tenant.begin(); each != end; ++each) {
    prometheus::Gauge*& gauge = series_->gated[each->first];
    if (gauge == nullptr) gauge = &series_->gated_family.Add({{"tenant", each->first}});
    gauge->Set(static_cast<double>(each->second));
  }
  series_->gated_left_out->Set(static_cast<double>(by_tenant.size() - shown));
}

void Metrics::PolicyRead(std::chrono::system_clock::time_point when) {
  series_->policy_read->Set(std::chrono::duration<double>(when.time_since_epoch()).count());
}

void Metrics::CountPolicyReload(bool is_ok) {
  (is_ok ? series_->policy_reloads_ok : series_->policy_reloads_failed)->Increment();
}

void Metrics::SetNodes(std::uint64_t count) { series_->nodes->Set(static_cast<double>(count)); }

void Metrics::SetPods(scheduler::PodPhase phase, std::uint64_t count) {
  series_->pods[static_cast<std::size_t>(phase)]->Set(static_cast<double>(count));
}

void Metrics::SetLogLinesDropped(std::uint64_t count) {
  prometheus::Counter& counter = *series_->log_lines_dropped;
  counter.Increment(static_cast<double>(count) - counter.Value());  // a counter takes no less
}

ServerEvents Metrics::EventsOf(std::string_view listener) {
  const std::string name{listener};
  prometheus::Counter& accepted = series_->accepted_family.Add({{"listener", name}});
  prometheus::Counter& shed = series_->shed_family.Add({{"listener", name}});
  Series::Counters& refused = series_->refused_family;
  return {.connection_accepted = [&accepted] { accepted.Increment(); },
          .connection_shed = [&shed] { shed.Increment(); },
          // The server knows a handful of statuses, and none of them is on the hot path.
          .request_refused =
              [&refused, name](int status) {
                refused.Add({{"listener", name}, {"code", fmt::format("{}", status)}}).Increment();
              }};
}

std::string Metrics::Print() const {
  return prometheus::TextSerializer{}.Serialize(series_->registry.Collect());
}

}  // namespace offcut::api
