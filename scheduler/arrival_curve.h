// A simulation's figures along the load, as the FGD comparison draws them: how much of the cluster
// is allocated, and how much is fragmented, when so many percent of its capacity have been asked
// for.
//
// One record an attempt. A record belongs to the bin of its arrived percentage, rounded to whole
// percent, half to even; a bin's value is the mean of its records, and where it has none the mean
// of those of its two neighbours. An allocated percentage is rounded to hundredths first. Source:
// the artifact of Weng et al., USENIX ATC 2023. Pure; not synchronised.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace offcut::scheduler {

struct ArrivalRecord {
  std::int64_t arrived_units = 0;  // asked for so far, by pods that failed too
  std::int64_t used_units = 0;
  std::int64_t capacity_units = 0;  // positive
  double fragmented_units = 0;      // free, and of no use to the average request expected
  std::int64_t free_units = 0;
};

struct CurvePoint {
  double allocated_percent = 0;
  double fragmentation_percent = 0;       // of the capacity
  double fragmentation_rate_percent = 0;  // of what is free
};

class ArrivalCurve {
 public:
  void Add(const ArrivalRecord& record);

  std::optional<CurvePoint> At(int arrived_percent) const;
  std::vector<int> Percentages() const;  // of the bins that have records, ascending

 private:
  struct Bin {
    std::int64_t records = 0;
    std::int64_t allocated_hundredths = 0;  // sums
    double fragmentation_percent = 0;
    double fragmentation_rate_percent = 0;

    Bin& operator+=(const Bin& other);
  };

  std::map<int, Bin> bins_;
};

}  // namespace offcut::scheduler
