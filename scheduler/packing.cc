#include "scheduler/packing.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "binpack/strategy.h"
#include "scheduler/demand.h"
#include "scheduler/request_key.h"

namespace offcut::scheduler {
namespace {

using binpack::DemandKind;
using binpack::ExpectedRequest;
using binpack::GpuCapacity;
using binpack::WorkloadClass;

struct RequestHash {
  std::size_t operator()(const ExpectedRequest& request) const {
    std::size_t hash = std::hash<std::string_view>()(request.profile);
    for (const std::int64_t number :
         {request.cpu_milli, std::int64_t{static_cast<int>(request.kind)},
          std::int64_t{request.gpus}, std::int64_t{request.share_units}}) {
      hash = (hash ^ static_cast<std::size_t>(number)) * 0x9e37'79b9'7f4a'7c15U;
    }
    for (const std::string& model : request.models) {
      hash = (hash ^ std::hash<std::string_view>()(model)) * 0x9e37'79b9'7f4a'7c15U;
    }
    return hash;
  }
};
using Counts = std::unordered_map<ExpectedRequest, std::int64_t, RequestHash>;

// Pods on nodes, by what they have been given there.
void CountRunning(const Snapshot& snapshot, Counts& counts) {
  for (const auto& node : snapshot.nodes()) {
    for (const Holder& holder : node->holders) {
      if (holder.placement.pieces.empty()) continue;
      ++counts[DemandOf(node->inventory.devices, holder.placement, *holder.pod).request];
    }
  }
}

// Whether a request means the same on both.
bool IsAlike(const Inventory& a, const Inventory& b) {
  if (a.offers != b.offers || a.serves_fractions != b.serves_fractions) return false;
  const auto is_alike_gpu = [](const binpack::Gpu& x, const binpack::Gpu& y) {
    return x.memory_mib == y.memory_mib && x.state == y.state && binpack::IsOneModel(x, y);
  };
  const auto is_alike_pool = [](const binpack::InstancePool& x, const binpack::InstancePool& y) {
    return x.profile == y.profile && x.replicas == y.replicas &&
           x.units + x.units_unhealthy == y.units + y.units_unhealthy;
  };
  return a.devices.picker == b.devices.picker &&
         std::ranges::equal(a.devices.gpus, b.devices.gpus, is_alike_gpu) &&
         std::ranges::equal(a.devices.pools, b.devices.pools, is_alike_pool);
}

// One node of each kind, by name.
std::vector<const Inventory*> KindsOf(const Snapshot& snapshot) {
  std::vector<const Inventory*> kinds;
  for (const auto& node : snapshot.nodes()) {
    const Inventory& inventory = node->inventory;
    if (kinds.size() == kNodeKindsMax) break;
    if (inventory.offers.empty() && !inventory.serves_fractions) continue;
    if (std::ranges::none_of(kinds, [&](const auto* kind) { return IsAlike(*kind, inventory); })) {
      kinds.push_back(&inventory);
    }
  }
  return kinds;
}

struct Waiting {
  const Pod* pod = nullptr;  // one of them
  std::int64_t count = 0;
};

// Pods that wait, by what their request means on the first kind of node that could hold it.
void CountPending(const Snapshot& snapshot, std::span<const Inventory* const> kinds,
                  Counts& counts) {
  std::map<std::string, Waiting> by_request;
  snapshot.ForEachPod([&](const PodEntry& entry) {
    if (entry.phase != PodPhase::kPending || entry.pod->request.empty()) return;
    Waiting& waiting = by_request[KeyOfRequest(*entry.pod)];
    waiting.pod = entry.pod.get();
    ++waiting.count;
  });
  std::vector<Waiting> requests;
  requests.reserve(by_request.size());
  for (const auto& [key, waiting] : by_request) requests.push_back(waiting);
  std::ranges::stable_sort(requests, std::ranges::greater(), &Waiting::count);
  requests.resize(std::min(requests.size(), kPendingRequestsMax));
  for (const Waiting& waiting : requests) {
    Pod devices_only = *waiting.pod;
    devices_only.host = {};
    for (const Inventory* kind : kinds) {
      auto demand = DemandOn(*kind, devices_only);
      if (!demand) continue;
      demand->request.cpu_milli = waiting.pod->host.cpu_milli;
      counts[demand->request] += waiting.count;
      break;
    }
  }
}

void AddProfiles(const binpack::GpuModel& model, std::vector<ExpectedRequest>& requests) {
  for (const binpack::MigProfile& profile : model.profiles) {
    if (profile.name.find_first_of("+-") != std::string::npos) continue;  // of media engines
    requests.push_back(
        {.kind = DemandKind::kInstance,
         .gpus = 1,
         .share_units = binpack::kGpuUnits * profile.memory_slices / model.memory_slices,
         .profile = profile.name});
  }
}

void AddShares(int gpus, int share_units, std::vector<ExpectedRequest>& requests) {
  if (gpus == 0) return;
  requests.push_back({.kind = DemandKind::kShare, .gpus = gpus, .share_units = share_units});
}

bool IsPart(const ExpectedRequest& request) {
  return request.kind == DemandKind::kShare && request.share_units < binpack::kGpuUnits;
}

// One of each kind of request that the node serves.
std::vector<ExpectedRequest> ServedBy(const Inventory& inventory) {
  constexpr int quarter = binpack::kGpuUnits / 4;
  std::vector<ExpectedRequest> requests;
  const auto count_of = [&]<typename State>(const State*) {
    return static_cast<int>(std::ranges::count_if(
        inventory.devices.gpus,
        [](const binpack::Gpu& gpu) { return std::holds_alternative<State>(gpu.state); }));
  };
  const int whole = count_of(static_cast<const binpack::WholeGpu*>(nullptr));
  const int fractional = count_of(static_cast<const binpack::FractionalGpu*>(nullptr));
  for (const int gpus : {whole, fractional}) {
    AddShares(gpus, binpack::kGpuUnits, requests);
    if (gpus > 1) AddShares(1, binpack::kGpuUnits, requests);
  }
  if (fractional > 0) AddShares(1, quarter, requests);
  for (const binpack::Gpu& gpu : inventory.devices.gpus) {
    if (const auto* shared = std::get_if<binpack::SharedGpu>(&gpu.state); shared != nullptr) {
      requests.push_back({.kind = DemandKind::kSlot,
                          .gpus = 1,
                          .share_units = binpack::kGpuUnits / std::max(1, shared->slots)});
    } else if (std::holds_alternative<binpack::MigGpu>(gpu.state) && gpu.model != nullptr) {
      AddProfiles(*gpu.model, requests);
    }
  }
  for (std::size_t p = 0; p < inventory.devices.pools.size(); ++p) {
    const binpack::Placement one{
        {{.kind = binpack::PieceKind::kInstance, .pool = static_cast<int>(p)}}};
    requests.push_back(DemandOf(inventory.devices, one, {}).request);
  }
  return requests;
}

// In steps: the level of prices that is chosen by it is no finer.
void AddMigFill(const Snapshot& snapshot, GpuCapacity& capacity) {
  constexpr std::int64_t step_permille = 50;
  std::int64_t slices = 0;
  std::int64_t free = 0;
  for (const auto& node : snapshot.nodes()) {
    for (std::size_t g = 0; g < node->compact.gpus.size(); ++g) {
      const binpack::CompactGpu& gpu = node->compact.gpus[g];
      if (gpu.kind != binpack::GpuKind::kMig) continue;
      if (!binpack::IsOneModel(node->state.gpus[g], capacity.gpu)) continue;
      slices += gpu.slices;
      free += std::popcount(gpu.free_slices);
    }
  }
  if (slices == 0) return;
  const std::int64_t permille = 1000 * (slices - free) / slices;
  capacity.mig_fill_permille = static_cast<int>(permille / step_permille * step_permille);
}

// The most frequent ones, by product, so that nodes' names do not matter.
std::vector<GpuCapacity> CoarseCapacities(const Snapshot& snapshot) {
  std::vector<GpuCapacity> capacities = CapacitiesOf(snapshot);
  std::ranges::stable_sort(capacities, [](const GpuCapacity& a, const GpuCapacity& b) {
    return std::tuple(-a.count, std::string_view(a.gpu.product)) <
           std::tuple(-b.count, std::string_view(b.gpu.product));
  });
  if (capacities.size() > kCapacitiesMax) capacities.resize(kCapacitiesMax);
  for (GpuCapacity& each : capacities) {
    each.gpu = {.model = each.gpu.model, .product = each.gpu.product};
    each.count = binpack::CoarseCount(each.count);
    AddMigFill(snapshot, each);
  }
  return capacities;
}

binpack::TargetWorkload DeriveWorkload(const Snapshot& snapshot) {
  const std::vector<const Inventory*> kinds = KindsOf(snapshot);
  Counts counts;
  CountRunning(snapshot, counts);
  CountPending(snapshot, kinds, counts);
  for (auto& [request, count] : counts) count = binpack::CoarseCount(count);
  // One that nobody asks for would be room that can be filled: of parts of GPUs, any asked for do.
  const bool has_parts =
      std::ranges::any_of(counts, [](const auto& counted) { return IsPart(counted.first); });
  for (const Inventory* kind : kinds) {
    for (const ExpectedRequest& request : ServedBy(*kind)) {
      if (!has_parts || !IsPart(request)) counts.try_emplace(request, 1);
    }
  }
  std::vector<WorkloadClass> classes;
  classes.reserve(counts.size());
  for (const auto& [request, count] : counts) classes.push_back({request, count});
  return binpack::DeriveBroadWorkload(classes);
}

// A policy says how many slots or instances, not how large they are: that is the nodes' to say.
binpack::TargetWorkload WithSizes(binpack::TargetWorkload workload, const Snapshot& snapshot) {
  std::vector<ExpectedRequest> served;
  for (const Inventory* kind : KindsOf(snapshot)) {
    const std::vector<ExpectedRequest> more = ServedBy(*kind);
    served.insert(served.end(), more.begin(), more.end());
  }
  for (auto& [request, count] : workload.classes) {
    if (request.share_units > 0) continue;
    const auto like = std::ranges::find_if(served, [&](const ExpectedRequest& each) {
      return each.kind == request.kind && each.profile == request.profile;
    });
    if (like != served.end()) request.share_units = like->share_units;
  }
  return binpack::DeriveBroadWorkload(workload.classes);
}

bool IsPreparedFor(const binpack::PackingModel& model, const binpack::Outlook& outlook) {
  return model.workload == outlook.workload && model.node_sizes == outlook.node_sizes &&
         std::ranges::equal(
             model.capacities, outlook.capacities, [](const GpuCapacity& a, const GpuCapacity& b) {
               return a.count == b.count && a.mig_fill_permille == b.mig_fill_permille &&
                      binpack::IsOneModel(a.gpu, b.gpu);
             });
}

}  // namespace

std::shared_ptr<const binpack::PackingModel> PackingOf(const Snapshot& snapshot,
                                                       const Policy& policy) {
  return snapshot.packing() != nullptr ? snapshot.packing() : policy.packing;
}

std::string WorkloadText(const binpack::PackingModel& model) {
  if (!model.strategy->reads_workload || model.workload.classes.empty()) return {};
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (unsigned shift = 64; shift > 0; shift -= 4) {
    text += digits[model.workload_hash >> (shift - 4) & 0xfU];
  }
  return text;
}

binpack::Outlook DeriveOutlook(const Snapshot& snapshot) {
  return {.workload = DeriveWorkload(snapshot),
          .capacities = CoarseCapacities(snapshot),
          .node_sizes = NodeSizesOf(snapshot)};
}

std::shared_ptr<const binpack::PackingModel> RenewedPacking(const Snapshot& snapshot,
                                                            const Policy& policy) {
  const binpack::PackingModel& asked = *policy.packing;
  if (!asked.strategy->reads_workload) return nullptr;
  const binpack::Outlook outlook =
      policy.target_workload
          ? binpack::Outlook{.workload = WithSizes(*policy.target_workload, snapshot),
                             .capacities = CoarseCapacities(snapshot),
                             .node_sizes = NodeSizesOf(snapshot)}
          : DeriveOutlook(snapshot);
  const auto& current = snapshot.packing();
  if (current != nullptr && current->strategy == asked.strategy &&
      current->weights == asked.weights && IsPreparedFor(*current, outlook)) {
    return current;
  }
  return binpack::PreparePacking(asked.strategy->name, asked.weights, outlook.workload, asked.seed,
                                 outlook, current.get());
}

}  // namespace offcut::scheduler
