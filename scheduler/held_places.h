// Places that are kept for pods (scheduler/hold.h), and for whom, as people want to know it. Only
// holds that are in force. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "scheduler/snapshot.h"

namespace offcut::scheduler {

struct HeldPlace {
  std::shared_ptr<const Pod> owner;                   // has a hold
  std::vector<std::shared_ptr<const Pod>> waits_for;  // those of the hold that have not left
};

// What is kept for the pod; nullopt: nothing.
std::optional<HeldPlace> HeldPlaceOf(const Snapshot& snapshot, std::string_view uid);

// What is kept from the pod on the node, in the order of expectations there.
std::vector<HeldPlace> HeldPlacesAgainst(const Snapshot& snapshot, const Node& node,
                                         const Pod& pod);

struct HeldSum {
  std::int64_t holds = 0;
  std::int64_t devices = 0;  // what their owners would be charged; quota::kWholeDevice a GPU
};
// By the value of HoldCause.
std::array<HeldSum, 2> SumOfHeld(const Snapshot& snapshot);

}  // namespace offcut::scheduler
