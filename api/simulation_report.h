// A simulation's figures as text.
#pragma once

#include <string>
#include <string_view>

#include "api/simulate_command.h"

namespace offcut::api {

// "table" for people; "json"; "csv": the curve, a line a percentage of arrived load.
std::string PrintReport(const SimulationReport& report, std::string_view output);

}  // namespace offcut::api
