// Devices that are kept for a pod that is not there yet: those of pods that were evicted for it, or
// those that will be free soonest. It stands in the annotation `offcut.dev/hold` of the pod that it
// is for, so that it outlives us; it ends when that pod is bound or gone, and at its deadline.
// Pure values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/device_record.h"

namespace offcut::scheduler {

// kReclaim: pods are evicted for it. kDate: nobody is; whoever holds the devices should have left
// by a date.
enum class HoldCause { kReclaim, kDate };

struct Hold {
  std::string pod_uid;
  std::string node;
  HoldCause cause = HoldCause::kReclaim;
  std::int64_t until_s = 0;              // seconds since 1970: from then on it holds nothing
  std::int64_t expected_s = 0;           // kDate: when the devices should be free
  std::vector<std::string> victim_uids;  // whose devices they are
  std::vector<RecordedDevice> devices;   // empty where the kubelet picks
  bool operator==(const Hold&) const = default;
};

}  // namespace offcut::scheduler
