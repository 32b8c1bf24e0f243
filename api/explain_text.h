// An explanation for people, and for programs.
// Pure; deterministic.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "scheduler/explain.h"

namespace offcut::api {

struct ExplanationLimits {
  std::size_t nodes_max = 40;    // in the table
  std::size_t pictures_max = 3;  // of nodes
};

// A verdict line, what the tenant lacks where quota refuses, a table of nodes (the chosen one
// first, then those that fit, then the refused ones), the devices chosen, the refusals counted as
// kube-scheduler counts them, what Offcut does not decide on, what kube-scheduler last said, and
// the GPUs of the first nodes of the table.
std::string PrintExplanation(const scheduler::Explanation& explanation,
                             const ExplanationLimits& limits = {});

// {"pod", "namespace", "uid", "tenant", "phase", "asks", "node", "selectsNodes", "nodes": [{"name",
// "fits", "reason", "text", "score", "keptAwayBy", "cost", "terms": {...}, "record": {...}, "gpus":
// [...]}], "refusals": [...], "quota": [...]}. `keptAwayBy` is what kube-scheduler will say of the
// node by the pod's selector, its affinity or the node's taints; it is no verdict. `quota` tells
// what refuses in the numbers of api/tenant_json.h, with the count of `nodes`, and `text`. `gpus`
// tells each GPU's state, `record` what the pod would get.
nlohmann::json ToJson(const scheduler::Explanation& explanation);

// What a pod asks for, in one line: "2 x nvidia.com/gpu"; "no GPU".
std::string AsksOf(const scheduler::Pod& pod);

// What is on record, in one line: "GPU 3, GPU 4 (assumed: the kubelet picks)"; empty: no device.
std::string DevicesText(const scheduler::DeviceRecord& record);

// "8 not enough free GPUs, 6 ...": nodes and why they refuse, as kube-scheduler puts it.
std::string PrintRefusals(const std::vector<scheduler::ReasonCount>& refusals);

}  // namespace offcut::api
