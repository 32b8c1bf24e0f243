// The placements of a request on one node, as strategies compare them.
// Pure; not synchronised.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "binpack/fragmentation.h"
#include "binpack/placement.h"

namespace offcut::binpack {

struct Candidate {
  Placement placement;
  std::vector<GpuChange> changes;  // one a GPU that it touches
  std::int64_t units_taken = 0;    // of GPUs and pools
};

// Calls `visit` for each way to serve the request on the node that differs from the others in what
// it leaves behind, in ascending order of (GPU, start); of equal ones the lowest. Where the kubelet
// picks there is one at most. Host resources are ignored. Copies no NodeState for the requests that
// most pods make: none, whole GPUs, a share, one MIG instance; for others it searches, within the
// bounds of ForEachPlacement, and has one candidate if that ends without any.
void ForEachCandidate(const NodeView& node, const RequestShape& shape,
                      const std::function<void(const Candidate&)>& visit);

}  // namespace offcut::binpack
