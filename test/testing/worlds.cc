#include "test/testing/worlds.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>

namespace offcut::testing {
namespace {

using binpack::GpuHealth;
using binpack::NodeState;
using binpack::PieceKind;

[[noreturn]] void Reject(std::string_view text, std::string_view why) {
  std::cerr << "test world \"" << text << "\": " << why << "\n";
  std::abort();
}

std::vector<std::string> Words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool IsOneOf(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

binpack::HostResources Roomy() {
  return {.cpu_milli = 96'000, .memory_bytes = std::int64_t{1} << 40, .pods = 110};
}

}  // namespace

std::shared_ptr<const binpack::GpuModel> ModelNamed(std::string_view name) {
  const binpack::GpuModel* model = binpack::FindModel(name);
  if (model == nullptr) Reject(name, "no such GPU model");
  return {model, [](const binpack::GpuModel*) {}};
}

NodeState WholeNode(std::string_view gpus, std::string_view model) {
  NodeState node{.allocatable = Roomy()};
  for (const char c : gpus) {
    if (!IsOneOf(c, "X.uU")) Reject(gpus, "a GPU is one of X.uU");
    const auto geometry = ModelNamed(model);
    node.gpus.push_back({.model = geometry,
                         .product = geometry->name,
                         .memory_mib = geometry->memory_gib * 1024,
                         .health = IsOneOf(c, "uU") ? GpuHealth::kUnhealthy : GpuHealth::kHealthy,
                         .state = binpack::WholeGpu{.taken = IsOneOf(c, "XU")}});
  }
  return node;
}

NodeState SharedNode(binpack::Sharing sharing, const std::vector<std::string>& gpus,
                     int gpu_memory_mib) {
  NodeState node{.allocatable = Roomy()};
  for (const std::string& slots : gpus) {
    node.gpus.push_back({.product = "Tesla-T4",
                         .memory_mib = gpu_memory_mib,
                         .state = binpack::SharedGpu{
                             .sharing = sharing,
                             .slots = static_cast<int>(slots.size()),
                             .slots_used = static_cast<int>(std::ranges::count(slots, 'X'))}});
  }
  return node;
}

NodeState MigNode(std::string_view model, const std::vector<std::string>& gpus) {
  const auto geometry = ModelNamed(model);
  NodeState node{.allocatable = Roomy(), .picker = binpack::DevicePicker::kScheduler};
  for (const std::string& text : gpus) {
    node.gpus.push_back({.model = geometry,
                         .product = geometry->name,
                         .memory_mib = geometry->memory_gib * 1024,
                         .state = binpack::MigGpu{}});
    for (const std::string& word : Words(text)) {
      const auto at = word.find('@');
      const auto profile = geometry->FindProfile(word.substr(0, at));
      if (at == std::string::npos || !profile) Reject(text, "an instance is PROFILE@START");
      const int size = geometry->profiles[static_cast<std::size_t>(*profile)].memory_slices;
      const binpack::Placement placement{{{.kind = PieceKind::kInstance,
                                           .gpu = static_cast<int>(node.gpus.size()) - 1,
                                           .profile = *profile,
                                           .slices = {std::stoi(word.substr(at + 1)), size}}}};
      if (!binpack::IsFree(node, placement)) Reject(text, "an instance has no room");
      binpack::Occupy(node, placement);
    }
  }
  return node;
}

NodeState FractionNode(int memory_mib, const std::vector<FractionUse>& gpus) {
  NodeState node{.allocatable = Roomy(), .picker = binpack::DevicePicker::kScheduler};
  for (const FractionUse& use : gpus) {
    node.gpus.push_back({.product = "Tesla-V100-SXM2-32GB",
                         .uuid = "GPU-" + std::to_string(node.gpus.size()),
                         .memory_mib = memory_mib,
                         .state = binpack::FractionalGpu{.memory_mib_used = use.memory_mib,
                                                         .cores_percent = 100,
                                                         .cores_percent_used = use.cores_percent,
                                                         .sharers_max = 10,
                                                         .sharers = use.sharers}});
  }
  return node;
}

NodeState PoolNode(std::string_view model, const std::vector<PoolText>& pools) {
  NodeState node{.allocatable = Roomy(), .pool_model = ModelNamed(model)};
  node.pool_product = node.pool_model->name;
  for (const PoolText& pool : pools) {
    const auto profile = node.pool_model->FindProfile(pool.profile);
    if (!profile) Reject(pool.profile, "the model has no such profile");
    const auto& geometry = node.pool_model->profiles[static_cast<std::size_t>(*profile)];
    node.pools.push_back({.profile = pool.profile,
                          .memory_slices = geometry.memory_slices,
                          .units = pool.units,
                          .units_used = pool.used});
  }
  return node;
}

binpack::RequestShape Profiles(std::string_view text) {
  binpack::RequestShape shape;
  std::istringstream in{std::string(text)};
  for (std::string part; std::getline(in, part, ',');) {
    const auto words = Words(part);
    if (words.size() == 1) {
      shape.profiles.push_back({words[0], 1});
    } else if (words.size() == 3 && words[1] == "x") {
      shape.profiles.push_back({words[2], std::stoi(words[0])});
    } else {
      Reject(text, "a profile is NAME or COUNT x NAME");
    }
  }
  return shape;
}

std::string ToText(const NodeState& node, const binpack::Placement& placement) {
  std::string text;
  for (const binpack::Piece& piece : placement.pieces) {
    if (!text.empty()) text += ' ';
    if (piece.pool >= 0) {
      text += "pool" + std::to_string(piece.pool);
      continue;
    }
    text += std::to_string(piece.gpu);
    if (piece.kind != PieceKind::kInstance) continue;
    const auto& model = *node.gpus[static_cast<std::size_t>(piece.gpu)].model;
    text += ":" + model.profiles[static_cast<std::size_t>(piece.profile)].name + "@" +
            std::to_string(piece.slices.start);
  }
  return text;
}

std::vector<std::string> AllPlacements(const NodeState& node, const binpack::RequestShape& shape) {
  std::vector<std::string> texts;
  binpack::ForEachPlacement(node, shape, [&](const binpack::Placement& placement) {
    texts.push_back(ToText(node, placement));
    return true;
  });
  return texts;
}

scheduler::Inventory WholeInventory(std::string name, int gpus, std::string_view model) {
  return {.name = std::move(name),
          .offers = {{.resource = "nvidia.com/gpu", .kind = scheduler::OfferKind::kWholeGpus}},
          .devices = WholeNode(std::string(static_cast<std::size_t>(gpus), '.'), model)};
}

scheduler::Inventory SharedInventory(std::string name, binpack::Sharing sharing, int gpus,
                                     int slots) {
  return {.name = std::move(name),
          .offers = {{.resource = "nvidia.com/gpu",
                      .kind = scheduler::OfferKind::kSlots,
                      .one_per_container = sharing == binpack::Sharing::kMps}},
          .devices = SharedNode(sharing, std::vector<std::string>(
                                             static_cast<std::size_t>(gpus),
                                             std::string(static_cast<std::size_t>(slots), '.')))};
}

scheduler::Inventory PoolInventory(std::string name, std::string_view model,
                                   const std::vector<PoolText>& pools) {
  scheduler::Inventory inventory{.name = std::move(name), .devices = PoolNode(model, pools)};
  for (std::size_t i = 0; i < pools.size(); ++i) {
    inventory.offers.push_back({.resource = "nvidia.com/mig-" + pools[i].profile,
                                .kind = scheduler::OfferKind::kInstances,
                                .pool = static_cast<int>(i)});
  }
  std::ranges::sort(inventory.offers, {}, &scheduler::Offer::resource);
  return inventory;
}

scheduler::Pod PodFromText(std::string_view text) {
  const auto words = Words(text);
  if (words.empty()) Reject(text, "a pod has a name");
  scheduler::Pod pod{.uid = "uid-" + words[0], .name_space = "default", .name = words[0]};
  scheduler::ContainerRequest container{.name = "main"};
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    if (equals == std::string::npos) Reject(text, "a word is KEY=VALUE");
    const std::string key = words[i].substr(0, equals);
    const std::string value = words[i].substr(equals + 1);
    if (key == "priority") {
      pod.priority = std::stoi(value);
    } else if (key == "node") {
      pod.node_name = value;
    } else if (key == "nominated") {
      pod.nominated_node_name = value;
    } else if (key == "namespace") {
      pod.name_space = value;
    } else if (key == "created") {
      pod.created_s = std::stoll(value);
    } else if (key == "label") {
      pod.tenant_label = value;
    } else if (key == "memory") {
      pod.declared_memory.mib = std::stoi(value);
    } else if (key == "share") {
      pod.declared_memory.share_millionths = std::stoi(value);
    } else if (key == "cpu") {
      container.host.cpu_milli = std::stoll(value);
    } else {
      container.devices.push_back({key, std::stoll(value)});
    }
  }
  pod.containers = {container};
  pod.request = scheduler::EffectiveRequest(pod.containers, {});
  pod.host = scheduler::EffectiveHost(pod.containers, {});
  return pod;
}

scheduler::Snapshot SnapshotOf(std::vector<scheduler::Inventory> nodes,
                               std::vector<scheduler::Pod> pods) {
  scheduler::Snapshot snapshot;
  for (auto& node : nodes) snapshot.PutNode(std::move(node));
  for (auto& pod : pods) snapshot.PutPod(std::move(pod));
  return snapshot;
}

}  // namespace offcut::testing
