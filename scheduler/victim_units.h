// Who on a node may be evicted for a pod, in units: a unit goes whole or not at all.
//
// Never: pods that are not bound yet; pods of the same priority or more, but those of other tenants
// where the rules take any priority from borrowers; pods of its protected band; those that are
// spared, or have just started; pods without tenant, where there are tenants; whoever has been
// charged elsewhere, for a pod of another tenant; and unknown holders, where it matters which
// devices they hold. Of a gang those
// beyond its least number go one by one; of one that has no more than that all go together, and
// only where all are on the node. What tenants may lose beside that is the business of
// quota/victims.h. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quota/tenant_tree.h"
#include "scheduler/node.h"
#include "scheduler/policy.h"
#include "scheduler/tenancy.h"

namespace offcut::scheduler {

// Some of a node's units: their indices, each once.
using Units = std::vector<std::size_t>;

struct VictimUnit {
  std::vector<std::size_t> holders;  // indices in Node::holders, ascending
  int tenant = kNoTenant;
  std::int32_t priority = 0;   // the highest of them
  std::int64_t created_s = 0;  // the latest of them
  std::int64_t devices = 0;    // quota::kWholeDevice a GPU
  std::int64_t device_s = 0;   // GPU time that is lost, in GPUs times seconds
  bool is_ending = false;      // all of them
  std::string_view uid;        // the lowest of them
  quota::Charge charge;        // empty where there are no tenants
};

// How many pods of each gang have devices or soon will, and do not leave; by namespace and gang.
using GangSizes = std::map<std::pair<std::string, std::string>, int>;

struct Evictor {
  const Pod& pod;
  const PreemptionRules& rules;
  quota::VictimRules quota_rules;
  const Tenancy* tenancy = nullptr;  // nullptr: there are no tenants
  Payer payer;                       // of the pod
  std::int64_t now_s = 0;            // seconds since 1970
};

// Ordered by UID. `gangs` is read where a holder is of a gang.
std::vector<VictimUnit> VictimUnitsOf(const Node& node, const Evictor& evictor,
                                      const GangSizes& gangs);

}  // namespace offcut::scheduler
