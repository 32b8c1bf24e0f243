// Keeps what ResourceQuotas say of resources of ours in the state, for people. Where they may not
// be read, there are none; nothing waits for them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/kube_client.h"
#include "api/list_watch.h"
#include "api/metrics.h"
#include "scheduler/policy.h"
#include "scheduler/resource_quota.h"
#include "scheduler/state_store.h"

namespace offcut::api {

// Reads a v1.ResourceQuota. nullopt: it limits no resource of ours, or has no name. Amounts that
// cannot be read are left out.
std::optional<scheduler::ResourceQuota> ParseResourceQuota(const nlohmann::json& object,
                                                           const scheduler::ResourceNames& names);

// Owned by the client's thread. All that is named in the constructor outlives the object.
class ResourceQuotas {
 public:
  ResourceQuotas(KubeClient& client, scheduler::StateStore& store, const scheduler::Policy& policy,
                 Metrics& metrics, ListWatchSettings settings);

  void Start() { watch_.Start(); }

 private:
  using Name = std::pair<std::string, std::string>;  // namespace and name

  void Replace(const std::vector<nlohmann::json>& items);
  void Put(const nlohmann::json& object);
  void Remove(const nlohmann::json& object);
  void Publish();

  scheduler::StateStore& store_;
  const scheduler::Policy& policy_;
  std::map<Name, scheduler::ResourceQuota> quotas_;
  ListWatch watch_;
};

}  // namespace offcut::api
