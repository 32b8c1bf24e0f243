// How long the decisions of a simulation took. Not synchronised.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace offcut::api {

struct DecisionTimes {
  std::int64_t count = 0;
  double seconds = 0;  // reservations included
  double slowest_us = 0;

  double MeanUs() const { return count == 0 ? 0 : seconds * 1e6 / static_cast<double>(count); }

  // What `decide` returns.
  template <typename Decide>
  auto Measure(Decide decide) {
    const auto start = std::chrono::steady_clock::now();
    auto result = decide();
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    ++count;
    seconds += passed.count();
    slowest_us = std::max(slowest_us, passed.count() * 1e6);
    return result;
  }
};

}  // namespace offcut::api
