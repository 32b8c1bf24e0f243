#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>

#include "scheduler/checked_shape.h"
#include "scheduler/decision.h"
#include "scheduler/expected_node.h"
#include "scheduler/isolation.h"
#include "scheduler/quota_check.h"

namespace offcut::scheduler {

using binpack::Obstacle;

Reason ReasonOf(Obstacle obstacle) {
  switch (obstacle) {
    case Obstacle::kNone:
      return Reason::kFits;
    case Obstacle::kHostCpu:
      return Reason::kHostCpu;
    case Obstacle::kHostMemory:
      return Reason::kHostMemory;
    case Obstacle::kHostPods:
      return Reason::kHostPods;
    case Obstacle::kNoDevices:
      return Reason::kExceedsNode;  // advertised, and yet none of them is there
    case Obstacle::kModel:
      return Reason::kModelNotAccepted;
    case Obstacle::kUuid:
      return Reason::kUuidNotAccepted;
    case Obstacle::kProfile:
      return Reason::kProfileNotOnModel;
    case Obstacle::kNeverFits:
      return Reason::kExceedsNode;
    case Obstacle::kUnhealthy:
      return Reason::kDevicesUnhealthy;
    case Obstacle::kWholeGpusTaken:
      return Reason::kGpusTaken;
    case Obstacle::kSlotsTaken:
      return Reason::kSlotsTaken;
    case Obstacle::kInstancesTaken:
      return Reason::kInstancesTaken;
    case Obstacle::kFragmented:
      return Reason::kFragmented;
    case Obstacle::kSharersTaken:
      return Reason::kSharersTaken;
    case Obstacle::kMemoryTaken:
      return Reason::kGpuMemoryTaken;
    case Obstacle::kCoresTaken:
      return Reason::kGpuCoresTaken;
  }
  assert(false);
  return Reason::kFits;
}

namespace {

// A resource that the node lacks, though kube-scheduler counts it and offered the node all the
// same, is served there by dynamic resource allocation: the pod passes, uncharged.
bool IsServedByDra(const std::vector<std::string>& missing, const Policy& policy,
                   Prefilter prefilter) {
  if (prefilter != Prefilter::kByKubeScheduler) return false;
  return std::ranges::none_of(missing, [&](const std::string& resource) {
    return std::ranges::count(policy.resources.ignored_by_scheduler, resource) > 0;
  });
}

// Why the node takes no pod that asks for devices, whatever is free. Which pods tolerate that the
// node is cordoned, kube-scheduler has looked at.
std::optional<Reason> ClosedFor(const Node& node, Prefilter prefilter) {
  const bool is_checked =
      node.closed == Reason::kNodeCordoned && prefilter == Prefilter::kByKubeScheduler;
  return is_checked ? std::nullopt : node.closed;
}

}  // namespace

std::expected<binpack::RequestShape, Reason> CheckedShape(const Node& node, const Pod& pod,
                                                          const Policy& policy,
                                                          Prefilter prefilter) {
  const std::optional<Reason> closed = ClosedFor(node, prefilter);
  if (closed && !pod.request.empty()) return std::unexpected(*closed);
  NodeShape on_node = ShapeOn(node.inventory, pod);
  if (on_node.mismatch) return std::unexpected(*on_node.mismatch);
  if (!on_node.missing.empty() && !IsServedByDra(on_node.missing, policy, prefilter)) {
    return std::unexpected(Reason::kResourceNotOffered);
  }
  if (prefilter == Prefilter::kByKubeScheduler) on_node.shape.host = {};
  return std::move(on_node.shape);
}

binpack::PricingInput PricingOf(const Node& node, const Pod& pod,
                                const binpack::PackingModel& model, binpack::RequestShape& shape) {
  shape.host = pod.host;
  return {.model = model,
          .node = node.view(),
          .shape = shape,
          .draw = model.strategy->is_random ? binpack::Draw(model.seed, pod.uid, node.name()) : 0};
}

namespace {

// Quota matters where the node could serve the pod, now or later.
Verdict WithQuota(Verdict verdict, const Node* node, QuotaCheck& quota) {
  const bool could = verdict.fits() || InfoOf(verdict.reason).evictions_may_help;
  if (!could || node == nullptr || !quota.Applies()) return verdict;
  const Verdict by_quota = quota.Of(*node);
  return by_quota.fits() ? verdict : by_quota;
}

}  // namespace

Verdict FilterNode(const Node& node, const Pod& pod, const Policy& policy, Prefilter prefilter) {
  const auto shape = CheckedShape(node, pod, policy, prefilter);
  if (!shape) return {shape.error()};
  return {ReasonOf(binpack::FindObstacle(node.state, *shape))};
}

std::vector<Verdict> Filter(const Snapshot& snapshot, const Pod& pod,
                            std::span<const std::string> node_names, const Policy& policy,
                            Prefilter prefilter) {
  std::vector<Verdict> verdicts(node_names.size());
  if (pod.request.empty() && prefilter == Prefilter::kByKubeScheduler) return verdicts;
  const PodEntry* entry = snapshot.FindPod(pod.uid);
  const bool holds_devices = entry != nullptr && entry->phase != PodPhase::kPending;
  QuotaCheck quota(snapshot, pod, policy, prefilter);
  IsolationCheck isolation(snapshot, pod);
  for (std::size_t i = 0; i < node_names.size(); ++i) {
    if (holds_devices) {
      if (entry->node_name != node_names[i]) verdicts[i] = {Reason::kPodReservedElsewhere};
      continue;
    }
    const Node* node = snapshot.FindNode(node_names[i]);
    if (node == nullptr) {
      verdicts[i] = {Reason::kNodeUnknown};
      continue;
    }
    const std::optional<Node> expected = WithExpected(snapshot, *node, pod);
    const Node& judged = expected ? *expected : *node;
    Verdict by_devices = FilterNode(judged, pod, policy, prefilter);
    const bool is_held = expected && !by_devices.fits() && HasHeldAgainst(snapshot, *node, pod) &&
                         FilterNode(*node, pod, policy, prefilter).fits();
    if (is_held) by_devices = {Reason::kDevicesHeld};
    verdicts[i] = WithQuota(isolation.Restrict(by_devices, judged), node, quota);
  }
  return verdicts;
}

std::vector<Verdict> Filter(const Snapshot& snapshot, const Pod& pod,
                            std::span<const std::string> node_names, EvaluationCache& cache) {
  std::vector<Verdict> verdicts(node_names.size());
  if (pod.request.empty() && cache.prefilter() == Prefilter::kByKubeScheduler) return verdicts;
  const std::vector<Evaluation> evaluations = EvaluateNames(snapshot, pod, node_names, cache);
  for (std::size_t i = 0; i < verdicts.size(); ++i) verdicts[i] = {evaluations[i].reason};
  const PodEntry* entry = snapshot.FindPod(pod.uid);
  if (entry != nullptr && entry->phase != PodPhase::kPending) return verdicts;
  QuotaCheck quota(snapshot, pod, cache.policy(), cache.prefilter());
  if (!quota.Applies()) return verdicts;
  const std::vector<std::size_t> indices = cache.IndicesOf(node_names);
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (indices[i] == EvaluationCache::kNoIndex) continue;
    verdicts[i] = WithQuota(verdicts[i], snapshot.nodes()[indices[i]].get(), quota);
  }
  return verdicts;
}

bool IsPreemptable(Reason reason, const Pod& pod, std::string_view node_name, Refusals refusals) {
  // What is set here holds in every mode: no eviction changes a layout that is wrong or in the
  // making.
  if (reason == Reason::kNodeReconfiguring || reason == Reason::kNodeMigInvalid) return false;
  // A nominated node that is still being freed is never unresolvable, or the scheduler would evict
  // a second set of pods elsewhere.
  if (!node_name.empty() && node_name == pod.nominated_node_name) return true;
  return refusals == Refusals::kPreemptable && InfoOf(reason).evictions_may_help;
}

}  // namespace offcut::scheduler
