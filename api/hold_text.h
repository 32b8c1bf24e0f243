// What is kept for a pod, for people and for programs. Pure.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "scheduler/held_places.h"

namespace offcut::api {

inline constexpr std::size_t kWaitedForNamed = 3;  // in a text; of the others the number is told

// "node n, expected by 2026-11-30T12:00:00Z; waits for default/a, default/b, default/c and 5 more".
std::string HeldText(const scheduler::HeldPlace& place);

// The owner, the node, the cause, the times, and all that are waited for.
nlohmann::json ToJson(const scheduler::HeldPlace& place);

}  // namespace offcut::api
