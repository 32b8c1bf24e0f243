// What holds and evictions ask of the API server. Pure.
#pragma once

#include <chrono>

#include "api/kube_call.h"
#include "scheduler/hold.h"
#include "scheduler/pod.h"

namespace offcut::api {

// Short, so that what was sent as leader has come to an end before another may lead.
inline constexpr std::chrono::seconds kReclaimCallTimeout{4};

// Writes the hold on the pod that it is for; nullptr: takes it off. The pod's UID is a
// precondition.
KubeRequest HoldRequest(const scheduler::Pod& pod, const scheduler::Hold* hold);

// Asks for the eviction of the very pod of that UID; 429: a disruption budget forbids it now. A
// trial asks whether it would be allowed, and evicts nobody.
// Source: Kubernetes, "API-initiated Eviction".
KubeRequest EvictionRequest(const scheduler::Pod& pod, bool is_trial);

}  // namespace offcut::api
