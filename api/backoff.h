// How long to wait before the next try, as client-go's reflector has it: 0.8 s, doubled up to 30 s,
// each with up to as much again at random, so that clients do not come back all at once.
// Time and randomness come in. Pure; not synchronised.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace offcut::api {

struct BackoffSettings {
  std::chrono::milliseconds first{800};
  std::chrono::milliseconds max = std::chrono::seconds{30};  // before the random part
  // Without a failure for so long, the next one begins anew.
  std::chrono::milliseconds reset_after = std::chrono::minutes{2};
};

class Backoff {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Requires: 0 < first <= max.
  Backoff(const BackoffSettings& settings, std::uint64_t seed)
      : settings_(settings), next_(settings.first), random_(seed) {}

  // The next failure begins anew.
  void Reset() { next_ = settings_.first; }

  // Notes a failure at `now`, and returns how long to wait.
  std::chrono::milliseconds Next(TimePoint now) {
    if (has_failed_ && now - failed_ > settings_.reset_after) next_ = settings_.first;
    has_failed_ = true;
    failed_ = now;
    const std::chrono::milliseconds base = next_;
    next_ = std::min(base * 2, settings_.max);
    std::uniform_int_distribution<std::int64_t> more(0, base.count());
    return base + std::chrono::milliseconds{more(random_)};
  }

 private:
  BackoffSettings settings_;
  std::chrono::milliseconds next_;
  std::mt19937_64 random_;
  bool has_failed_ = false;
  TimePoint failed_;
};

}  // namespace offcut::api
