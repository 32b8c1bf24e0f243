// Random nodes of every kind of GPU, and random requests that make sense on some of them, for
// property tests. The same generator state gives the same node on every platform.
#pragma once

#include <random>

#include "binpack/placement.h"

namespace offcut::testing {

// One to eight GPUs, partly taken, some of them ill; of one kind, seldom of several.
binpack::NodeState RandomNode(std::mt19937& random);

// For one kind of GPU, seldom for two; made for that node, which may not serve it.
binpack::RequestShape RandomShape(std::mt19937& random, const binpack::NodeState& node);

}  // namespace offcut::testing
