// The devices on record for a pod: what the annotation `offcut.dev/devices` says, in our own or,
// read from HAMi's annotations, in its words. A record, not a truth: whoever reads one checks it
// against the pod's UID, node and request.
// Pure values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "binpack/request_shape.h"
#include "quota/amount.h"

namespace offcut::scheduler {

// kAssumed: the kubelet picks, and this is what its rule should give. kObserved: the kubelet has
// reported it. kExact: the agent obeys us.
enum class Certainty { kAssumed, kObserved, kExact };

struct RecordedDevice {
  std::string container;
  int gpu = -1;      // index on the node; -1: not known
  std::string uuid;  // empty: not known
  binpack::PieceKind kind = binpack::PieceKind::kWhole;
  std::string profile;          // kInstance
  int start = -1;               // kInstance; -1: not known
  int size = 0;                 // kInstance: memory slices; 0: not known
  std::int64_t memory_mib = 0;  // what the pod may use of it; 0: not known
  int cores_percent = 0;        // kFraction

  bool operator==(const RecordedDevice&) const = default;
};

struct DeviceRecord {
  int version = 1;
  std::string pod_uid;
  std::string node;
  std::string agent;  // "nvidia", "hami"
  Certainty certainty = Certainty::kAssumed;
  std::string tenant;    // empty: none
  std::string workload;  // the target workload that the choice went by, as its hash; empty: none
  quota::Amount charge;
  std::vector<RecordedDevice> devices;

  bool operator==(const DeviceRecord&) const = default;
};

}  // namespace offcut::scheduler
