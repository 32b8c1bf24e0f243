#include "scheduler/pod.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <span>
#include <utility>

namespace offcut::scheduler {
namespace {

constexpr std::int64_t kCountMax = std::numeric_limits<std::int64_t>::max();

using CountByResource = std::map<std::string, std::int64_t>;

std::int64_t AddSaturating(std::int64_t a, std::int64_t b) {
  assert(a >= 0 && b >= 0);
  return a > kCountMax - b ? kCountMax : a + b;
}

void AddCounts(CountByResource& sum, const std::vector<ResourceCount>& counts) {
  for (const ResourceCount& each : counts) {
    std::int64_t& total = sum[each.resource];
    total = AddSaturating(total, each.count);
  }
}

void RaiseCounts(CountByResource& peak, const CountByResource& other) {
  for (const auto& [resource, count] : other) {
    std::int64_t& highest = peak[resource];
    highest = std::max(highest, count);
  }
}

std::vector<ResourceCount> EffectiveDevices(const std::vector<ContainerRequest>& containers) {
  CountByResource running;  // sidecars so far, and in the end the app containers beside them
  CountByResource peak;
  for (const ContainerRequest& container : containers) {
    if (container.kind == ContainerKind::kInit) {
      CountByResource during_init = running;
      AddCounts(during_init, container.devices);
      RaiseCounts(peak, during_init);
    } else {
      AddCounts(running, container.devices);
    }
  }
  RaiseCounts(peak, running);

  std::vector<ResourceCount> devices;
  devices.reserve(peak.size());
  for (const auto& [resource, count] : peak) {
    devices.push_back({.resource = resource, .count = count});
  }
  return devices;
}

std::vector<ResourceCount> UnsharedDevices(std::vector<ContainerRequest> containers) {
  for (ContainerRequest& container : containers) {
    if (container.fraction) container.devices = container.unshared_devices;
  }
  return EffectiveDevices(containers);
}

bool AsksForAllMemory(const binpack::Fraction& fraction) {
  return fraction.memory_mib == 0 &&
         (fraction.memory_percent == 0 || fraction.memory_percent >= 100);
}

// The share that serves either of the two, one after the other; nullopt where that depends on the
// GPU's size (MiB against percent).
std::optional<binpack::Fraction> Cover(const binpack::Fraction& a, const binpack::Fraction& b) {
  binpack::Fraction cover{.gpus = std::max(a.gpus, b.gpus),
                          .cores_percent = std::max(a.cores_percent, b.cores_percent)};
  if (AsksForAllMemory(a) || AsksForAllMemory(b)) return cover;
  if ((a.memory_mib > 0) != (b.memory_mib > 0)) return std::nullopt;
  cover.memory_mib = std::max(a.memory_mib, b.memory_mib);
  if (cover.memory_mib == 0) cover.memory_percent = std::max(a.memory_percent, b.memory_percent);
  return cover;
}

// Lets an init container use a share that nobody uses while it runs: of a container that starts
// after it, or of an init container before it. One that is large enough as it is comes first, then
// the first that can be raised, then a share of its own.
void CoverInit(const binpack::Fraction& init, std::span<binpack::Fraction> later,
               std::vector<binpack::Fraction>& of_inits) {
  binpack::Fraction* raised = nullptr;
  for (const std::span<binpack::Fraction> candidates : {later, std::span(of_inits)}) {
    for (binpack::Fraction& candidate : candidates) {
      const std::optional<binpack::Fraction> cover = Cover(candidate, init);
      if (!cover) continue;
      if (*cover == candidate) return;
      if (raised == nullptr) raised = &candidate;
    }
  }
  if (raised != nullptr) {
    *raised = *Cover(*raised, init);
  } else {
    of_inits.push_back(init);
  }
}

std::vector<binpack::Fraction> EffectiveFractions(const std::vector<ContainerRequest>& containers) {
  std::vector<binpack::Fraction> fractions;  // of sidecars and app containers, in their order
  for (const ContainerRequest& container : containers) {
    if (container.kind != ContainerKind::kInit && container.fraction) {
      fractions.push_back(*container.fraction);
    }
  }
  std::vector<binpack::Fraction> of_inits;
  std::size_t running = 0;  // how many of `fractions` have started
  for (const ContainerRequest& container : containers) {
    if (!container.fraction) continue;
    if (container.kind == ContainerKind::kInit) {
      CoverInit(*container.fraction, std::span(fractions).subspan(running), of_inits);
    } else {
      ++running;
    }
  }
  fractions.insert(fractions.end(), of_inits.begin(), of_inits.end());
  return fractions;
}

}  // namespace

void SetWouldEnd(Pod& pod, std::int64_t now_s) {
  pod.would_end_s = pod.run_s_max > 0 ? now_s + pod.run_s_max : 0;
}

DeviceRequest EffectiveRequest(const std::vector<ContainerRequest>& containers,
                               binpack::GpuConstraint constraint) {
  DeviceRequest request{.devices = EffectiveDevices(containers),
                        .fractions = EffectiveFractions(containers),
                        .constraint = std::move(constraint)};
  if (!request.fractions.empty()) request.unshared_devices = UnsharedDevices(containers);
  return request;
}

binpack::HostResources EffectiveHost(const std::vector<ContainerRequest>& containers,
                                     const binpack::HostResources& overhead) {
  binpack::HostResources running;
  binpack::HostResources peak;
  for (const ContainerRequest& container : containers) {
    const std::int64_t cpu_milli = AddSaturating(running.cpu_milli, container.host.cpu_milli);
    const std::int64_t memory_bytes =
        AddSaturating(running.memory_bytes, container.host.memory_bytes);
    peak.cpu_milli = std::max(peak.cpu_milli, cpu_milli);
    peak.memory_bytes = std::max(peak.memory_bytes, memory_bytes);
    if (container.kind != ContainerKind::kInit) {
      running.cpu_milli = cpu_milli;
      running.memory_bytes = memory_bytes;
    }
  }
  return {.cpu_milli = AddSaturating(peak.cpu_milli, overhead.cpu_milli),
          .memory_bytes = AddSaturating(peak.memory_bytes, overhead.memory_bytes),
          .pods = 1};
}

}  // namespace offcut::scheduler
