#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "scheduler/checked_shape.h"
#include "scheduler/decision.h"
#include "scheduler/expected_node.h"
#include "scheduler/isolation.h"
#include "scheduler/node_victims.h"
#include "scheduler/preemptor.h"
#include "scheduler/quota_check.h"
#include "scheduler/victim_finder.h"

namespace offcut::scheduler {
namespace {

struct Victim {
  std::string uid;
  std::int32_t priority = std::numeric_limits<std::int32_t>::min();  // the lowest where not known
};

// The candidate with its victims as kube-scheduler wants them ordered, or nullopt where one must
// not go. For a pod without devices, whose victims are kube-scheduler's choice.
std::optional<PreemptionCandidate> Checked(const Snapshot& snapshot, const Pod& pod,
                                           const PreemptionCandidate& candidate) {
  std::vector<Victim> victims;
  for (const std::string& uid : candidate.victim_uids) {
    Victim victim{.uid = uid};
    if (const PodEntry* entry = snapshot.FindPod(uid); entry != nullptr) {
      const bool is_elsewhere =
          !entry->node_name.empty() && entry->node_name != candidate.node_name;
      if (is_elsewhere || entry->pod->priority >= pod.priority) return std::nullopt;
      victim.priority = entry->pod->priority;
    }
    victims.push_back(std::move(victim));
  }
  std::ranges::sort(victims, [](const Victim& a, const Victim& b) {
    return std::tuple(b.priority, std::string_view(a.uid)) <
           std::tuple(a.priority, std::string_view(b.uid));
  });
  const auto repeated = std::ranges::unique(victims, {}, &Victim::uid);
  victims.erase(repeated.begin(), repeated.end());
  PreemptionCandidate checked{.node_name = candidate.node_name,
                              .victim_uids = {},
                              .pdb_violations = candidate.pdb_violations};
  for (Victim& victim : victims) checked.victim_uids.push_back(std::move(victim.uid));
  return checked;
}

// The node as filter will show it to the pod, with those gone that `leaves` says: also those that
// are only expected there.
template <typename Leaves>
Node WithoutPods(const Snapshot& snapshot, const Node& current, const Pod& pod, Leaves leaves) {
  const std::optional<Node> expected = WithExpected(snapshot, current, pod);
  const Node& node = expected ? *expected : current;
  std::vector<Holder> rest;
  std::ranges::copy_if(node.holders, std::back_inserter(rest),
                       [&](const Holder& holder) { return !leaves(*holder.pod); });
  return BuildNode(node.inventory, std::move(rest));
}

// Whether the pod has room there then, may share with whoever stays, and has quota.
template <typename Leaves>
bool FitsWithout(const Snapshot& snapshot, const Node& node, const Pod& pod, Leaves leaves,
                 const Policy& policy, Prefilter prefilter) {
  const Node without = WithoutPods(snapshot, node, pod, leaves);
  const Verdict by_devices = FilterNode(without, pod, policy, prefilter);
  return IsolationCheck(snapshot, pod).Restrict(by_devices, without).fits() &&
         CheckQuotaOn(node, without, snapshot, pod, policy, prefilter).fits();
}

bool CouldMakeRoom(Preemptor& preemptor, const Node& current, const Policy& policy,
                   Prefilter prefilter) {
  const Pod& pod = preemptor.pod();
  const bool has_lower = std::ranges::any_of(
      current.holders, [&](const Holder& holder) { return holder.pod->priority < pod.priority; });
  if (!has_lower) return false;  // mostly so, and soon seen
  const std::optional<Node> expected = WithExpected(preemptor.snapshot(), current, pod);
  const Node& node = expected ? *expected : current;
  auto shape = CheckedShape(node, pod, policy, prefilter);
  return shape && NodeVictims(preemptor, node, *std::move(shape)).CouldSuffice();
}

}  // namespace

std::vector<bool> PreemptableRefusals(const Snapshot& snapshot, const Pod& pod,
                                      std::span<const std::string> node_names,
                                      std::span<const Verdict> verdicts, const Policy& policy,
                                      Prefilter prefilter, std::int64_t now_s) {
  std::vector<bool> preemptable(node_names.size());
  if (policy.refusals == Refusals::kUnresolvable && pod.nominated_node_name.empty()) {
    return preemptable;
  }
  std::optional<Preemptor> preemptor;
  for (std::size_t i = 0; i < node_names.size(); ++i) {
    const std::string& name = node_names[i];
    if (verdicts[i].fits() || !IsPreemptable(verdicts[i].reason, pod, name, policy.refusals)) {
      continue;
    }
    preemptable[i] = name == pod.nominated_node_name;
    const Node* node = snapshot.FindNode(name);
    if (preemptable[i] || node == nullptr) continue;
    if (!preemptor) preemptor.emplace(snapshot, pod, policy, now_s);
    preemptable[i] = CouldMakeRoom(*preemptor, *node, policy, prefilter);
  }
  return preemptable;
}

std::vector<PreemptionCandidate> Preempt(const Snapshot& snapshot, const Pod& pod,
                                         std::span<const PreemptionCandidate> candidates,
                                         const Policy& policy, Prefilter prefilter,
                                         std::int64_t now_s) {
  const PodEntry* entry = snapshot.FindPod(pod.uid);
  if (entry != nullptr && entry->phase != PodPhase::kPending) return {};
  // Others leave for it already; what is held until a date costs nobody, and stops no preemption.
  const bool is_held = entry != nullptr && snapshot.IsHeld(pod.uid);
  if (is_held && entry->pod->hold->cause == HoldCause::kReclaim) return {};
  std::vector<PreemptionCandidate> kept;
  VictimFinder finder(snapshot, pod, policy, prefilter, now_s);
  for (const PreemptionCandidate& candidate : candidates) {
    auto found = pod.request.empty() ? Checked(snapshot, pod, candidate) : finder.Find(candidate);
    if (found && !found->victim_uids.empty()) kept.push_back(*std::move(found));
  }
  return kept;
}

bool AwaitsNominatedNode(const Snapshot& snapshot, const Pod& pod, const Policy& policy,
                         Prefilter prefilter) {
  const Node* node = snapshot.FindNode(pod.nominated_node_name);
  if (node == nullptr || snapshot.IsNominationLapsed(pod.uid, node->name())) return false;
  const auto is_lower = [&](const Pod& holder) { return holder.priority < pod.priority; };
  return FitsWithout(snapshot, *node, pod, is_lower, policy, prefilter);
}

}  // namespace offcut::scheduler
