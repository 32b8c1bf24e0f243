#include "scheduler/time_curve.h"

#include <algorithm>
#include <cassert>

namespace offcut::scheduler {
namespace {

void AddTo(CurvePoint& sum, const CurvePoint& point, double factor) {
  sum.allocated_percent += factor * point.allocated_percent;
  sum.fragmentation_percent += factor * point.fragmentation_percent;
  sum.fragmentation_rate_percent += factor * point.fragmentation_rate_percent;
}

}  // namespace

CurvePoint Period::Mean() const {
  CurvePoint mean;
  if (length > 0) AddTo(mean, sum, 1 / length);
  return mean;
}

Period& Period::operator+=(const Period& other) {
  length += other.length;
  AddTo(sum, other.sum, 1);
  arrived += other.arrived;
  failed += other.failed;
  arrived_units += other.arrived_units;
  failed_units += other.failed_units;
  return *this;
}

void TimeCurve::Pass(double until, const CurvePoint& level) {
  assert(until >= now_);
  while (now_ < until) {
    const double end = static_cast<double>(current_ + 1) * period_length_;
    const double step_end = std::min(until, end);
    Period& period = At(current_);
    period.length += step_end - now_;
    AddTo(period.sum, level, step_end - now_);
    now_ = step_end;
    if (now_ >= end) ++current_;
  }
}

void TimeCurve::Arrive(std::int64_t units, bool is_placed) {
  Period& period = At(current_);
  ++period.arrived;
  period.arrived_units += units;
  if (is_placed) return;
  ++period.failed;
  period.failed_units += units;
}

Period TimeCurve::SumFrom(std::size_t first_period) const {
  Period sum;
  for (std::size_t i = first_period; i < periods_.size(); ++i) sum += periods_[i];
  return sum;
}

Period& TimeCurve::At(std::size_t number) {
  if (number >= periods_.size()) periods_.resize(number + 1);
  return periods_[number];
}

}  // namespace offcut::scheduler
