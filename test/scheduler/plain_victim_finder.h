// Finds victims the slow way: every place is searched, and for every question of a search the
// node's devices are worked out anew. What scheduler/victim_finder.h is compared with: it must
// answer the same.
#pragma once

#include <cstdint>
#include <optional>

#include "binpack/request_shape.h"
#include "scheduler/snapshot.h"
#include "scheduler/victim_finder.h"

namespace offcut::scheduler {

std::optional<PreemptionCandidate> FindVictimsPlainly(const Snapshot& snapshot, const Pod& pod,
                                                      const Policy& policy, const Node& node,
                                                      const binpack::RequestShape& shape,
                                                      const PreemptionCandidate& named,
                                                      std::int64_t now_s);

}  // namespace offcut::scheduler
