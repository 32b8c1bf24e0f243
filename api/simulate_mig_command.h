// `offcut simulate --mig`, less the command line: strategies for MIG under churn (mig_churn.h),
// side by side on the same arrivals.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace offcut::api {

struct MigSimulationSettings {
  std::string model = "A100-40GB";
  int gpus = 100;
  std::vector<std::string> mixes = {"uniform"};      // as ParseMigMix reads them
  std::vector<double> loads = {1.0};                 // arriving slices by mean life and slice
  std::vector<std::string> strategies = {"offcut"};  // of MigStrategyNames
  int arrivals = 12'000;                             // of each run; the first quarter fills up
  std::uint64_t seed = 1;                            // of the first run
  int runs = 1;                                      // with seeds from `seed` on
  std::string output = "table";                      // or "json", "csv"
};

// Runs every strategy on every mix and load, and compares each with the first strategy. Returns the
// exit code: 0; 1 where the model, a mix or a strategy is not one, said on `err`.
int SimulateMig(const MigSimulationSettings& settings, std::ostream& out, std::ostream& err);

// Half of the width of the interval that holds the mean of what the values are drawn from with 95 %
// confidence (Student's t). Requires: two values or more.
double ConfidenceHalfWidth(const std::vector<double>& values);

}  // namespace offcut::api
