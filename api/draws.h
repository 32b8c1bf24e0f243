// Random numbers for simulations, the same for a seed on every platform: the standard library's
// distributions may differ by version. Pure but for the state of the generator.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace offcut::api {

// Between 0 and 1, both excluded.
inline double DrawUniform(std::mt19937_64& random) {
  return (static_cast<double>(random() >> 11U) + 0.5) / 9007199254740992.0;  // 2^53
}

// Of mean 1.
inline double DrawExponential(std::mt19937_64& random) { return -std::log(DrawUniform(random)); }

}  // namespace offcut::api
