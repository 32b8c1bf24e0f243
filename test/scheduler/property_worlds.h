// How many random worlds property tests of preemption look at, and from which seed.
//   OFFCUT_VICTIM_WORLDS=1000000 OFFCUT_VICTIM_SEED=7 bin/scheduler_test --gtest_filter=TEST
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace offcut::scheduler {

// Calls `check` with a seed for each world, until one of them fails; that one's is printed.
template <typename Check>
void ForEachWorld(std::int64_t worlds, Check check) {
  const char* worlds_text = std::getenv("OFFCUT_VICTIM_WORLDS");
  const char* seed_text = std::getenv("OFFCUT_VICTIM_SEED");
  if (worlds_text != nullptr) worlds = std::stoll(worlds_text);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  worlds = (worlds + 9) / 10;
#endif
  // A new one each time.
  const std::uint64_t seed = seed_text != nullptr ? std::stoull(seed_text) : std::random_device{}();
  for (std::int64_t i = 0; i < worlds; ++i) {
    const std::uint64_t world = seed + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("OFFCUT_VICTIM_WORLDS=1 OFFCUT_VICTIM_SEED=" + std::to_string(world));
    check(world);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace offcut::scheduler
