#include "scheduler/arrival_curve.h"

#include <cassert>

namespace offcut::scheduler {
namespace {

// Requires: 0 <= a, 0 < b.
std::int64_t RoundHalfToEven(std::int64_t a, std::int64_t b) {
  const std::int64_t floor = a / b;
  const std::int64_t twice_rest = 2 * (a % b);
  return floor + (twice_rest > b || (twice_rest == b && floor % 2 == 1) ? 1 : 0);
}

}  // namespace

ArrivalCurve::Bin& ArrivalCurve::Bin::operator+=(const Bin& other) {
  records += other.records;
  allocated_hundredths += other.allocated_hundredths;
  fragmentation_percent += other.fragmentation_percent;
  fragmentation_rate_percent += other.fragmentation_rate_percent;
  return *this;
}

void ArrivalCurve::Add(const ArrivalRecord& record) {
  assert(record.capacity_units > 0);
  const auto percent =
      static_cast<int>(RoundHalfToEven(100 * record.arrived_units, record.capacity_units));
  const double fragmented = 100 * record.fragmented_units;
  bins_[percent] += Bin{
      .records = 1,
      .allocated_hundredths = RoundHalfToEven(10'000 * record.used_units, record.capacity_units),
      .fragmentation_percent = fragmented / static_cast<double>(record.capacity_units),
      .fragmentation_rate_percent =
          record.free_units == 0 ? 0 : fragmented / static_cast<double>(record.free_units)};
}

std::optional<CurvePoint> ArrivalCurve::At(int arrived_percent) const {
  Bin sum;
  const auto add = [&](int percent) {
    if (const auto bin = bins_.find(percent); bin != bins_.end()) sum += bin->second;
  };
  add(arrived_percent);
  if (sum.records == 0) {
    add(arrived_percent - 1);
    add(arrived_percent + 1);
  }
  if (sum.records == 0) return std::nullopt;
  const auto records = static_cast<double>(sum.records);
  return CurvePoint{
      .allocated_percent = static_cast<double>(sum.allocated_hundredths) / records / 100,
      .fragmentation_percent = sum.fragmentation_percent / records,
      .fragmentation_rate_percent = sum.fragmentation_rate_percent / records};
}

std::vector<int> ArrivalCurve::Percentages() const {
  std::vector<int> percentages;
  percentages.reserve(bins_.size());
  for (const auto& [percent, bin] : bins_) percentages.push_back(percent);
  return percentages;
}

}  // namespace offcut::scheduler
