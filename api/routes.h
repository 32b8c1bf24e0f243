// The verbs of kube-scheduler's extender protocol over HTTP: filter, prioritize, preempt and bind.
//
//   POST /v1/filter, /v1/prioritize, /v1/preempt, /v1/bind, and each without /v1
//
// Which status, where the protocol leaves it open: kube-scheduler reads the body of a 200 alone, so
// what the pod's owner should read is a 200 with `Error` set. Any other status is for whoever set
// the scheduler up:
//   404  another path           405  not POST
//   415  another content type than application/json (none at all is taken for it)
//   400  no JSON, a member of the envelope of the wrong type, or no Pod
//   413  above a limit of api/extender_reader.h
//   503  not synced with the API server yet, or this replica does not lead
// A Pod that is sound JSON but cannot be read ("nvidia.com/gpu": "-1") is told in `Error` by
// filter; prioritize, which has no such member, scores every node 0, and preempt keeps no node.
//
// Prefilter is kube-scheduler throughout: CPU, memory and pod count are its business.
#pragma once

#include "api/cluster.h"
#include "api/decision_cache.h"
#include "api/http.h"
#include "api/metrics.h"
#include "api/recent_pods.h"
#include "scheduler/policy.h"
#include "scheduler/state_store.h"

namespace offcut::api {

// What the routes work on. All of it outlives them.
struct ExtenderContext {
  scheduler::StateStore& store;
  const scheduler::Policy& policy;
  DecisionCache& decisions;  // of that policy
  RecentPods& recent_pods;
  Metrics& metrics;
  Cluster* cluster = nullptr;  // null: the state comes from files, and bind decides alone
};

// Answers one request and counts it. Thread-safe.
//
// Filter and prioritize take each node once, at its first place, and answer in the form that they
// were asked in. With both forms in one request Nodes counts: kube-scheduler understands that
// answer in either mode. Filter changes no state but for `recent_pods`.
// Bind takes the pod from the state, else from `recent_pods`, and reserves on the newest state; a
// bind that comes again gets the answer of the first. With a cluster the binding is then made at
// its API server (api/binder.h), and filter and prioritize leave an advisory claim.
// Preempt then keeps no candidate for a pod whose victims have gone already and are only late for
// us (api/nominee_waits.h).
void AnswerExtender(const ExtenderContext& context, const HttpRequest& request,
                    const Respond& respond);

}  // namespace offcut::api
