// Gate mode: pods that wait for quota behind the scheduling gate offcut.dev/quota cost
// kube-scheduler nothing, be they ever so many. Whoever leads takes the gate off those whose turn
// it is.
//
// The turn: the tenant with the lowest dominant share first, within a tenant priority, then age
// (quota/fair_order.h). As many as quota has room for, beside those that hold devices and those
// that have passed the gate and wait for devices. All members of a gang that it needs at least, or
// none.
//
// How much a pod will be charged may depend on the node that it gets. Of the kinds of node that
// could serve it one counts where quota has room for it now, and of several the cheapest.
// Filter judges again, exactly, by the node. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "scheduler/snapshot.h"

namespace offcut::scheduler {

// The UIDs of pods that have the gate and need it no longer, in the order of their turns, at most
// `at_most`, but for the rest of a gang. Pods that other gates hold back as well are left out, and
// so are those that are being deleted. A pod without tenant needs no gate.
std::vector<std::string> GatesToLift(const Snapshot& snapshot, std::size_t at_most);

}  // namespace offcut::scheduler
