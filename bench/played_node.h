// kube-scheduler's own filters, and one of its scorers, in brief. Played here:
// unschedulable nodes, nodeSelector, and resources (CPU, memory, pods and every counted resource,
// against allocatable less what bound pods request). Taints, affinity, volumes and ports are not.
// Source: Kubernetes, plugins NodeUnschedulable, NodeAffinity and NodeResourcesFit.
// Pure values; not synchronised.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/error.h"

namespace offcut::bench {

// By resource name; "cpu" in thousandths, "memory" in bytes, all else in whole units.
using ResourceAmounts = std::map<std::string, std::int64_t>;

struct PlayedNode {
  std::string name;
  std::map<std::string, std::string> labels;
  bool is_unschedulable = false;
  ResourceAmounts allocatable;
  ResourceAmounts requested;  // by the pods that are bound here
};

std::expected<PlayedNode, api::Error> PlayedNodeOf(const nlohmann::json& node);

// What the pod requests in all: app containers and sidecars summed, init containers by their
// maximum with the sidecars before them, overhead added, "pods" 1. Limits count where the request
// lacks the name. Zero amounts are left out. Error: a quantity that is none.
std::expected<ResourceAmounts, api::Error> RequestsOf(const nlohmann::json& pod);

// Takes what a pod that is bound here requests.
void Charge(PlayedNode& node, const ResourceAmounts& requests);

// kube-scheduler's texts for why the pod may not go there; empty: it may. Resources of `ignored`
// are not looked at (`ignoredByScheduler` of the extender's configuration).
std::vector<std::string> InTreeRefusals(const PlayedNode& node, const nlohmann::json& pod,
                                        const ResourceAmounts& requests,
                                        const std::set<std::string>& ignored);

// 0..100: how full CPU and memory are on average with the pod there, in percent, as
// NodeResourcesFit MostAllocated counts it with both weights 1.
std::int64_t MostAllocatedScore(const PlayedNode& node, const ResourceAmounts& requests);

// "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.": what stands in the
// pod's condition. `counts`: nodes by reason.
std::string PrintFitError(std::size_t nodes, const std::map<std::string, int>& counts);

}  // namespace offcut::bench
