// Holds, as the annotation `offcut.dev/hold` carries them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "api/error.h"
#include "scheduler/hold.h"

namespace offcut::api {

inline constexpr std::string_view kHoldAnnotation = "offcut.dev/hold";

inline constexpr int kHoldVersion = 1;
inline constexpr std::size_t kHoldVictimsMax = 1024;
// No hold lasts longer than this, whatever its deadline says.
inline constexpr std::int64_t kHoldSecondsMax = std::int64_t{7} * 24 * 3600;

// "reclaim", "date": as the annotation and the metrics say it.
std::string_view CauseText(scheduler::HoldCause cause);

// The value of the annotation, on one line.
std::string PrintHold(const scheduler::Hold& hold);

// Strict as the record of devices: another version, an unknown word, a wrong type, a time that is
// none and a number out of range are errors that name the member. Unknown members are ignored.
std::expected<scheduler::Hold, Error> ParseHold(std::string_view annotation);

}  // namespace offcut::api
