#include "api/cluster.h"

#include <algorithm>
#include <future>
#include <optional>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "api/explain_text.h"
#include "api/node_json.h"
#include "api/pod_json.h"

namespace offcut::api {
namespace {

using scheduler::Inventory;
using scheduler::Pod;
using scheduler::Snapshot;

constexpr std::chrono::seconds kReleasePatience{2};
constexpr std::string_view kNodesPath = "/api/v1/nodes";
constexpr std::string_view kPodsPath = "/api/v1/pods";
// kube-scheduler's own: a pod that ends comes as deleted.
constexpr std::string_view kLivePods = "status.phase!=Succeeded,status.phase!=Failed";

std::string TextAt(const nlohmann::json& object, const char* key) {
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return {};
  const auto value = metadata->find(key);
  return value != metadata->end() && value->is_string() ? value->get<std::string>() : "";
}

// An object that cannot be read is told and left out; it does not take the others down.
std::optional<Inventory> NodeOf(const nlohmann::json& object, const scheduler::Policy& policy) {
  auto parsed = ParseNodeText(object.dump(), policy.resources);
  if (!parsed) {
    spdlog::warn("node {} left out: {}", TextAt(object, "name"), parsed.error().message);
    return std::nullopt;
  }
  for (const std::string& warning : parsed->warnings) {
    spdlog::debug("{}", warning);
  }
  return std::move(parsed->inventory);
}

std::optional<Pod> PodOf(const nlohmann::json& object, const scheduler::Policy& policy) {
  auto parsed = ParsePodText(object.dump(), policy.resources);
  if (!parsed) {
    spdlog::warn("pod {}/{} left out: {}", TextAt(object, "namespace"), TextAt(object, "name"),
                 parsed.error().message);
    return std::nullopt;
  }
  for (const std::string& warning : parsed->warnings) {
    spdlog::debug("{}", warning);
  }
  return std::move(parsed->pod);
}

// Whether kube-scheduler has given up an attempt since we last saw the pod: what it claimed is
// free.
bool HasFailedAnew(const Snapshot& snapshot, const Pod& pod) {
  const scheduler::PodEntry* known = snapshot.FindPod(pod.uid);
  return known != nullptr && !pod.unscheduled_message.empty() &&
         pod.unscheduled_message != known->pod->unscheduled_message;
}

BinderSettings WithFence(BinderSettings settings, std::function<bool()> may_bind) {
  settings.may_bind = std::move(may_bind);
  return settings;
}

}  // namespace

std::expected<std::unique_ptr<Cluster>, Error> Cluster::Start(ClusterSettings settings,
                                                              const ClusterContext& context) {
  auto client = KubeClient::Start(settings.config, settings.client);
  if (!client) return std::unexpected(client.error());
  return std::unique_ptr<Cluster>(new Cluster(*std::move(client), std::move(settings), context));
}

Cluster::Cluster(std::unique_ptr<KubeClient> client, ClusterSettings settings,
                 const ClusterContext& context)
    : client_(std::move(client)),
      settings_(std::move(settings)),
      context_(context),
      events_(*client_, settings_.instance, {}, [this] { context_.metrics.CountDroppedEvent(); }),
      binder_(*client_, context.store, context.policy, context.recent_pods, context.metrics,
              WithFence(settings_.binder, [this] { return WhyNot().empty(); }),
              [this](const BindResult& result) { BindEnded(result); }),
      nudger_(*client_, context.store, context.policy, settings_.nudger),
      gates_(
          *client_, context.store, context.metrics, [this] { return MayActAlone(); },
          settings_.gates),
      reclaimer_(
          *client_, context.store, context.policy, context.metrics, events_,
          [this] { return MayActAlone(); }, settings_.reclaim),
      dated_holds_(
          *client_, context.store, context.policy, events_, [this] { return MayActAlone(); },
          settings_.dated_holds),
      timers_(*client_, context.store, settings_.expectations, [this] { StateChanged(); }),
      packing_(context.store, context.policy) {
  if (AnswersOnlyAsLeader()) {
    label_.emplace(*client_, settings_.pod_namespace, settings_.pod_name);
  }
  if (!settings_.election) return;
  election_ = std::make_unique<LeaderElection>(
      *client_, *settings_.election, std::mt19937_64(std::random_device()()),
      [this] { BeginToLead(); }, [this] { EndToLead(); });
}

Cluster::~Cluster() { Stop(); }

void Cluster::Stop() {
  std::promise<void> ended;
  const bool runs = client_->Post([&] {
    nodes_.reset();
    pods_.reset();
    admissions_.reset();
    resource_quotas_.reset();
    disruption_budgets_.reset();
    if (election_ == nullptr) return ended.set_value();
    if (binder_.MayStillBind()) {
      spdlog::warn("lease not given back: a binding of unknown outcome may still be carried out");
      return ended.set_value();
    }
    election_->Release([&ended] { ended.set_value(); });
  });
  // The client answers what is out when it stops, at the latest.
  if (runs) ended.get_future().wait_for(kReleasePatience);
  client_->Stop();
  binder_.Stop();
}

std::string_view Cluster::WhyNot() const {
  if (!IsSynced()) return "not synced with the API server yet";
  if (!AnswersOnlyAsLeader()) return {};
  if (!IsLeading()) return "this replica does not lead";
  return is_taking_over_ ? "taking over: pods are being listed" : "";
}

void Cluster::StartWatches() {
  client_->Post([this] {
    WatchNodes();
    WatchPods();
    WatchAdmissions();
    resource_quotas_ = std::make_unique<ResourceQuotas>(*client_, context_.store, context_.policy,
                                                        context_.metrics, settings_.list_watch);
    resource_quotas_->Start();
    disruption_budgets_ = std::make_unique<DisruptionBudgets>(
        *client_, context_.store, context_.metrics, settings_.list_watch);
    disruption_budgets_->Start();
    reclaimer_.Start();
    if (label_) label_->Set(false);  // of an earlier life
    if (election_ != nullptr) election_->Start();
  });
}

void Cluster::WatchNodes() {
  nodes_ = std::make_unique<ListWatch>(
      *client_, WatchedKind{.name = "nodes", .path = std::string(kNodesPath)},
      WatchSinks{.replace = [this](const auto& items) { ReplaceNodes(items); },
                 .upsert = [this](const auto& object) { UpsertNode(object); },
                 .remove = [this](const auto& object) { RemoveNode(object); },
                 .observe =
                     [this](const WatchStatus& status) {
                       nodes_watched_ = status.is_watching;
                       context_.metrics.SetWatch("nodes", status.is_watching);
                     }},
      std::mt19937_64(std::random_device()()), settings_.list_watch);
  nodes_->Start();
}

// Begins with a list that is at least as new as this call.
void Cluster::WatchPods() {
  pods_ = std::make_unique<ListWatch>(
      *client_,
      WatchedKind{
          .name = "pods", .path = std::string(kPodsPath), .field_selector = std::string(kLivePods)},
      WatchSinks{.replace = [this](const auto& items) { ReplacePods(items); },
                 .upsert = [this](const auto& object) { UpsertPod(object); },
                 .remove = [this](const auto& object) { RemovePod(object); },
                 .observe =
                     [this](const WatchStatus& status) {
                       pods_watched_ = status.is_watching;
                       context_.metrics.SetWatch("pods", status.is_watching);
                     }},
      std::mt19937_64(std::random_device()()), settings_.list_watch);
  pods_->Start();
}

// Once the tenants go by queues; until then nobody needs the right to read Workloads.
void Cluster::WatchAdmissions() {
  const auto snapshot = context_.store.Read();
  const bool is_needed = snapshot->accounts() != nullptr &&
                         snapshot->accounts()->tenancy().source == scheduler::TenantSource::kKueue;
  if (!is_needed) {
    admissions_known_ = true;
  } else if (admissions_ == nullptr) {
    admissions_ = std::make_unique<KueueAdmissions>(
        *client_, context_.store, context_.metrics,
        [this] {
          admissions_known_ = admissions_->IsKnown();
          TellSynced();
          StateChanged();
        },
        settings_.list_watch);
    admissions_->Start();
  }
}

void Cluster::Asked() {
  const bool is_sidecar = election_ != nullptr && !AnswersOnlyAsLeader();
  if (!is_sidecar || !IsSynced()) return;
  const auto now = std::chrono::steady_clock::now();
  if (last_asked_.exchange(now) > now - settings_.takeover_pause) return;
  client_->Post([this, now] { MeetScheduler(now); });
}

// The list must begin after the question: until then the scheduler that was asked before may have
// had another sidecar bind, and a list that runs already may be older than that. But to cut that
// one off would make a slow list begin again with each pause of the scheduler, and none would ever
// end. So it goes on, bindings stay held, and another follows it; however many ask meanwhile, that
// one has begun after all of them.
void Cluster::MeetScheduler(std::chrono::steady_clock::time_point asked) {
  if (met_scheduler_at_) {
    met_again_at_ = asked;
    return;
  }
  met_scheduler_at_ = asked;
  binder_.Hold();
  WatchPods();
}

// Only the new list tells whether another has bound since we did.
void Cluster::EndMeeting() {
  if (!met_scheduler_at_) return;
  if (met_again_at_) {
    met_scheduler_at_ = std::exchange(met_again_at_, std::nullopt);
    WatchPods();  // in place of the list that has just called us; its watch is none we rely on
    return;
  }
  if (!bound_last_) binder_.HoldUntil(*met_scheduler_at_ + settings_.binder.answer_timeout);
  met_scheduler_at_.reset();
  binder_.Release();
}

// Before it is put into the state: what stands there as reserved or bound we have bound.
void Cluster::NoteOthersBinding(const Pod& pod) {
  if (pod.node_name.empty() || !pod.record) return;
  const auto snapshot = context_.store.Read();
  const scheduler::PodEntry* entry = snapshot->FindPod(pod.uid);
  if (entry == nullptr || entry->phase == scheduler::PodPhase::kPending) bound_last_ = false;
}

// What a process before us sent may still arrive at the API server.
void Cluster::HoldBindings() {
  binder_.HoldUntil(std::chrono::steady_clock::now() + settings_.binder.answer_timeout);
}

// A predecessor's bindings may still be on their way to us, and to the API server.
void Cluster::BeginToLead() {
  context_.metrics.SetLeading(true);
  gates_.StateChanged();
  dated_holds_.StateChanged();
  if (!AnswersOnlyAsLeader()) return;
  is_taking_over_ = true;
  HoldBindings();
  WatchPods();
  label_->Set(true);
}

void Cluster::EndToLead() {
  context_.metrics.SetLeading(false);
  if (label_) label_->Set(false);
}

void Cluster::Filtered(const Pod& pod, const std::vector<std::string>& node_names,
                       const std::vector<scheduler::Verdict>& verdicts) {
  if (pod.nominated_node_name.empty()) return;
  const auto nominated = std::ranges::find(node_names, pod.nominated_node_name);
  const auto i = static_cast<std::size_t>(nominated - node_names.begin());
  if (nominated != node_names.end() && !verdicts[i].fits()) {
    nominee_waits_.Refused(pod.uid, pod.nominated_node_name, NomineeWaits::Clock::now());
  } else if (nominated != node_names.end()) {
    nominee_waits_.Passed(pod.uid);
  } else {
    nominee_waits_.NotRefused(pod.uid);
  }
}

bool Cluster::WaitsForItsNode(const Snapshot& snapshot, const Pod& pod,
                              const std::vector<scheduler::PreemptionCandidate>& candidates) {
  // kube-scheduler itself sees pods there that would have to go.
  const bool is_candidate =
      std::ranges::find(candidates, pod.nominated_node_name,
                        &scheduler::PreemptionCandidate::node_name) != candidates.end();
  const bool would_help =
      !is_candidate &&
      AwaitsNominatedNode(snapshot, pod, context_.policy, scheduler::Prefilter::kByKubeScheduler);
  if (!nominee_waits_.Begin(pod.uid, pod.nominated_node_name, would_help,
                            NomineeWaits::Clock::now())) {
    return false;
  }
  nudger_.Remind(std::make_shared<const Pod>(pod));
  return true;
}

void Cluster::Refused(std::shared_ptr<const Pod> pod, std::vector<std::string> node_names,
                      const std::vector<scheduler::ReasonCount>& refusals,
                      std::shared_ptr<const Snapshot> judged_on) {
  std::string key;
  for (const scheduler::ReasonCount& refusal : refusals) {
    key.append(InfoOf(refusal.reason).code).append(" ");
  }
  events_.Record(
      {.name_space = pod->name_space,
       .pod = pod->name,
       .pod_uid = pod->uid,
       .node = {},
       .is_warning = true,
       .reason = "OffcutRefused",
       .action = "Filtering",
       .note = fmt::format("kube-scheduler offered {} node{}, and none takes the pod: {}.",
                           node_names.size(), node_names.size() == 1 ? "" : "s",
                           PrintRefusals(refusals)),
       .key = std::move(key)});
  nudger_.Refused(std::move(pod), std::move(node_names), std::move(judged_on));
}

void Cluster::RecordBind(const BindResult& result) {
  const bool is_bound = result.error.empty();
  if (is_bound && result.record.devices.empty()) return;
  events_.Record({.name_space = result.args.pod_namespace,
                  .pod = result.args.pod_name,
                  .pod_uid = result.args.pod_uid,
                  .node = result.args.node,
                  .is_warning = !is_bound,
                  .reason = is_bound ? "OffcutBound" : "OffcutBindFailed",
                  .action = "Binding",
                  .note = is_bound ? DevicesText(result.record) : result.error,
                  .key = is_bound ? "bound" : result.error});
}

void Cluster::TellSynced() {
  if (!IsSynced() || std::exchange(told_synced_, true)) return;
  // From here on, since the time before was perhaps spent without an API server at all.
  HoldBindings();
  if (settings_.synced) settings_.synced();
}

void Cluster::StateChanged() {
  if (!IsSynced()) return;
  nudger_.StateChanged();
  gates_.StateChanged();
  reclaimer_.StateChanged();
  dated_holds_.StateChanged();
  packing_.Soon();
}

void Cluster::QuotasChanged() {
  client_->Post([this] {
    WatchAdmissions();
    StateChanged();
  });
}

void Cluster::ReplaceNodes(const std::vector<nlohmann::json>& items) {
  std::vector<Inventory> nodes;
  for (const nlohmann::json& item : items) {
    if (auto node = NodeOf(item, context_.policy)) nodes.push_back(*std::move(node));
  }
  spdlog::info("listed {} nodes", nodes.size());
  context_.store.Update([&](Snapshot& next) { next.ReplaceNodes(std::move(nodes)); });
  if (!nodes_synced_) packing_.Now();  // before the first answer
  nodes_synced_ = true;
  TellSynced();
  StateChanged();
}

void Cluster::UpsertNode(const nlohmann::json& object) {
  auto node = NodeOf(object, context_.policy);
  // One that has become unreadable is not what we knew any more.
  if (!node) return RemoveNode(object);
  const auto snapshot = context_.store.Read();
  const scheduler::Node* known = snapshot->FindNode(node->name);
  if (known != nullptr && known->inventory == *node) return;  // a heartbeat
  context_.store.Update([&](Snapshot& next) { next.PutNode(*std::move(node)); });
  StateChanged();
}

void Cluster::RemoveNode(const nlohmann::json& object) {
  const std::string name = TextAt(object, "name");
  context_.store.Update([&](Snapshot& next) { next.RemoveNode(name); });
  StateChanged();
}

void Cluster::ReplacePods(const std::vector<nlohmann::json>& items) {
  std::vector<Pod> pods;
  for (const nlohmann::json& item : items) {
    if (auto pod = PodOf(item, context_.policy)) pods.push_back(*std::move(pod));
  }
  spdlog::info("listed {} pods", pods.size());
  for (Pod& pod : pods) {
    TakeNomination(pod);
    NoteOthersBinding(pod);
  }
  std::vector<std::string> unseen;
  const std::vector<std::string> ghosts = context_.store.Update([&](Snapshot& next) {
    std::vector<std::string> gone = next.ReplacePods(std::move(pods));
    next.ForEachPod([&](const scheduler::PodEntry& entry) {
      const bool is_bound = entry.phase == scheduler::PodPhase::kBound;
      if (is_bound && !IsSeen(entry)) unseen.push_back(entry.pod->uid);
    });
    return gone;
  });
  for (const std::string& uid : ghosts) ForgetPod(uid);
  if (pods_synced_ && !ghosts.empty()) {
    context_.metrics.CountGhosts(ghosts.size());
    spdlog::warn("{} pods had gone unseen", ghosts.size());
  }
  for (const std::string& uid : unseen) binder_.Verify(uid);
  if (!pods_synced_ || is_taking_over_) packing_.Now();
  is_taking_over_ = false;
  pods_synced_ = true;
  EndMeeting();
  TellSynced();
  StateChanged();
}

void Cluster::UpsertPod(const nlohmann::json& object) {
  auto pod = PodOf(object, context_.policy);
  // What cannot be read asks for what we do not understand; what it held is free only once it is
  // gone. A known pod stays as it was known.
  if (!pod) return;
  TakeNomination(*pod);
  NoteOthersBinding(*pod);
  const std::string uid = pod->uid;
  if (!pod->node_name.empty()) timers_.ForgetClaim(uid);
  if (pod->is_finished) dated_holds_.NoteEnd(uid);
  if (HasFailedAnew(*context_.store.Read(), *pod)) DropClaim(uid);
  const bool has_drifted = context_.store.Update([&](Snapshot& next) {
    const bool had_drifted = HasDrifted(next, uid);
    next.PutPod(*std::move(pod));
    return !had_drifted && HasDrifted(next, uid);
  });
  if (has_drifted) {
    context_.metrics.CountDrift();
    spdlog::warn("pod {}/{} got other GPUs from the kubelet than are on record",
                 TextAt(object, "namespace"), TextAt(object, "name"));
  }
  StateChanged();
}

void Cluster::RemovePod(const nlohmann::json& object) {
  const std::string uid = TextAt(object, "uid");
  dated_holds_.NoteEnd(uid);
  ForgetPod(uid);
  context_.store.Update([&](Snapshot& next) { next.RemovePod(uid); });
  StateChanged();
}

// kube-scheduler sees victims gone before our watch does. Where filter then refuses the node that
// was freed, and nothing more can be evicted, it takes the nomination back. The place is the pod's
// all the same until we have seen it free, or those that the victims' owners make anew would take
// it, and be evicted in their turn.
void Cluster::TakeNomination(Pod& pod) {
  const auto snapshot = context_.store.Read();
  const scheduler::PodEntry* known = snapshot->FindPod(pod.uid);
  const bool is_taken_back = known != nullptr && pod.node_name.empty() &&
                             pod.nominated_node_name.empty() &&
                             !known->pod->nominated_node_name.empty();
  if (is_taken_back && (timers_.KeepsNomination(pod.uid) ||
                        nominee_waits_.WasRefused(pod.uid, known->pod->nominated_node_name,
                                                  NomineeWaits::Clock::now()))) {
    pod.nominated_node_name = known->pod->nominated_node_name;
    timers_.KeepNomination(pod);
  } else {
    timers_.TimePod(pod);
  }
}

// All that waits for it, but for the state.
void Cluster::ForgetPod(const std::string& uid) {
  timers_.ForgetPod(uid);
  nudger_.Forget(uid);
}

void Cluster::BindEnded(const BindResult& result) {
  RecordBind(result);
  const std::string& uid = result.args.pod_uid;
  if (result.error.empty()) {
    bound_last_ = true;
    timers_.ForgetClaim(uid);
    return;
  }
  // Its devices are free again, and should it wait again, its nomination counts anew.
  const auto snapshot = context_.store.Read();
  const scheduler::PodEntry* entry = snapshot->FindPod(uid);
  if (entry != nullptr) {
    timers_.RestartNomination(*entry->pod);
  } else {
    timers_.ForgetPod(uid);  // it is gone, and its watch may have nothing to say of it
  }
  StateChanged();
}

void Cluster::Claim(std::shared_ptr<const Pod> pod, std::string_view node_name) {
  const std::string uid = pod->uid;
  const bool is_moved = context_.store.Read()->IsClaimed(uid);
  context_.store.Update([&](Snapshot& next) { next.Claim(std::move(pod), node_name); });
  client_->Post([this, uid, is_moved] {
    if (is_moved) StateChanged();
    timers_.TimeClaim(uid);
  });
}

void Cluster::DropClaim(const std::string& uid) {
  // Most filters find none; for them no new state is published.
  if (!context_.store.Read()->IsClaimed(uid)) return;
  context_.store.Update([&](Snapshot& next) { next.DropClaim(uid); });
  client_->Post([this] { StateChanged(); });
}

}  // namespace offcut::api
