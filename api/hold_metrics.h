// What is kept for pods, as Prometheus sees it, worked out of one snapshot at each scrape:
//   offcut_holds{cause}          places that are kept; cause reclaim or date
//   offcut_held_devices{cause}   GPUs that their pods are to get there
// Pure.
#pragma once

#include <string>

#include "scheduler/snapshot.h"

namespace offcut::api {

// In the Prometheus text format, version 0.0.4.
std::string PrintHoldMetrics(const scheduler::Snapshot& snapshot);

}  // namespace offcut::api
