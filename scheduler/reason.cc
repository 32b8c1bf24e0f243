#include "scheduler/reason.h"

#include <array>
#include <cassert>
#include <cstddef>

namespace offcut::scheduler {
namespace {

constexpr std::array kReasons = std::to_array<ReasonInfo>({
    {Reason::kFits, "fits", "fits", false},
    {Reason::kNodeUnknown, "node.unknown", "node not known to offcut (yet)", false},
    {Reason::kNodeCordoned, "node.cordoned", "node is cordoned (kubectl uncordon)", false},
    {Reason::kNodeReconfiguring, "node.reconfiguring", "node's MIG layout is being changed", false},
    {Reason::kNodeMigInvalid, "node.mig-invalid",
     "node's MIG layout is invalid (MIG-INVALID): repair its mig.config", false},
    {Reason::kNodeAgentUnsupported, "node.agent-unsupported",
     "node's GPUs are run by HAMi, which offcut does not drive yet", false},
    {Reason::kNodeHolderUnreadable, "node.holder-unreadable",
     "node has a pod whose GPU request cannot be read", true},
    {Reason::kHostCpu, "host.cpu", "not enough free CPU beside the GPUs", true},
    {Reason::kHostMemory, "host.memory", "not enough free memory beside the GPUs", true},
    {Reason::kHostPods, "host.pods", "node holds as many pods as it may", true},
    {Reason::kResourceNotOffered, "resource.not-offered",
     "node does not offer the requested GPU resource", false},
    {Reason::kFractionsNotServed, "fractions.not-served",
     "node does not serve GPU memory or cores by fractions", false},
    {Reason::kModelNotAccepted, "gpu.model", "pod does not accept the node's GPU model", false},
    {Reason::kUuidNotAccepted, "gpu.uuid", "no GPU with a UUID that the pod accepts", false},
    {Reason::kProfileNotOnModel, "mig.profile", "GPU model does not have the requested MIG profile",
     false},
    {Reason::kExceedsNode, "request.exceeds-node", "request is larger than the whole node", false},
    {Reason::kSlotsPerContainer, "slots.per-container",
     "device plugin fails containers of more than one shared slot: ask for one each", false},
    {Reason::kSlotsMemory, "slots.memory",
     "pod declares more GPU memory than a slot has: ask for less, or a whole GPU", false},
    {Reason::kDevicesUnhealthy, "devices.unhealthy", "free GPUs are unhealthy or cordoned", false},
    {Reason::kGpusTaken, "gpus.taken", "not enough free GPUs", true},
    {Reason::kSlotsTaken, "slots.taken", "not enough free shared GPU slots", true},
    {Reason::kInstancesTaken, "mig.taken", "not enough free MIG instances", true},
    {Reason::kFragmented, "mig.fragmented",
     "enough free MIG slices, but not where the profile may stand", true},
    {Reason::kSharersTaken, "sharers.taken", "GPUs are shared by as many pods as they may be",
     true},
    {Reason::kGpuMemoryTaken, "gpu-memory.taken", "not enough free GPU memory on one GPU", true},
    {Reason::kGpuCoresTaken, "gpu-cores.taken", "not enough free GPU cores on one GPU", true},
    {Reason::kDevicesHeld, "devices.held",
     "devices that are free are kept for another pod, which waits for them", true},
    {Reason::kPodReservedElsewhere, "pod.reserved-elsewhere",
     "pod already holds devices on another node", false},
    {Reason::kCapacitySpot, "capacity.spot",
     "node is spot capacity, which the pod's tenant does not use", false},
    {Reason::kIsolationLevel, "isolation.level",
     "node shares its GPUs by weaker means than the pod's tenant must be kept apart by", false},
    {Reason::kIsolationSharers, "isolation.sharers",
     "node's whole pool of shared GPUs counts, and has pods that this one may not meet", true},
    {Reason::kQuotaNever, "quota.never",
     "more than the pod's tenant may ever use there, with all that it may borrow", false},
    {Reason::kQuotaWait, "quota.wait",
     "more than is left now of the tenant's quota and of what it may borrow", true},
});

}  // namespace

std::span<const ReasonInfo> Reasons() { return kReasons; }

const ReasonInfo& InfoOf(Reason reason) {
  const auto& info = kReasons[static_cast<std::size_t>(reason)];
  assert(info.reason == reason);
  return info;
}

}  // namespace offcut::scheduler
