// Times as the Kubernetes API writes them: Time and MicroTime. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "api/error.h"

namespace offcut::api {

// "2026-11-29T12:00:00.000000Z".
std::string MicroTimeText(std::chrono::system_clock::time_point time);

// "2026-11-29T12:00:00Z" of seconds since 1970.
std::string TimeText(std::int64_t time_s);

// Seconds since 1970 of an RFC 3339 time, fractions cut off.
std::expected<std::int64_t, Error> ParseTime(std::string_view text);

// Now, in seconds since 1970.
std::int64_t NowSeconds();

}  // namespace offcut::api
