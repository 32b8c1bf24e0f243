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

}  // namespace

std::int64_t TotalCount(const TargetWorkload& workload) {
  std::int64_t total = 0;
  for (const WorkloadClass& each : workload.classes) total += each.count;
  return total;
}

TargetWorkload DeriveTargetWorkload(std::span<const ExpectedRequest> requests) {
  using Size = decltype(SizeOf({}));
  std::map<Size, WorkloadClass> by_size;
  for (const ExpectedRequest& request : requests) {
    WorkloadClass& each = by_size[SizeOf(request)];
    if (each.count++ == 0) each.request = request;
  }
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
