// What a pod is charged for the devices that it holds, by kind of GPU: a tenancy tells which pool
// each kind is of. The rules are those of quota/amount.h.
// Pure; not synchronised.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "binpack/node_state.h"
#include "binpack/request_shape.h"
#include "quota/amount.h"
#include "scheduler/device_record.h"

namespace offcut::scheduler {

// Of one kind of GPU.
struct KindCharge {
  std::shared_ptr<const binpack::GpuModel> model;  // may be null
  std::string product;
  quota::Amount amount;
  bool operator==(const KindCharge&) const = default;
};

// One entry a kind, in the order of the pieces. Empty: nothing is charged.
using PodCharge = std::vector<KindCharge>;

quota::Amount SumOf(const PodCharge& charge);

// What of each shared GPU, and of each pool of shared instances, is charged by now: the slots of
// one are never charged more than it is, so that the last of three may cost less than the first.
// Units: quota::kWholeDevice a GPU.
struct SlotsCharged {
  std::vector<std::int64_t> by_gpu;   // as NodeState::gpus; shorter: 0
  std::vector<std::int64_t> by_pool;  // as NodeState::pools
  bool operator==(const SlotsCharged&) const = default;
};

// The charge of the placement on that node, which is added to `charged`.
//
// A charge is fixed when the pod is bound, so what is on record for it counts. But a record is not
// a truth: the charge is worked out anew, and the recorded one counts for nothing but the few
// thousandths by which slots of one GPU may differ. `record`: of the pod on this node and of this
// placement; nullptr: none.
PodCharge ChargeOf(const binpack::NodeState& devices, const binpack::Placement& placement,
                   SlotsCharged& charged, const DeviceRecord* record = nullptr);

// What a request will be charged on the node, before it is known where.
struct ExpectedCharge {
  PodCharge charge;
  // Any placement is charged that. Not so where slots of one GPU are not charged alike, or where
  // the node has several kinds of GPU that may serve the request.
  bool is_exact = true;
  bool is_at_most = true;          // no placement is charged more: the node's GPUs are of one kind
  std::int64_t devices_slack = 0;  // how much less the devices may be charged then
};
ExpectedCharge ExpectCharge(const binpack::NodeState& devices, const binpack::RequestShape& shape);

}  // namespace offcut::scheduler
