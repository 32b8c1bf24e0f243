#include "api/gpu_json.h"

#include <bit>

#include <nlohmann/json.hpp>

#include "binpack/mig_packing.h"

namespace offcut::api {
namespace {

using nlohmann::json;

std::string_view HealthOf(const binpack::Gpu& gpu) {
  switch (gpu.health) {
    case binpack::GpuHealth::kHealthy:
      return "healthy";
    case binpack::GpuHealth::kUnhealthy:
      return "unhealthy";
    case binpack::GpuHealth::kCordoned:
      return "cordoned";
  }
  return "";
}

void Add(json& object, const binpack::Gpu&, const binpack::WholeGpu& state) {
  object["mode"] = "whole";
  object["taken"] = state.taken;
}

void Add(json& object, const binpack::Gpu& gpu, const binpack::MigGpu& state) {
  object["mode"] = "mig";
  object["instances"] = json::array();
  if (gpu.model == nullptr) return;
  for (const binpack::MigInstance& instance : state.instances) {
    object["instances"].push_back(
        {{"profile", gpu.model->profiles[static_cast<std::size_t>(instance.profile)].name},
         {"start", instance.slices.start},
         {"size", instance.slices.size}});
  }
  object["freeSlices"] = std::popcount(binpack::RoomOf(*gpu.model, state).free_slices);
}

void Add(json& object, const binpack::Gpu&, const binpack::SharedGpu& state) {
  object["mode"] = state.sharing == binpack::Sharing::kMps ? "mps" : "time-slicing";
  object["slots"] = state.slots;
  object["slotsUsed"] = state.slots_used;
}

void Add(json& object, const binpack::Gpu&, const binpack::FractionalGpu& state) {
  object["mode"] = "fraction";
  object["memoryMiBUsed"] = state.memory_mib_used;
  object["coresPercent"] = state.cores_percent;
  object["coresPercentUsed"] = state.cores_percent_used;
  object["sharers"] = state.sharers;
  object["sharersMax"] = state.sharers_max;
}

}  // namespace

json ToJson(const binpack::Gpu& gpu, int index) {
  json object = {{"index", index},
                 {"product", gpu.product},
                 {"memoryMiB", gpu.memory_mib},
                 {"health", HealthOf(gpu)}};
  if (!gpu.uuid.empty()) object["uuid"] = gpu.uuid;
  if (gpu.model != nullptr) object["model"] = gpu.model->name;
  std::visit([&](const auto& state) { Add(object, gpu, state); }, gpu.state);
  return object;
}

json ToJson(const binpack::InstancePool& pool) {
  return {{"profile", pool.profile},
          {"units", pool.units},
          {"unitsUnhealthy", pool.units_unhealthy},
          {"unitsUsed", pool.units_used},
          {"replicas", pool.replicas}};
}

json ToJson(const scheduler::Node& node) {
  json object = {{"name", node.name()},
                 {"agent", node.inventory.agent},
                 {"gpus", json::array()},
                 {"pools", json::array()},
                 {"holders", json::array()}};
  if (node.closed) {
    object["closed"] = scheduler::InfoOf(*node.closed).code;
  }
  for (std::size_t g = 0; g < node.state.gpus.size(); ++g) {
    object["gpus"].push_back(ToJson(node.state.gpus[g], static_cast<int>(g)));
  }
  for (const binpack::InstancePool& pool : node.state.pools) {
    object["pools"].push_back(ToJson(pool));
  }
  for (const scheduler::Holder& holder : node.holders) {
    if (holder.pod->request.empty()) continue;
    object["holders"].push_back({{"namespace", holder.pod->name_space},
                                 {"name", holder.pod->name},
                                 {"uid", holder.pod->uid},
                                 {"placed", !holder.is_unplaced}});
  }
  return object;
}

}  // namespace offcut::api
