// How many calls a second we may make of the API server: `burst` at once, `per_second` in the long
// run, as client-go's flow control has it. Time comes in as an argument. Pure; not synchronised.
#pragma once

#include <algorithm>
#include <chrono>

namespace offcut::api {

class TokenBucket {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Seconds = std::chrono::duration<double>;

  // Full at `now`. Requires: both are positive, and `burst` is at least 1.
  TokenBucket(double per_second, double burst, TimePoint now)
      : per_second_(per_second), burst_(burst), tokens_(burst), filled_(now) {}

  // Takes a token and returns zero; or takes none and returns how long to wait for one.
  std::chrono::nanoseconds Take(TimePoint now) {
    if (now > filled_) {
      tokens_ = std::min(burst_, tokens_ + Seconds(now - filled_).count() * per_second_);
      filled_ = now;
    }
    if (tokens_ < 1) {
      // Rounded up, so that whoever waits so long gets one.
      return std::chrono::ceil<std::chrono::microseconds>(Seconds((1 - tokens_) / per_second_));
    }
    tokens_ -= 1;
    return std::chrono::nanoseconds{0};
  }

 private:
  double per_second_;
  double burst_;
  double tokens_;
  TimePoint filled_;
};

}  // namespace offcut::api
