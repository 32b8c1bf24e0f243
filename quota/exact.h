// Integers that never wrap: sums stop at the ends of their type, and ratios are compared exactly.
// Sums of charges stay exact, too, so that a release undoes its charge: a charge is at most
// kAmountMax, and 16,000 that are so absurd do not reach the end.
// Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace offcut::quota {

__extension__ using Wide = __int128;

// No limit. Larger than anything that is not.
inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

// The largest amount that a quota or the charge of one pod may state: 2 x 10^11 GPUs, or 2^48
// MiB.
inline constexpr std::int64_t kAmountMax = std::int64_t{1} << 48;

constexpr std::int64_t SaturatingAdd(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

constexpr std::int64_t SaturatingSub(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

constexpr std::int64_t Saturated(Wide value) {
  if (value > std::numeric_limits<std::int64_t>::max()) {
    return std::numeric_limits<std::int64_t>::max();
  }
  if (value < std::numeric_limits<std::int64_t>::min()) {
    return std::numeric_limits<std::int64_t>::min();
  }
  return static_cast<std::int64_t>(value);
}

constexpr std::int64_t SaturatingMul(std::int64_t a, std::int64_t b) {
  return Saturated(Wide{a} * b);
}

// Requires: numerator >= 0, denominator > 0.
struct Ratio {
  Wide numerator = 0;
  Wide denominator = 1;
};

// Exact, by the quotients of Euclid's algorithm: a product of two such numbers needs 256 bits.
constexpr std::strong_ordering Compare(Ratio a, Ratio b) {
  bool reversed = false;
  while (true) {
    const Wide whole_a = a.numerator / a.denominator;
    const Wide whole_b = b.numerator / b.denominator;
    if (whole_a != whole_b) {
      return (whole_a < whole_b) != reversed ? std::strong_ordering::less
                                             : std::strong_ordering::greater;
    }
    a.numerator -= whole_a * a.denominator;
    b.numerator -= whole_b * b.denominator;
    if (a.numerator == 0 && b.numerator == 0) return std::strong_ordering::equal;
    if (a.numerator == 0 || b.numerator == 0) {
      return (a.numerator == 0) != reversed ? std::strong_ordering::less
                                            : std::strong_ordering::greater;
    }
    a = {a.denominator, a.numerator};
    b = {b.denominator, b.numerator};
    reversed = !reversed;
  }
}

// Rounded up, at most the largest integer.
constexpr std::int64_t Ceiling(Ratio ratio) {
  return Saturated(ratio.numerator / ratio.denominator +
                   (ratio.numerator % ratio.denominator != 0 ? 1 : 0));
}

}  // namespace offcut::quota
