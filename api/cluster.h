// The state of a cluster, kept from its API server, and the calls that change it: composition of
// the client, the watches of nodes and pods, the binder, the nudger, the gate keeper, the
// reclaimer, events, and the election.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/binder.h"
#include "api/dated_holds.h"
#include "api/disruption_budgets.h"
#include "api/error.h"
#include "api/event_recorder.h"
#include "api/expectation_timers.h"
#include "api/gate_keeper.h"
#include "api/kube_client.h"
#include "api/kueue_admissions.h"
#include "api/leader_election.h"
#include "api/leader_label.h"
#include "api/list_watch.h"
#include "api/metrics.h"
#include "api/nominee_waits.h"
#include "api/nudger.h"
#include "api/packing_renewal.h"
#include "api/recent_pods.h"
#include "api/reclaimer.h"
#include "api/resource_quotas.h"
#include "scheduler/decision.h"
#include "scheduler/explain.h"
#include "scheduler/policy.h"
#include "scheduler/state_store.h"

namespace offcut::api {

struct ClusterSettings {
  KubeConfig config;
  KubeClientSettings client;
  BinderSettings binder;
  NudgerSettings nudger;
  GateKeeperSettings gates;
  ReclaimerSettings reclaim;
  DatedHoldsSettings dated_holds;
  ListWatchSettings list_watch;
  ExpectationTimeouts expectations;
  std::string instance = "offcut";  // of this process, in events; at most 128 bytes
  // Empty: no Lease. It guards what only one replica may do in the background.
  std::optional<LeaderElectionSettings> election;
  // A scheduler that asks after such a pause may be another: kube-scheduler's Lease lasts as long.
  std::chrono::milliseconds takeover_pause = std::chrono::seconds{15};
  // Our own pod, where a Service stands before several replicas: it selects the one that has the
  // label kLeaderLabel, and only who leads answers. Empty: whoever is asked answers.
  std::string pod_name;
  std::string pod_namespace;
  std::function<void()> synced;  // once, on the client's thread, when nodes and pods are known
};

// What the cluster works on. All of it outlives it.
struct ClusterContext {
  scheduler::StateStore& store;
  const scheduler::Policy& policy;
  RecentPods& recent_pods;
  Metrics& metrics;
};

// Public members may be called from any thread, but for Stop(), which belongs to the owner's.
class Cluster {
 public:
  // Connects to nothing yet. Errors: as KubeClient::Start has them.
  static std::expected<std::unique_ptr<Cluster>, Error> Start(ClusterSettings settings,
                                                              const ClusterContext& context);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  ~Cluster();  // Stop()

  // Once, by the owner. Nothing may be answered before IsSynced().
  void StartWatches();

  bool IsSynced() const { return nodes_synced_ && pods_synced_ && admissions_known_; }
  bool IsLeading() const { return election_ == nullptr || election_->IsLeading(); }

  // Whether only the leader answers; then Lease and label are matters of readiness.
  bool AnswersOnlyAsLeader() const { return !settings_.pod_name.empty(); }
  // Why we may never lead, or know who does; and why the Service does not find us though we lead.
  // Empty: nothing is wrong.
  std::string LeaseProblem() const { return election_ == nullptr ? "" : election_->Problem(); }
  std::string LabelProblem() const {
    return label_ ? label_->Problem(std::chrono::steady_clock::now()) : "";
  }

  // Why nothing may be answered now; empty: all may be.
  std::string_view WhyNot() const;

  // A scheduler has asked. After a pause, or for the first time, it may be another one, whose
  // predecessor asked another replica: a sidecar then lists the pods anew, should its watch be dead
  // without knowing, and sends no binding before it has; and, unless the last binding that is then
  // seen is our own, none before what that replica has sent must have arrived.
  void Asked();

  // Calls `answer` once, with what kube-scheduler is told: empty for success.
  void Bind(ExtenderBindingArgs args, const Binder::Answer& answer) {
    binder_.Bind(std::move(args), answer);
  }

  // The pod will probably go to that node: an advisory claim, in place of an earlier one.
  void Claim(std::shared_ptr<const scheduler::Pod> pod, std::string_view node_name);
  // Nothing can be said about where it will go.
  void DropClaim(const std::string& uid);

  // Filter has refused the pod on all of these nodes, by that state; or has found it a place.
  void Refused(std::shared_ptr<const scheduler::Pod> pod, std::vector<std::string> node_names,
               const std::vector<scheduler::ReasonCount>& refusals,
               std::shared_ptr<const scheduler::Snapshot> judged_on);
  void Offered(std::string uid) { nudger_.Forget(std::move(uid)); }

  // Filter has answered so about the nodes; for the preempt verb of the same attempt.
  void Filtered(const scheduler::Pod& pod, const std::vector<std::string>& node_names,
                const std::vector<scheduler::Verdict>& verdicts);
  // Whether the pod, for which these could be evicted, had better wait for the node that it is
  // nominated to (api/nominee_waits.h). It is woken when it fits there, or soon.
  bool WaitsForItsNode(const scheduler::Snapshot& snapshot, const scheduler::Pod& pod,
                       const std::vector<scheduler::PreemptionCandidate>& candidates);

  // Tenants have other quotas: pods that were refused may have a place now.
  void QuotasChanged();

  // Whether the watches of nodes and pods are open. While they are not, answers go on, by what was
  // last known: the API server may be away.
  bool IsWatching() const { return nodes_watched_ && pods_watched_; }

  // Ends all watches and calls; binds that are open are answered. The Lease is given back, unless a
  // binding of ours may still be carried out: then a successor waits until it expires.
  void Stop();

 private:
  Cluster(std::unique_ptr<KubeClient> client, ClusterSettings settings,
          const ClusterContext& context);

  void ReplaceNodes(const std::vector<nlohmann::json>& items);
  void UpsertNode(const nlohmann::json& object);
  void RemoveNode(const nlohmann::json& object);
  void ReplacePods(const std::vector<nlohmann::json>& items);
  void UpsertPod(const nlohmann::json& object);
  void RemovePod(const nlohmann::json& object);
  void BindEnded(const BindResult& result);
  void StateChanged();
  void TellSynced();
  void WatchNodes();
  void WatchPods();
  void WatchAdmissions();
  // Only one replica may: each counts what it has lifted itself.
  bool MayActAlone() const { return IsLeading() && IsSynced() && !is_taking_over_; }
  void BeginToLead();
  void EndToLead();
  void HoldBindings();
  void MeetScheduler(std::chrono::steady_clock::time_point asked);
  void EndMeeting();
  void ForgetPod(const std::string& uid);
  void TakeNomination(scheduler::Pod& pod);
  void RecordBind(const BindResult& result);
  void NoteOthersBinding(const scheduler::Pod& pod);

  const std::unique_ptr<KubeClient> client_;
  const ClusterSettings settings_;
  const ClusterContext context_;
  EventRecorder events_;
  Binder binder_;
  Nudger nudger_;
  GateKeeper gates_;
  Reclaimer reclaimer_;
  DatedHolds dated_holds_;
  ExpectationTimers timers_;
  NomineeWaits nominee_waits_;
  PackingRenewal packing_;
  std::optional<LeaderLabel> label_;          // where only the leader answers
  std::unique_ptr<LeaderElection> election_;  // null: none
  std::atomic<bool> nodes_synced_ = false;
  std::atomic<bool> pods_synced_ = false;
  std::atomic<bool> admissions_known_ = false;  // at once where tenants do not go by queues
  std::atomic<bool> nodes_watched_ = false;
  std::atomic<bool> pods_watched_ = false;
  // We lead, and the pods have not been listed since: a predecessor may have bound some.
  std::atomic<bool> is_taking_over_ = false;
  std::atomic<std::chrono::steady_clock::time_point> last_asked_ =
      std::chrono::steady_clock::time_point::min();
  // Of the client's thread.
  bool told_synced_ = false;
  bool bound_last_ = false;  // of the bindings that were seen the last one was ours
  // A scheduler that may be another has asked then, and the pods are being listed because of it.
  std::optional<std::chrono::steady_clock::time_point> met_scheduler_at_;
  // Another such question came meanwhile.
  std::optional<std::chrono::steady_clock::time_point> met_again_at_;
  std::unique_ptr<ListWatch> nodes_;
  std::unique_ptr<ListWatch> pods_;
  std::unique_ptr<ResourceQuotas> resource_quotas_;
  std::unique_ptr<DisruptionBudgets> disruption_budgets_;
  std::unique_ptr<KueueAdmissions> admissions_;  // null: tenants do not go by queues
};

}  // namespace offcut::api
