// Keeps what PodDisruptionBudgets allow in the state. Where they may not be read, kube-scheduler's
// own counts stand; nothing waits for them.
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
#include "scheduler/disruption_budget.h"
#include "scheduler/state_store.h"

namespace offcut::api {

// Reads a policy/v1 PodDisruptionBudget. nullopt: it has no name, or its selector cannot be read.
// What else cannot be read allows no disruption.
std::optional<scheduler::DisruptionBudget> ParseDisruptionBudget(const nlohmann::json& object);

// Owned by the client's thread. All that is named in the constructor outlives the object.
class DisruptionBudgets {
 public:
  DisruptionBudgets(KubeClient& client, scheduler::StateStore& store, Metrics& metrics,
                    ListWatchSettings settings);

  void Start() { watch_.Start(); }

 private:
  using Name = std::pair<std::string, std::string>;  // namespace and name

  void Replace(const std::vector<nlohmann::json>& items);
  void Put(const nlohmann::json& object);
  void Remove(const nlohmann::json& object);
  void Publish();

  scheduler::StateStore& store_;
  std::map<Name, scheduler::DisruptionBudget> budgets_;
  ListWatch watch_;
};

}  // namespace offcut::api
