// Division of integers that rounds to one side, whatever the sign: costs are compared, and a cut
// towards zero would treat gains and losses differently.
// Pure.
#pragma once

#include <cstdint>

namespace offcut::binpack {

// Requires: b > 0.
constexpr std::int64_t FloorDiv(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
constexpr std::int64_t CeilDiv(std::int64_t a, std::int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

}  // namespace offcut::binpack
