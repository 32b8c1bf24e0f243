// A cluster made for load tests: as many equal nodes as wanted, some of their GPUs taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace offcut::bench {

struct SyntheticCluster {
  std::vector<nlohmann::json> nodes;
  std::vector<std::string> node_names;  // theirs, in the same order
  std::vector<nlohmann::json> running;  // pods on them
  std::vector<nlohmann::json> waiting;  // pods to ask about
};

inline constexpr std::size_t kSyntheticNodesMax = 50'000;
inline constexpr int kSyntheticGpusPerNode = 8;

// Nodes of eight H100 on NVIDIA's stock device plugin. Of one in nine no GPU is taken, of one in
// nine one, and so on to all eight, in an order that the seed decides; so a pod of one GPU fits
// eight nodes in nine, one of eight GPUs one in nine. Pods wait for 1, 2, 4 and 8 GPUs in turn.
// The same arguments give the same cluster.
SyntheticCluster MakeSyntheticCluster(std::size_t nodes, std::size_t waiting, std::uint64_t seed);

// As `offcut serve --snapshot` reads it: a List of the nodes and of the pods that run, JSON.
std::string PrintSnapshot(const SyntheticCluster& cluster);

}  // namespace offcut::bench
