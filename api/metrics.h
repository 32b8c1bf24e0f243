// What Offcut counts, in Prometheus' words.
//
// A look-up by label costs prometheus-cpp 100 ns and a lock, an update of a known series 10 ns; so
// whatever a request touches is kept in tables here.
// All members may be called from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "api/server.h"
#include "scheduler/reason.h"
#include "scheduler/snapshot.h"

namespace offcut::api {

enum class ExtenderVerb { kFilter, kPrioritize, kPreempt, kBind };

std::string_view NameOf(ExtenderVerb verb);  // "filter"

// kDone: all victims are asked to go. kGivenUp: it came to nothing, or to less.
enum class ReclaimOutcome { kDone, kGivenUp, kDryRun };

inline constexpr std::size_t kGatedTenantsMax = 2'000;  // that have a series

class Metrics {
 public:
  // `reasons`: what CountRejections() may be called with, in the order of the enum; that is
  // scheduler::Reasons().
  Metrics(std::string_view version, std::span<const scheduler::ReasonInfo> reasons);
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  ~Metrics();

  // offcut_extender_request_duration_seconds{verb,code}: one request, answered with `status`.
  void ObserveRequest(ExtenderVerb verb, int status, double duration_s);

  // offcut_rejections_total{reason}: `count` nodes refused for `reason`, which is not kFits.
  void CountRejections(scheduler::Reason reason, std::uint64_t count);

  // offcut_bind_conflicts_total: a bind that failed because the state had changed since filter. Not
  // one that no filter can have led to: for a node that cannot serve the pod, or a second node.
  void CountBindConflict();

  // offcut_ledger_ghosts_total: pods that had gone without our seeing it, found by a relist.
  void CountGhosts(std::uint64_t count);

  // offcut_events_dropped_total, offcut_leader (1: this process holds the Lease).
  void CountDroppedEvent();
  void SetLeading(bool is_leading);

  // offcut_watch_up{kind}: 1 while the watch of that kind ("pods") is open, else 0.
  void SetWatch(std::string_view kind, bool is_up);

  // offcut_device_drift_total: a pod that got other GPUs from the kubelet than are on record.
  void CountDrift();

  // offcut_gates_lifted_total, and offcut_gated_pods{tenant}: the pods that have the gate, by their
  // tenant ("": none), in place of what was said before. The first kGatedTenantsMax by name have a
  // series; offcut_gated_tenants_left_out counts the others.
  void CountLiftedGate();
  void SetGatedPods(const std::map<std::string, std::uint64_t, std::less<>>& by_tenant);

  // offcut_reclaims_total{outcome}: pods for which others were evicted by us ("done", "given-up"),
  // or would have been ("dry-run"). offcut_evictions_total: the pods that were.
  void CountReclaim(ReclaimOutcome outcome);
  void CountEviction();

  // offcut_policy_last_reload_success_timestamp_seconds: when the policy was last read well, at the
  // start or since. offcut_policy_reloads_total{result}: changes of its file, by "ok" or "failed".
  void PolicyRead(std::chrono::system_clock::time_point when);
  void CountPolicyReload(bool is_ok);

  // offcut_nodes, offcut_pods{phase}.
  void SetNodes(std::uint64_t count);
  void SetPods(scheduler::PodPhase phase, std::uint64_t count);

  // offcut_log_lines_dropped_total: `count` in all, since the start.
  void SetLogLinesDropped(std::uint64_t count);

  // Makes a server count under `listener` ("extender", "health", "metrics"):
  // offcut_http_connections_accepted_total{listener}, offcut_http_connections_shed_total{listener}
  // and offcut_http_requests_refused_total{listener,code}. The server must end before this does.
  ServerEvents EventsOf(std::string_view listener);

  // Every series in the Prometheus text format, version 0.0.4.
  std::string Print() const;

 private:
  struct Series;
  std::unique_ptr<Series> series_;
};

}  // namespace offcut::api
