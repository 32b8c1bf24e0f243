#include "bench/synthetic_cluster.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include <fmt/format.h>

namespace offcut::bench {
namespace {

using nlohmann::json;

constexpr std::array kWaitingGpus = {1, 2, 4, 8};

json NodeNamed(const std::string& name) {
  const json resources = {{"cpu", "192"},
                          {"memory", "2113386872Ki"},
                          {"ephemeral-storage", "1843269236Ki"},
                          {"pods", "110"},
                          {"nvidia.com/gpu", std::to_string(kSyntheticGpusPerNode)}};
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", name},
            {"labels",
             {{"kubernetes.io/hostname", name},
              {"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"},
              {"nvidia.com/gpu.count", std::to_string(kSyntheticGpusPerNode)},
              {"nvidia.com/gpu.memory", "81559"},
              {"nvidia.com/gpu.replicas", "1"},
              {"nvidia.com/gpu.sharing-strategy", "none"},
              {"nvidia.com/mig.strategy", "none"}}}}},
          {"spec", json::object()},
          {"status", {{"capacity", resources}, {"allocatable", resources}}}};
}

json PodOf(const std::string& name, int gpus) {
  const json resources = {
      {"cpu", "8"}, {"memory", "64Gi"}, {"nvidia.com/gpu", std::to_string(gpus)}};
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", name}, {"namespace", "load"}, {"uid", "uid-" + name}}},
          {"spec",
           {{"schedulerName", "default-scheduler"},
            {"containers",
             json::array({{{"name", "main"},
                           {"image", "registry.example.com/team/train:1.2.3"},
                           {"resources", {{"requests", resources}, {"limits", resources}}}}})}}},
          {"status", {{"phase", "Pending"}}}};
}

}  // namespace

SyntheticCluster MakeSyntheticCluster(std::size_t nodes, std::size_t waiting, std::uint64_t seed) {
  SyntheticCluster cluster;
  std::vector<std::size_t> places(nodes);
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::shuffle(places, std::mt19937_64(seed));
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::string name = fmt::format("gpu-node-{:05}.eu-west-1.example.internal", i);
    cluster.nodes.push_back(NodeNamed(name));
    cluster.node_names.push_back(name);
    const int taken = static_cast<int>(places[i] % (kSyntheticGpusPerNode + 1));
    if (taken == 0) continue;
    json pod = PodOf(fmt::format("running-{}", i), taken);
    pod["spec"]["nodeName"] = name;
    pod["status"]["phase"] = "Running";
    cluster.running.push_back(std::move(pod));
  }
  for (std::size_t i = 0; i < waiting; ++i) {
    cluster.waiting.push_back(
        PodOf(fmt::format("waiting-{}", i), kWaitingGpus[i % kWaitingGpus.size()]));
  }
  return cluster;
}

std::string PrintSnapshot(const SyntheticCluster& cluster) {
  std::string out = R"({"apiVersion":"v1","kind":"List","items":[)";
  bool is_first = true;
  for (const auto* objects : {&cluster.nodes, &cluster.running}) {
    for (const json& object : *objects) {
      out += is_first ? "\n" : ",\n";
      is_first = false;
      out += object.dump();
    }
  }
  return out += "\n]}\n";
}

}  // namespace offcut::bench
