// What a bind decides and what it asks of the API server. Pure, but for the state that it is given.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <string_view>

#include "api/error.h"
#include "api/extender_types.h"
#include "api/metrics.h"
#include "scheduler/decision.h"
#include "scheduler/policy.h"
#include "scheduler/state_store.h"

namespace offcut::api {

// A binding between the reservation of its devices and the API server's word on it.
struct OpenBinding {
  ExtenderBindingArgs args;
  scheduler::DeviceRecord record;  // without devices where the pod asks for none
  bool is_bound = false;           // it was bound before; nothing is left to do
};

// What is done to the state before a bind is judged on it. It stays done if the bind is carried
// out. Error: the bind is refused by this text.
using Preparation = std::function<std::expected<void, std::string>(scheduler::Snapshot&)>;

// Reserves devices for `pod` on the newest state, and logs what is refused; counts it as a
// conflict where the state may have changed since filter. A bind that
// comes again finds its own reservation. Error: what kube-scheduler is told; the state is as it
// was.
// Thread-safe.
std::expected<OpenBinding, std::string> ReserveForBind(
    scheduler::StateStore& store, const scheduler::Policy& policy, Metrics& metrics,
    const ExtenderBindingArgs& args, const scheduler::Pod& pod, const Preparation& prepare = {});

// "/api/v1/namespaces/team-a/pods/train-7", and behind it "/binding".
std::string PodPath(std::string_view name_space, std::string_view name);

// The outcome of a bind in the log: "bound", and by which target workload the devices were chosen:
// "bound, target workload 91c0ffee51abad1d".
std::string BoundText(const scheduler::DeviceRecord& record);

// The body of POST .../binding: the pod's UID is a precondition, and the annotations are merged
// into the pod by the very write that sets its node.
// Source: Kubernetes, pkg/registry/core/pod/storage/storage.go.
std::string PrintBinding(const OpenBinding& binding);

// What a pod that was read after a binding of unknown outcome, or after a conflict, says about it.
enum class BindingState {
  kBound,      // by us: our node, our record
  kElsewhere,  // by others, or by us with another record
  kUnbound,
  kGone,  // another pod has the name
};
BindingState StateOf(const OpenBinding& binding, const scheduler::Pod& pod);

}  // namespace offcut::api
