// A churn simulation's figures as text.
#pragma once

#include <string>
#include <string_view>

#include "api/churn_simulation.h"

namespace offcut::api {

// "table" for people; "json"; "csv": the curve, a line a period, warm-up included.
std::string PrintChurnReport(const ChurnReport& report, std::string_view output);

}  // namespace offcut::api
