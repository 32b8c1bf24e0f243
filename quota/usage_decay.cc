#include "quota/usage_decay.h"

#include <array>
#include <cassert>

#include "quota/exact.h"

namespace offcut::quota {
namespace {

constexpr int kFractionBits = 56;

// The largest integer whose square is at most `square`. Requires: square < 2^124.
constexpr std::int64_t SquareRoot(Wide square) {
  std::int64_t root = 0;
  for (std::int64_t bit = std::int64_t{1} << 61; bit > 0; bit >>= 1) {
    const Wide next = root + bit;
    if (next * next <= square) root += bit;
  }
  return root;
}

// Element i is 2^-(1/2^(i+1)) in 1/2^62: the square root of one half, the root of that, and so on.
constexpr std::array<std::int64_t, kFractionBits> RootsOfOneHalf() {
  std::array<std::int64_t, kFractionBits> roots{};
  std::int64_t last = kDecayOne / 2;
  for (std::int64_t& root : roots) {
    root = SquareRoot(Wide{last} << 62);
    last = root;
  }
  return roots;
}

constexpr std::array<std::int64_t, kFractionBits> kRootsOfOneHalf = RootsOfOneHalf();

}  // namespace

std::int64_t KeptAfter(std::int64_t passed, std::int64_t half_life) {
  assert(passed >= 0 && half_life > 0);
  const std::int64_t halvings = passed / half_life;
  if (halvings >= 62) return 0;
  Wide rest = passed % half_life;
  std::int64_t kept = kDecayOne;
  for (const std::int64_t root : kRootsOfOneHalf) {
    rest *= 2;
    if (rest < half_life) continue;
    rest -= half_life;
    kept = Scaled(root, kept);
  }
  return kept >> halvings;
}

std::int64_t Scaled(std::int64_t factor, std::int64_t amount) {
  assert(factor >= 0 && factor <= kDecayOne && amount >= 0);
  return static_cast<std::int64_t>((Wide{factor} * amount + kDecayOne / 2) / kDecayOne);
}

std::int64_t DecayedUsage(std::int64_t usage, std::int64_t current, std::int64_t kept) {
  return SaturatingAdd(Scaled(kept, usage), Scaled(kDecayOne - kept, current));
}

std::int64_t EntryPenalty(std::int64_t charge, std::int64_t kept) {
  return Scaled(kDecayOne - kept, charge);
}

}  // namespace offcut::quota
