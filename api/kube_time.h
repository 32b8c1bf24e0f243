// Kubernetes' MicroTime. Pure.
#pragma once

#include <chrono>
#include <string>

namespace offcut::api {

// "2026-11-29T12:00:00.000000Z".
std::string MicroTimeText(std::chrono::system_clock::time_point time);

}  // namespace offcut::api
