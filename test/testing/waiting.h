// Waiting for what another thread will do.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace offcut::testing {

inline constexpr std::chrono::seconds kWaitingPatience{20};  // then something is wrong

// Whether it comes to be so.
inline bool WaitUntil(const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + kWaitingPatience;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace offcut::testing
