// How long property tests of quota run, and from which seed.
//   OFFCUT_QUOTA_STEPS=100000000 OFFCUT_QUOTA_SEED=7 bin/quota_test --gtest_filter='*Property*'
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace offcut::quota {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::int64_t kPropertySteps = 100'000;
#else
inline constexpr std::int64_t kPropertySteps = 1'000'000;
#endif

inline std::int64_t PropertySteps() {
  const char* steps = std::getenv("OFFCUT_QUOTA_STEPS");
  return steps != nullptr ? std::stoll(steps) : kPropertySteps;
}

// A new one each time: what fails must print it.
inline std::uint64_t PropertySeed() {
  const char* seed = std::getenv("OFFCUT_QUOTA_SEED");
  return seed != nullptr ? std::stoull(seed) : std::random_device{}();
}

}  // namespace offcut::quota
