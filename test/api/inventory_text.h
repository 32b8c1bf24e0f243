// An inventory as a person would note it, for expectations.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "scheduler/node.h"
#include "scheduler/reason.h"

namespace offcut::api::testing {

inline std::string StateText(const binpack::Gpu& gpu) {
  if (const auto* const shared = std::get_if<binpack::SharedGpu>(&gpu.state)) {
    return std::to_string(shared->slots) +
           (shared->sharing == binpack::Sharing::kMps ? " MPS slots" : " time slots");
  }
  if (const auto* const fractional = std::get_if<binpack::FractionalGpu>(&gpu.state)) {
    return std::to_string(fractional->cores_percent) + "% for " +
           std::to_string(fractional->sharers_max);
  }
  return std::holds_alternative<binpack::MigGpu>(gpu.state) ? "MIG" : "whole";
}

// "A100-SXM4-80GB 81920 MiB whole (A100-80GB) unhealthy"; the model stands in parentheses.
inline std::string GpuText(const binpack::Gpu& gpu) {
  std::string text = gpu.product + " " + std::to_string(gpu.memory_mib) + " MiB " + StateText(gpu);
  if (gpu.model != nullptr) text += " (" + gpu.model->name + ")";
  if (gpu.health == binpack::GpuHealth::kUnhealthy) text += " unhealthy";
  if (gpu.health == binpack::GpuHealth::kCordoned) text += " cordoned";
  return text;
}

inline std::string PoolText(const binpack::InstancePool& pool) {
  std::string text =
      std::to_string(pool.units) + " x " + pool.profile + "/" + std::to_string(pool.memory_slices);
  if (pool.replicas != 1) text += " in " + std::to_string(pool.replicas);
  if (pool.units_unhealthy > 0)
    text += " and " + std::to_string(pool.units_unhealthy) + " unhealthy";
  return text;
}

inline std::string OfferText(const scheduler::Offer& offer) {
  std::string text = offer.resource;
  if (offer.kind == scheduler::OfferKind::kWholeGpus) text += "=whole";
  if (offer.kind == scheduler::OfferKind::kSlots) text += "=slots";
  if (offer.kind == scheduler::OfferKind::kInstances) text += "=pool" + std::to_string(offer.pool);
  if (offer.kind == scheduler::OfferKind::kPlacedInstances) text += "=placed " + offer.profile;
  if (offer.kind == scheduler::OfferKind::kFullShares) text += "=full shares";
  if (offer.one_per_container) text += " one each";
  return text;
}

// "n1 [nvidia closed node.cordoned] nvidia.com/gpu=whole | 2 x A10 ... whole | pool ...": offers,
// then runs of equal GPUs, then pools, each after a bar.
inline std::string InventoryText(const scheduler::Inventory& inventory) {
  std::string text = inventory.name + " [" + inventory.agent;
  if (inventory.closed) text += " closed " + std::string(InfoOf(*inventory.closed).code);
  if (inventory.serves_fractions) text += " fractions";
  if (inventory.prefers_no_schedule) text += " avoid";
  if (inventory.is_spot) text += " spot";
  text += "]";
  for (const scheduler::Offer& offer : inventory.offers) text += " " + OfferText(offer);
  const std::vector<binpack::Gpu>& gpus = inventory.devices.gpus;
  for (std::size_t start = 0; start < gpus.size();) {
    std::size_t end = start;
    while (end < gpus.size() && GpuText(gpus[end]) == GpuText(gpus[start])) ++end;
    text += " | " + std::to_string(end - start) + " x " + GpuText(gpus[start]);
    start = end;
  }
  if (inventory.devices.pool_model != nullptr) {
    text += " | on " + inventory.devices.pool_model->name;
  }
  for (const binpack::InstancePool& pool : inventory.devices.pools) text += " | " + PoolText(pool);
  return text;
}

}  // namespace offcut::api::testing
