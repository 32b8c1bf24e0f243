// What an operator decides, as the decisions read it. How it is written in a file, and what makes a
// file wrong, is api/policy_file.h.
// Pure values; a published Policy never changes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "binpack/packing_model.h"
#include "scheduler/preemption_rules.h"
#include "scheduler/reclaim_rules.h"
#include "scheduler/tenancy.h"

namespace offcut::scheduler {

// Where a refusal goes in a filter answer. Up to Kubernetes 1.37 a shortage that only an extender
// sees never leads to preemption, and in FailedNodes it wakes the pod again and again; for
// schedulers with placeholders FailedNodes is right where evicting pods could make room.
enum class Refusals { kUnresolvable, kPreemptable };

// kStrict: the best node gets 10 and all others 0, so that no other scorer and no random tie-break
// outvotes the packing. kProportional: ranks spread over 0..10.
enum class Scores { kStrict, kProportional };

// How equal costs are ordered; while whole nodes have a price, after what IsCheaper() says goes
// before. kStrict: fill level, then node name. kName: node name alone. Which of
// them is better depends on the strategy; see TiesOf(). kRandom: by a draw of the packing's seed,
// the pod's UID and the node's name; for simulations, as a policy cannot ask for it.
enum class Ties { kStrict, kName, kRandom };

// The extended resources that are ours. Names are matched exactly, never by substring.
struct ResourceNames {
  std::string gpu = "nvidia.com/gpu";
  std::string mig_prefix = "nvidia.com/mig-";    // then the profile, '+' written as '.'
  std::string shared_suffix = ".shared";         // what renameByDefault appends
  std::string gpu_memory = "nvidia.com/gpumem";  // MiB on each GPU
  std::string gpu_memory_percent = "nvidia.com/gpumem-percentage";  // of each GPU
  std::string gpu_cores = "nvidia.com/gpucores";                    // percent of each GPU
  // Resources that kube-scheduler is told to ignore, so that it offers nodes that lack them.
  std::vector<std::string> ignored_by_scheduler = {
      "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores"};
  // Whether the device plugin fails a container that asks for more than one slot, by resource. One
  // that is not named here follows the plugin's defaults: true under MPS, false under time-slicing.
  std::map<std::string, bool> fail_requests_greater_than_one;
};

inline constexpr std::string_view kDefaultStrategy = "offcut";

struct Policy {
  Refusals refusals = Refusals::kUnresolvable;
  // The strategy with its weights. Never null. Where the strategy reads a target workload, a
  // snapshot has a model of its own that goes before this one.
  std::shared_ptr<const binpack::PackingModel> packing = binpack::PreparePacking(kDefaultStrategy);
  // What pods are expected to ask for; nullopt: it follows from those that run and wait.
  std::optional<binpack::TargetWorkload> target_workload;
  Scores scores = Scores::kStrict;
  std::optional<Ties> ties;  // nullopt: as the strategy packs best
  ResourceNames resources;
  PreemptionRules preemption;
  ReclaimRules reclaim;
  DatedHoldRules dated_holds;
  // As the file has it. Decisions go by that of the snapshot, which may be newer.
  std::shared_ptr<const Tenancy> tenancy;  // null: no tenants
};

// Quota's part of who may be evicted.
quota::VictimRules QuotaRulesOf(const Policy& policy);

// The policy's ties, or those with which its strategy packs best.
Ties TiesOf(const Policy& policy);

}  // namespace offcut::scheduler
