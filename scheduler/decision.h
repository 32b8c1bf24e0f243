// The decisions: filter, score, reserve and preempt, each on a snapshot. Filter and score advise
// and may be stale by bind time; Reserve decides, on the newest state. Pure; thread-safe by being
// so.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "binpack/strategy.h"
#include "scheduler/evaluation.h"
#include "scheduler/evaluation_cache.h"
#include "scheduler/policy.h"
#include "scheduler/snapshot.h"
#include "scheduler/victim_finder.h"

namespace offcut::scheduler {

// Whether the pod fits on the node now.
Verdict FilterNode(const Node& node, const Pod& pod, const Policy& policy, Prefilter prefilter);

// One verdict a name, in the order of `node_names`. A pod that asks for no device of ours fits
// everywhere. A pod that holds devices already fits its own node only.
std::vector<Verdict> Filter(const Snapshot& snapshot, const Pod& pod,
                            std::span<const std::string> node_names, const Policy& policy,
                            Prefilter prefilter);

// The same by the policy and the prefilter of the cache, which it looks up and fills.
std::vector<Verdict> Filter(const Snapshot& snapshot, const Pod& pod,
                            std::span<const std::string> node_names, EvaluationCache& cache);

// Whether a refusal of `pod` by that node may go to FailedNodes (eviction may be tried) and not to
// FailedAndUnresolvableNodes, as far as its reason says.
bool IsPreemptable(Reason reason, const Pod& pod, std::string_view node_name, Refusals refusals);

inline constexpr std::int64_t kScoreMax = 10;  // MaxExtenderPriority

// What a node's best placement costs, without what opening a whole node does.
struct NodeCost {
  bool fits = false;
  std::int64_t cost = 0;
  int fill_level_permille = 0;  // with the pod on it
  bool opens_whole_node = false;
  std::vector<binpack::CostTerm> terms;
  binpack::Placement placement;
};

NodeCost CostOf(const Node& node, const Pod& pod, const Policy& policy,
                const binpack::PackingModel& model, Prefilter prefilter);

// One score, 0..kScoreMax, a name. Strict: 10 for the best as IsCheaper() has it, and 0 for all
// others. Proportional: ranks, from 10 for the lowest cost down to 0. A node where the pod does
// not fit gets 0; all get 0 if the pod asks for no device of ours.
std::vector<std::int64_t> Score(const Snapshot& snapshot, const Pod& pod,
                                std::span<const std::string> node_names, const Policy& policy,
                                Prefilter prefilter);

std::vector<std::int64_t> Score(const Snapshot& snapshot, const Pod& pod,
                                std::span<const std::string> node_names, EvaluationCache& cache);

// Gives the pod devices on that node, in `next`, or says why not. Idempotent: a pod that holds
// devices on that very node fits and keeps them. The pod becomes known if it was not.
struct Reservation {
  Verdict verdict;
  DeviceRecord record;  // if the verdict fits and the pod asks for devices
  bool is_new = false;  // false: it was there before
};
Reservation Reserve(Snapshot& next, const Pod& pod, std::string_view node_name,
                    const Policy& policy, Prefilter prefilter);

// What a placement is on record as.
DeviceRecord RecordOf(const Inventory& inventory, const Pod& pod,
                      const binpack::Placement& placement, const PodCharge& charge);

// The candidates that would let the pod in, in the order given, each with those who must go for it
// (scheduler/victim_finder.h), by descending priority, then by UID. Dropped: a candidate where
// evictions cannot help, or are not needed; one with a named victim that stands on another node or
// has no lower priority; and one on a node that we do not know. For a pod without devices the named
// victims stay what they are. None is kept for a pod that holds devices already: filter offers it
// its own node; nor for one for which we evict others. `now_s`: seconds since 1970.
std::vector<PreemptionCandidate> Preempt(const Snapshot& snapshot, const Pod& pod,
                                         std::span<const PreemptionCandidate> candidates,
                                         const Policy& policy, Prefilter prefilter,
                                         std::int64_t now_s);

// Which refusals go to FailedNodes, by name. What IsPreemptable() allows, and `pod` would fit there
// by devices, isolation and quota once all had left that Preempt() may evict for it: of those who
// may never go (priority, bands, time to run, tenants, gangs, unknown devices) it expects nothing.
// A nominated node is not asked: its victims may be gone already. `verdicts`: of Filter() for those
// names.
std::vector<bool> PreemptableRefusals(const Snapshot& snapshot, const Pod& pod,
                                      std::span<const std::string> node_names,
                                      std::span<const Verdict> verdicts, const Policy& policy,
                                      Prefilter prefilter, std::int64_t now_s);

// Whether the pod had better wait for the node that it is nominated to than preempt elsewhere: it
// fits there once every pod of lower priority has left, and its nomination has not lapsed. For a
// pod that filter refuses on that node although kube-scheduler offers it: the victims are gone for
// kube-scheduler, and a watch that lags shows them to us still.
bool AwaitsNominatedNode(const Snapshot& snapshot, const Pod& pod, const Policy& policy,
                         Prefilter prefilter);

}  // namespace offcut::scheduler
