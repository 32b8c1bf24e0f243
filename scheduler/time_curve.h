// A simulation's figures along time: how much of the cluster is allocated and fragmented, and how
// many pods came and failed, in each of many equal periods. What is allocated is a mean over time,
// exact between events. Pure; not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scheduler/arrival_curve.h"

namespace offcut::scheduler {

struct Period {
  double length = 0;  // of time that the sums are over
  CurvePoint sum;     // over time
  std::int64_t arrived = 0;
  std::int64_t failed = 0;
  std::int64_t arrived_units = 0;
  std::int64_t failed_units = 0;

  CurvePoint Mean() const;  // zeros where no time has passed
  Period& operator+=(const Period& other);
};

class TimeCurve {
 public:
  // Requires: `period_length` is positive.
  explicit TimeCurve(double period_length) : period_length_(period_length) {}

  // From where the last call ended (at first 0) until `until` the cluster was like `level`.
  // Requires: no step back.
  void Pass(double until, const CurvePoint& level);

  // A pod came now, which is where Pass() has come to.
  void Arrive(std::int64_t units, bool is_placed);

  // From time 0 on, the last one perhaps not over.
  const std::vector<Period>& periods() const { return periods_; }
  double period_length() const { return period_length_; }
  Period SumFrom(std::size_t first_period) const;

 private:
  Period& At(std::size_t number);

  double period_length_;
  double now_ = 0;
  std::size_t current_ = 0;  // the period that `now_` is in
  std::vector<Period> periods_;
};

}  // namespace offcut::scheduler
