#include "binpack/node_state.h"

#include <algorithm>
#include <utility>

namespace offcut::binpack {
namespace {

// Memory slices of a GPU that carries MIG instances; 0 where its geometry is not known.
int SlicesOf(const GpuModel* model) { return model == nullptr ? 0 : model->memory_slices; }

int UsedUnitsOf(const Gpu&, const WholeGpu& state) { return state.taken ? kGpuUnits : 0; }

int UsedUnitsOf(const Gpu& gpu, const MigGpu& state) {
  int slices = 0;
  for (const MigInstance& instance : state.instances) slices += instance.slices.size;
  const int total = SlicesOf(gpu.model.get());
  return total == 0 ? 0 : kGpuUnits * slices / total;
}

int UsedUnitsOf(const Gpu&, const SharedGpu& state) {
  return state.slots == 0 ? 0 : kGpuUnits * state.slots_used / state.slots;
}

int UsedUnitsOf(const Gpu& gpu, const FractionalGpu& state) {
  const auto share = [](std::int64_t used, std::int64_t total) {
    return total == 0
               ? 0
               : static_cast<int>(std::min<std::int64_t>(kGpuUnits, kGpuUnits * used / total));
  };
  return std::max(share(state.memory_mib_used, gpu.memory_mib),
                  share(state.cores_percent_used, state.cores_percent));
}

// Units of capacity of `count` units of the pool: a replica is its part of the instance.
std::int64_t PoolUnits(const InstancePool& pool, const GpuModel* model, int count) {
  const int total = SlicesOf(model);
  if (total == 0) return 0;
  return std::int64_t{kGpuUnits} * pool.memory_slices * count /
         (std::int64_t{total} * pool.replicas);
}

}  // namespace

HostResources& HostResources::operator+=(const HostResources& other) {
  cpu_milli += other.cpu_milli;
  memory_bytes += other.memory_bytes;
  pods += other.pods;
  return *this;
}

bool Interchangeable(const Gpu& a, const Gpu& b) {
  return a.model == b.model && a.product == b.product && a.memory_mib == b.memory_mib &&
         a.health == b.health && a.state == b.state;
}

int UsedUnits(const Gpu& gpu) {
  return std::visit([&](const auto& state) { return UsedUnitsOf(gpu, state); }, gpu.state);
}

int UsedUnits(const InstancePool& pool, const GpuModel* model) {
  return static_cast<int>(PoolUnits(pool, model, pool.units_used));
}

std::int64_t UsedUnits(const NodeState& node) {
  std::int64_t units = 0;
  for (const Gpu& gpu : node.gpus) units += UsedUnits(gpu);
  for (const InstancePool& pool : node.pools) units += UsedUnits(pool, node.pool_model.get());
  return units;
}

std::int64_t TotalUnits(const NodeState& node) {
  std::int64_t units = std::int64_t{kGpuUnits} * static_cast<std::int64_t>(node.gpus.size());
  for (const InstancePool& pool : node.pools) {
    units += PoolUnits(pool, node.pool_model.get(), pool.units + pool.units_unhealthy);
  }
  return units;
}

NodeState Emptied(NodeState node) {
  node.used = {};
  for (Gpu& gpu : node.gpus) {
    if (auto* whole = std::get_if<WholeGpu>(&gpu.state)) whole->taken = false;
    if (auto* mig = std::get_if<MigGpu>(&gpu.state)) mig->instances.clear();
    if (auto* shared = std::get_if<SharedGpu>(&gpu.state)) shared->slots_used = 0;
    if (auto* fractional = std::get_if<FractionalGpu>(&gpu.state)) {
      fractional->memory_mib_used = 0;
      fractional->cores_percent_used = 0;
      fractional->sharers = 0;
    }
  }
  for (InstancePool& pool : node.pools) pool.units_used = 0;
  return node;
}

NodeState Healed(NodeState node) {
  for (Gpu& gpu : node.gpus) gpu.health = GpuHealth::kHealthy;
  for (InstancePool& pool : node.pools) pool.units += std::exchange(pool.units_unhealthy, 0);
  return node;
}

}  // namespace offcut::binpack
