#include "binpack/whole_node_price.h"

#include <algorithm>
#include <cmath>

#include "binpack/integer_division.h"
#include "binpack/offcut_pricing.h"

namespace offcut::binpack {
namespace {

// Half a GPU, where none is left. A whole one does as well, and so does T twice as large: within
// 0.3 points of accepted GPUs where pods leave again.
constexpr std::int64_t kStepsMost = 50;

// Of all requests, as doubles: a policy may declare any counts.
double UnitsOf(const WorkloadClass& each) {
  return static_cast<double>(each.count) * static_cast<double>(RequestedUnits(each.request));
}

double UnitsOfWhole(const TargetWorkload& workload, int gpus) {
  double units = 0;
  for (const WorkloadClass& each : workload.classes) {
    const ExpectedRequest& request = each.request;
    if (request.kind == DemandKind::kShare && request.share_units == kGpuUnits &&
        request.gpus == gpus) {
      units += UnitsOf(each);
    }
  }
  return units;
}

}  // namespace

std::int64_t WholeNodePrice::CostAt(std::int64_t free_nodes) const {
  if (gpus == 0 || free_nodes >= expected) return 0;
  return OffcutPricing::kStepUnits * CeilDiv(kStepsMost * (expected - free_nodes), expected);
}

WholeNodePrice MakeWholeNodePrice(const TargetWorkload& workload, std::span<const int> node_sizes,
                                  std::int64_t capacity) {
  double all_units = 0;
  for (const WorkloadClass& each : workload.classes) all_units += UnitsOf(each);
  WholeNodePrice price;
  for (const int gpus : node_sizes) {
    const double units = UnitsOfWhole(workload, gpus);
    const bool is_noteworthy =
        units > 0 && 1000 * units >= static_cast<double>(kWholeNodeDemandPermille) * all_units;
    if (gpus <= 1 || gpus <= price.gpus || !is_noteworthy) continue;
    const double pods = units / all_units * static_cast<double>(capacity) / gpus;
    price = {.gpus = gpus, .expected = std::max<std::int64_t>(1, std::llround(pods))};
  }
  return price;
}

}  // namespace offcut::binpack
