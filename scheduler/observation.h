// Devices as the kubelet reports them. From Kubernetes 1.36 on a pod's status names the devices
// that its app containers got (allocatedResourcesStatus); with the stock device plugin nobody else
// ever says which.
//
// A UUID tells devices apart and not which index it has, so an index is only a name that we give:
// the one that we assumed, as long as it is not another device's already. Two pods that we assumed
// on different GPUs and that report the same one, or the other way round, are drift.
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/node.h"

namespace offcut::scheduler {

// Which GPU of the node has which UUID, as far as pods have reported.
class GpuIdentities {
 public:
  // Begins with the UUIDs that the inventory knows.
  explicit GpuIdentities(const binpack::NodeState& devices);

  // The index of that GPU. An unknown one gets `preferred`, or the first that has no UUID yet; -1:
  // there are more UUIDs than GPUs.
  int IndexOf(std::string_view uuid, int preferred);

 private:
  std::map<std::string, int, std::less<>> by_uuid_;
  std::vector<bool> is_named_;  // by index
};

struct Observation {
  binpack::Placement placement;
  std::vector<std::string> uuids;  // of the pieces
  std::vector<int> unhealthy;      // indices of GPUs
};

// What the holder reports of its whole GPUs and slots; nullopt where it reports none (yet), or not
// as many as it asks for. `assumed`: where it was thought to be; may be null.
std::optional<Observation> Observe(const Pod& pod, const binpack::RequestShape& shape,
                                   const binpack::Placement* assumed, GpuIdentities& identities);

// Whether the kubelet chose other GPUs than were assumed.
bool IsDrift(const binpack::Placement& assumed, const binpack::Placement& observed);

}  // namespace offcut::scheduler
