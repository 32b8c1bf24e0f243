// An explanation for people, and for programs.
// Pure; deterministic.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "scheduler/explain.h"

namespace offcut::api {

// A verdict line, a table of nodes (the chosen one first, then those that fit, then the refused
// ones; at most `nodes_max` of them), the devices chosen, the refusals counted as kube-scheduler
// counts them, every GPU of the nodes in the table, and what Offcut did not look at.
std::string PrintExplanation(const scheduler::Explanation& explanation, std::size_t nodes_max);

// {"pod", "namespace", "uid", "phase", "asks", "node", "nodes": [{"name", "fits", "reason", "text",
// "score", "cost", "terms": {...}, "record": {...}, "gpus": [...]}], "refusals": [...]}.
// `gpus` tells each GPU's state, `record` what the pod would get.
nlohmann::json ToJson(const scheduler::Explanation& explanation);

// What a pod asks for, in one line: "2 x nvidia.com/gpu"; "no GPU".
std::string AsksOf(const scheduler::Pod& pod);

// What is on record, in one line: "GPU 3, GPU 4 (assumed: the kubelet picks)"; empty: no device.
std::string DevicesText(const scheduler::DeviceRecord& record);

// "0/14 nodes are available: 8 not enough free GPUs, 6 ...", as kube-scheduler puts it.
std::string PrintRefusals(const std::vector<scheduler::ReasonCount>& refusals, std::size_t nodes);

}  // namespace offcut::api
