#include "scheduler/capacity.h"

#include <cstdint>
#include <optional>
#include <variant>

#include "binpack/node_state.h"

namespace offcut::scheduler {
namespace {

quota::Amount CapacityOf(const binpack::Gpu& gpu) {
  quota::Amount amount = quota::ChargeWholeGpu(gpu.memory_mib);
  if (gpu.model != nullptr && std::holds_alternative<binpack::MigGpu>(gpu.state)) {
    for (const binpack::MigProfile& profile : gpu.model->profiles) {
      amount.instances[profile.name] = profile.instances_max;
    }
  }
  return amount;
}

quota::Amount Times(quota::Amount amount, std::int64_t count) {
  amount.devices *= count;
  amount.memory_mib *= count;
  amount.cores_permille *= count;
  for (auto& [profile, instances] : amount.instances) instances *= count;
  return amount;
}

// What one instance is charged. Of a profile that the model does not have, the slices that the node
// tells.
quota::Amount InstanceOf(const binpack::InstancePool& pool, const binpack::GpuModel* model) {
  const std::optional<int> known =
      model == nullptr ? std::nullopt : model->FindProfile(pool.profile);
  if (known) {
    const binpack::MigProfile& profile = model->profiles[static_cast<std::size_t>(*known)];
    return quota::ChargeInstance(profile.name, profile.memory_slices, model->memory_slices,
                                 profile.compute_slices, model->compute_slices, profile.memory_mib);
  }
  quota::Amount amount{.instances = {{pool.profile, 1}}};
  if (model != nullptr && model->memory_slices > 0) {
    amount.devices = quota::kWholeDevice * pool.memory_slices / model->memory_slices;
  }
  return amount;
}

// Replicas of one instance are one instance, as is a rest of them.
quota::Amount CapacityOf(const binpack::InstancePool& pool, const binpack::GpuModel* model) {
  const std::int64_t units = std::int64_t{pool.units} + pool.units_unhealthy;
  return Times(InstanceOf(pool, model), (units + pool.replicas - 1) / pool.replicas);
}

}  // namespace

std::map<std::string, quota::Amount> CapacityByPool(const Snapshot& snapshot,
                                                    const Tenancy& tenancy) {
  std::map<std::string, quota::Amount> capacity;
  const auto of = [&](const binpack::GpuModel* model, std::string_view product) -> quota::Amount& {
    return capacity[std::string(PoolOf(tenancy, model, product))];
  };
  for (const auto& node : snapshot.nodes()) {
    const binpack::NodeState& devices = node->inventory.devices;
    const bool counts = !node->inventory.is_spot;
    for (const binpack::Gpu& gpu : devices.gpus) {
      of(gpu.model.get(), gpu.product) += counts ? CapacityOf(gpu) : quota::Amount{};
    }
    const binpack::GpuModel* model = devices.pool_model.get();
    for (const binpack::InstancePool& pool : devices.pools) {
      of(model, devices.pool_product) += counts ? CapacityOf(pool, model) : quota::Amount{};
    }
  }
  return capacity;
}

}  // namespace offcut::scheduler
