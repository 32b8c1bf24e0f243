// A simulation's figures as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/simulate_command.h"

namespace offcut::api {

// What stands below the failed pods where there are such.
inline constexpr std::string_view kUnplaceableLine =
    "unplaceable   fit no node, even an empty one; what they ask for is not counted\n";

// Where GPUs are closed.
std::string ClosedLine(std::int64_t closed_units);

// "table" for people; "json"; "csv": the curve, a line a percentage of arrived load.
std::string PrintReport(const SimulationReport& report, std::string_view output);

}  // namespace offcut::api
