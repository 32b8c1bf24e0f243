// Why a pod may not go to a node: one closed list.
//
// kube-scheduler merges equal texts and wakes a pod whose message changed, so the text of a reason
// is constant: no names, no numbers. The code is a metric's label.
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace offcut::scheduler {

enum class Reason : std::uint8_t {
  kFits,
  // The node, whatever the pod asks of its devices.
  kNodeUnknown,
  kNodeCordoned,
  kNodeReconfiguring,
  kNodeMigInvalid,
  kNodeAgentUnsupported,
  kNodeHolderUnreadable,
  // The node's CPU, memory and pod count.
  kHostCpu,
  kHostMemory,
  kHostPods,
  // The request cannot be met there at all.
  kResourceNotOffered,
  kFractionsNotServed,
  kModelNotAccepted,
  kUuidNotAccepted,
  kProfileNotOnModel,
  kExceedsNode,
  kSlotsPerContainer,
  kSlotsMemory,
  // The request cannot be met there now.
  kDevicesUnhealthy,
  kGpusTaken,
  kSlotsTaken,
  kInstancesTaken,
  kFragmented,
  kSharersTaken,
  kGpuMemoryTaken,
  kGpuCoresTaken,
  kDevicesHeld,
  // The pod's own state, and its tenant's.
  kPodReservedElsewhere,
  kCapacitySpot,
  kIsolationLevel,
  kIsolationSharers,
  kQuotaNever,
  kQuotaWait,
};

struct ReasonInfo {
  Reason reason;
  std::string_view code;    // "slots.taken"
  std::string_view text;    // for the pod's owner
  bool evictions_may_help;  // whether pods that leave the node could make room
};

// Every reason, in the order of the enum.
std::span<const ReasonInfo> Reasons();

const ReasonInfo& InfoOf(Reason reason);

// A yes, or a no with its reason.
struct Verdict {
  Reason reason = Reason::kFits;
  bool fits() const { return reason == Reason::kFits; }
  bool operator==(const Verdict&) const = default;
};

}  // namespace offcut::scheduler
