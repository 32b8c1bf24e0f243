#include "api/binding.h"

#include <cassert>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/device_record_json.h"
#include "api/logging.h"

namespace offcut::api {

using scheduler::PodPhase;
using scheduler::Prefilter;
using scheduler::Reason;
using scheduler::Snapshot;

namespace {

// Whether that may have come about since filter let the pod pass: others were faster, devices fell
// ill, quotas or rules are others, the node was closed or deleted. The other reasons say that
// nobody can have offered the node.
bool IsOfChangedState(Reason reason) {
  switch (reason) {
    case Reason::kNodeUnknown:
    case Reason::kNodeCordoned:
    case Reason::kNodeReconfiguring:
    case Reason::kNodeMigInvalid:
    case Reason::kNodeAgentUnsupported:
    case Reason::kNodeHolderUnreadable:
    case Reason::kHostCpu:
    case Reason::kHostMemory:
    case Reason::kHostPods:
    case Reason::kDevicesUnhealthy:
    case Reason::kGpusTaken:
    case Reason::kSlotsTaken:
    case Reason::kInstancesTaken:
    case Reason::kFragmented:
    case Reason::kSharersTaken:
    case Reason::kGpuMemoryTaken:
    case Reason::kGpuCoresTaken:
    case Reason::kDevicesHeld:
    case Reason::kSlotsMemory:
    case Reason::kCapacitySpot:
    case Reason::kIsolationLevel:
    case Reason::kIsolationSharers:
    case Reason::kQuotaNever:
    case Reason::kQuotaWait:
      return true;
    case Reason::kFits:
    case Reason::kResourceNotOffered:
    case Reason::kFractionsNotServed:
    case Reason::kModelNotAccepted:
    case Reason::kUuidNotAccepted:
    case Reason::kProfileNotOnModel:
    case Reason::kExceedsNode:
    case Reason::kSlotsPerContainer:
    case Reason::kPodReservedElsewhere:
      return false;
  }
  assert(false);
  return false;
}

}  // namespace

std::expected<OpenBinding, std::string> ReserveForBind(
    scheduler::StateStore& store, const scheduler::Policy& policy, Metrics& metrics,
    const ExtenderBindingArgs& args, const scheduler::Pod& pod, const Preparation& prepare) {
  // A UID under another name is another pod: names are reused, UIDs are not.
  if (pod.name != args.pod_name || pod.name_space != args.pod_namespace) {
    return std::unexpected("pod of that UID has another name or namespace");
  }
  OpenBinding binding{.args = args};
  std::expected<void, std::string> prepared;
  const Reason reason = store.Update([&](Snapshot& next) {
    Snapshot trial = next;
    if (prepare) prepared = prepare(trial);
    if (!prepared) return Reason::kFits;
    auto reservation = Reserve(trial, pod, args.node, policy, Prefilter::kByKubeScheduler);
    if (reservation.verdict.fits()) next = std::move(trial);
    binding.record = std::move(reservation.record);
    const scheduler::PodEntry* entry = next.FindPod(args.pod_uid);
    binding.is_bound = entry != nullptr && entry->phase != PodPhase::kReserved;
    return reservation.verdict.reason;
  });
  if (!prepared) {
    LogBind(args.pod_namespace, args.pod_name, args.node, "pod.replaced");
    return std::unexpected(std::move(prepared.error()));
  }
  if (reason == Reason::kFits) return binding;
  const auto& info = InfoOf(reason);
  if (IsOfChangedState(reason)) metrics.CountBindConflict();
  LogBind(args.pod_namespace, args.pod_name, args.node, info.code);
  return std::unexpected(std::string(info.text));
}

std::string PodPath(std::string_view name_space, std::string_view name) {
  std::string path = "/api/v1/namespaces/";
  path.append(name_space).append("/pods/").append(name);
  return path;
}

std::string BoundText(const scheduler::DeviceRecord& record) {
  return record.workload.empty() ? "bound" : "bound, target workload " + record.workload;
}

std::string PrintBinding(const OpenBinding& binding) {
  nlohmann::json body = {{"apiVersion", "v1"},
                         {"kind", "Binding"},
                         {"metadata",
                          {{"name", binding.args.pod_name},
                           {"namespace", binding.args.pod_namespace},
                           {"uid", binding.args.pod_uid}}},
                         {"target", {{"kind", "Node"}, {"name", binding.args.node}}}};
  if (!binding.record.devices.empty()) {
    body["metadata"]["annotations"] = {
        {std::string(kDevicesAnnotation), PrintDeviceRecord(binding.record)}};
  }
  return body.dump();
}

BindingState StateOf(const OpenBinding& binding, const scheduler::Pod& pod) {
  if (pod.uid != binding.args.pod_uid) return BindingState::kGone;
  if (pod.node_name.empty()) return BindingState::kUnbound;
  if (pod.node_name != binding.args.node) return BindingState::kElsewhere;
  const bool has_our_record = binding.record.devices.empty()
                                  ? !pod.record.has_value()
                                  : pod.record.has_value() && *pod.record == binding.record;
  return has_our_record ? BindingState::kBound : BindingState::kElsewhere;
}

}  // namespace offcut::api
