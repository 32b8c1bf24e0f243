#include "binpack/target_workload.h"

#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace offcut::binpack {
namespace {

constexpr std::int64_t kCoveredPermille = 950;

std::string Joined(const std::vector<std::string>& models) {
  std::string text;
  for (const std::string& model : models) {
    if (!text.empty()) text += '|';
    text += model;
  }
  return text;
}

auto SizeOf(const ExpectedRequest& request) {
  return std::tuple(request.cpu_milli, request.share_units, request.gpus, Joined(request.models),
                    request.kind, request.profile);
}

using Size = decltype(SizeOf({}));
using BySize = std::map<Size, WorkloadClass>;

BySize ClassesOf(std::span<const ExpectedRequest> requests) {
  BySize by_size;
  for (const ExpectedRequest& request : requests) {
    WorkloadClass& each = by_size[SizeOf(request)];
    if (each.count++ == 0) each.request = request;
  }
  return by_size;
}

std::int64_t UnitsOf(const ExpectedRequest& request) {
  const bool is_share = request.kind == DemandKind::kShare;
  return std::int64_t{request.gpus} * (is_share ? request.share_units : kGpuUnits / 10);
}

}  // namespace

std::int64_t TotalCount(const TargetWorkload& workload) {
  std::int64_t total = 0;
  for (const WorkloadClass& each : workload.classes) total += each.count;
  return total;
}

TargetWorkload DeriveBroadWorkload(std::span<const ExpectedRequest> requests) {
  BySize by_size = ClassesOf(requests);
  std::int64_t all_units = 0;
  for (const auto& [size, each] : by_size) all_units += each.count * UnitsOf(each.request);
  // count / requests + units / all_units, over the common denominator.
  const auto rank_of = [&](const WorkloadClass& each) {
    return each.count * all_units + each.count * UnitsOf(each.request) * std::ssize(requests);
  };
  std::map<std::pair<std::int64_t, Size>, WorkloadClass, std::greater<>> ranked;
  for (auto& [size, each] : by_size) ranked.emplace(std::pair(rank_of(each), size), each);
  TargetWorkload workload;
  for (auto& [rank, each] : ranked) {
    if (workload.classes.size() == kWorkloadClassesMax) break;
    workload.classes.push_back(std::move(each));
  }
  return workload;
}

TargetWorkload DeriveTargetWorkload(std::span<const ExpectedRequest> requests) {
  BySize by_size = ClassesOf(requests);
  using Rank = std::pair<std::int64_t, Size>;
  std::map<Rank, WorkloadClass, std::greater<>> ranked;
  for (auto& [size, each] : by_size) ranked.emplace(Rank(each.count, size), std::move(each));
  TargetWorkload workload;
  std::int64_t covered = 0;
  for (auto& [rank, each] : ranked) {
    if (workload.classes.size() == kWorkloadClassesMax ||
        1000 * covered >= kCoveredPermille * std::ssize(requests)) {
      break;
    }
    covered += each.count;
    workload.classes.push_back(std::move(each));
  }
  return workload;
}

}  // namespace offcut::binpack
