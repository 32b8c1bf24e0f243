// Keeps the state's admissions what Kueue's Workloads say. Where Kueue is not installed, there are
// none.
#pragma once

#include <functional>
#include <memory>
#include <random>

#include "api/kube_client.h"
#include "api/list_watch.h"
#include "api/metrics.h"
#include "scheduler/admissions.h"
#include "scheduler/state_store.h"

namespace offcut::api {

// Owned by the client's thread. All that is named in the constructor outlives the object.
class KueueAdmissions {
 public:
  // `changed`: called after each change of the state, and once it is known whether Workloads can be
  // read.
  KueueAdmissions(KubeClient& client, scheduler::StateStore& store, Metrics& metrics,
                  std::function<void()> changed, ListWatchSettings settings);

  void Start() { watch_.Start(); }
  void Stop() { watch_.Stop(); }

  // A whole list has come, or the API server has refused it. Then there are no admissions to wait
  // for: a pod whose admission is not known has its tenant by namespace, and is woken when it is.
  bool IsKnown() const { return is_known_; }

 private:
  void Replace(const std::vector<nlohmann::json>& items);
  void Put(const nlohmann::json& object);
  void Remove(const nlohmann::json& object);
  void Publish(scheduler::Admissions admissions);
  void Observe(const WatchStatus& status);

  scheduler::StateStore& store_;
  Metrics& metrics_;
  const std::function<void()> changed_;
  std::shared_ptr<const scheduler::Admissions> admissions_;  // as published; never null
  bool is_known_ = false;
  ListWatch watch_;
};

}  // namespace offcut::api
