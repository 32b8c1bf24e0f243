// Mixes of MIG profiles that pods ask for: by name, or spelled out. Pure.
#pragma once

#include <expected>
#include <string_view>

#include "api/error.h"
#include "binpack/mig_potential.h"

namespace offcut::api {

// "uniform": every profile without suffix alike. "skew-small" (or "small-heavy") and "skew-big" (or
// "big-heavy"): small ones more often, or large ones; "bimodal": the smallest and the largest; this
// one only where there are six. The shares of six are those of the churn yardstick; else they fall
// as the triangular numbers do: 6 : 3 : 1 for three.
// Or profiles with shares that need not add up to anything: "1g.5gb=3,2g.10gb=1.5".
// Error: no such name or profile, a share that is no number above 0, a profile that comes twice.
std::expected<binpack::ProfileWeights, Error> ParseMigMix(std::string_view text,
                                                          const binpack::GpuModel& model);

}  // namespace offcut::api
