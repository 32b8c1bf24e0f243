// How much a cluster has of what pods are charged, by the pools of a policy.
//
// What surprises:
// - Where the device plugin counts static MIG instances, nobody sees the GPUs: such a node has what
//   its instances are charged, and so seven 1g.10gb are 1225/1400 of a GPU.
// - A GPU on which instances are made when they are asked for has as many of each profile as fit on
//   it if no other is made there.
// - Unhealthy devices count, and those of closed nodes: the cluster has them, and what is
//   guaranteed should not hang on the day.
// - What the provider may take back (spot, preemptible) does not count: nothing is guaranteed by
//   it. The pool is there all the same.
// Units: those of quota/amount.h.
// Pure.
#pragma once

#include <map>
#include <string>

#include "quota/amount.h"
#include "scheduler/snapshot.h"
#include "scheduler/tenancy.h"

namespace offcut::scheduler {

// Pools without a device are left out. A pool of such nodes alone has nothing.
std::map<std::string, quota::Amount> CapacityByPool(const Snapshot& snapshot,
                                                    const Tenancy& tenancy);

}  // namespace offcut::scheduler
