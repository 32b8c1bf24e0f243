#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "scheduler/decision.h"
#include "scheduler/expected_node.h"
#include "scheduler/isolation.h"
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

}  // namespace

std::vector<PreemptionCandidate> Preempt(const Snapshot& snapshot, const Pod& pod,
                                         std::span<const PreemptionCandidate> candidates,
                                         const Policy& policy, Prefilter prefilter,
                                         std::int64_t now_s) {
  const PodEntry* entry = snapshot.FindPod(pod.uid);
  if (entry != nullptr && entry->phase != PodPhase::kPending) return {};
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
