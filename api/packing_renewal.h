// Keeps the packing model of the newest state what scheduler/packing.h derives from that state.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "scheduler/policy.h"
#include "scheduler/state_store.h"

namespace offcut::api {

// From a change of the state to the model that follows from it. A burst of changes costs one
// derivation, and what replicas think of the same state differs no longer than this.
inline constexpr std::chrono::milliseconds kPackingDelay{2'000};

// Derives from the newest state, outside of any edit, and publishes a model that has become
// another. Some milliseconds, or some dozens where layouts of MIG GPUs get new prices. Not from two
// threads at once: the one that has read the older state might publish last.
void RenewPacking(scheduler::StateStore& store, const scheduler::Policy& policy);

// Does so on a thread of its own, which nobody waits for. Members may be called from any thread.
class PackingRenewal {
 public:
  // Both outlive the object.
  PackingRenewal(scheduler::StateStore& store, const scheduler::Policy& policy,
                 std::chrono::milliseconds delay = kPackingDelay);
  PackingRenewal(const PackingRenewal&) = delete;
  PackingRenewal& operator=(const PackingRenewal&) = delete;
  ~PackingRenewal();

  // The state has changed: derives once the delay has passed.
  void Soon();
  // Before anybody asks for the first time, and returns when it is done.
  void Now();

 private:
  void Run();
  void Renew();

  scheduler::StateStore& store_;
  const scheduler::Policy& policy_;
  const std::chrono::milliseconds delay_;
  std::mutex renewing_;  // one derivation at a time
  std::mutex mutex_;     // guards what follows
  std::condition_variable changed_;
  bool is_due_ = false;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace offcut::api
