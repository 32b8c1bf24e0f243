// What was used a while ago counts less: usage that halves with every half-life, so that who has
// used much goes after who has used little.
//
//   kept = 2^-(passed / half-life)         what is left of a sample after that time
//   usage <- kept x usage + (1 - kept) x current
// Starting a pod counts at once for (1 - kept) x its charge, its entry penalty (PenaltyLedger): a
// burst between two samples would else go unseen.
//
// In integers, by square roots of one half, so that every replica gets the same number on every
// platform; the error of a factor is below 2^-50.
//
// Units: factors in 1/2^62; usage in any, finer than what is charged, or little usage is lost to
// rounding: kUsageScale is for our own. Source: Kueue's admission fair sharing,
// pkg/util/admissionfairsharing; KAI-Scheduler, time based fair share.
// Pure.
#pragma once

#include <cstdint>

namespace offcut::quota {

inline constexpr std::int64_t kDecayOne = std::int64_t{1} << 62;
inline constexpr std::int64_t kUsageScale = 1 << 16;

// Requires: 0 <= passed, 0 < half_life; both in the same unit. 0 after 62 half-lives.
std::int64_t KeptAfter(std::int64_t passed, std::int64_t half_life);

// factor x amount, to the nearest. Requires: 0 <= factor <= kDecayOne, 0 <= amount.
std::int64_t Scaled(std::int64_t factor, std::int64_t amount);

// Requires: as Scaled.
std::int64_t DecayedUsage(std::int64_t usage, std::int64_t current, std::int64_t kept);

// What a charge adds to the usage at once. Requires: as Scaled.
std::int64_t EntryPenalty(std::int64_t charge, std::int64_t kept);

}  // namespace offcut::quota
