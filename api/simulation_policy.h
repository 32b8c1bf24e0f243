// The policy that a simulation decides by.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "api/error.h"
#include "api/simulation_input.h"
#include "scheduler/policy.h"

namespace offcut::api {

// `ties`: "strict", "name" or "random". The workload is the input's. Error: no such strategy or
// ties.
std::expected<scheduler::Policy, Error> SimulationPolicy(const std::string& strategy,
                                                         const std::string& ties,
                                                         std::uint64_t seed,
                                                         const SimulationInput& input);

}  // namespace offcut::api
