// GPUs and devices as the read-only JSON of /api/v1 and of explain shows them.
// Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scheduler/node.h"

namespace offcut::api {

// One GPU: {"index", "uuid", "model", "product", "memoryMiB", "health", "mode", ...}, then by mode:
// whole "taken"; mig "instances": [{"profile", "start", "size"}], "freeSlices"; time-slicing and
// mps "slots", "slotsUsed"; fraction "memoryMiBUsed", "coresPercent", "coresPercentUsed",
// "sharers", "sharersMax".
nlohmann::json ToJson(const binpack::Gpu& gpu, int index);

// {"profile", "units", "unitsUnhealthy", "unitsUsed", "replicas"}: starts are not known.
nlohmann::json ToJson(const binpack::InstancePool& pool);

// {"name", "agent", "closed", "gpus": [...], "pools": [...], "holders": [{"namespace", "name",
// "uid", "placed"}]}.
nlohmann::json ToJson(const scheduler::Node& node);

}  // namespace offcut::api
