#include "api/reclaim_calls.h"

#include <string>

#include <nlohmann/json.hpp>

#include "api/binding.h"
#include "api/hold_json.h"

namespace offcut::api {

using nlohmann::json;

KubeRequest HoldRequest(const scheduler::Pod& pod, const scheduler::Hold* hold) {
  const json value = hold == nullptr ? json(nullptr) : json(PrintHold(*hold));
  const json patch = {
      {"metadata", {{"uid", pod.uid}, {"annotations", {{std::string(kHoldAnnotation), value}}}}}};
  return {.method = "PATCH",
          .target = PodPath(pod.name_space, pod.name),
          .content_type = "application/merge-patch+json",
          .body = patch.dump(),
          .timeout = kReclaimCallTimeout};
}

KubeRequest EvictionRequest(const scheduler::Pod& pod, bool is_trial) {
  json options = {{"preconditions", {{"uid", pod.uid}}}};
  if (is_trial) options["dryRun"] = {"All"};
  const json eviction = {{"apiVersion", "policy/v1"},
                         {"kind", "Eviction"},
                         {"metadata", {{"namespace", pod.name_space}, {"name", pod.name}}},
                         {"deleteOptions", options}};
  return {.method = "POST",
          .target = PodPath(pod.name_space, pod.name) + "/eviction",
          .content_type = "application/json",
          .body = eviction.dump(),
          .timeout = kReclaimCallTimeout};
}

}  // namespace offcut::api
