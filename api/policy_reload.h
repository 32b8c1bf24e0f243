// Follows the policy file while the server runs: what it says of tenants, pools and isolation takes
// effect at once, on the newest state. Whatever is held is charged anew, and nothing is taken from
// anybody. A file that is wrong changes nothing, and is told once.
//
// What else a policy says (resources, packing, the scheduler's contract) is read at the start
// alone: what nodes and pods were read by, and what replicas agree on, does not change under a
// decision.
//
// Each change that has been looked at is counted, as good or as wrong
// (offcut_policy_reloads_total).
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "api/metrics.h"
#include "scheduler/policy.h"
#include "scheduler/state_store.h"

namespace offcut::api {

// A ConfigMap takes a minute to reach a volume; looking is cheap. A change counts at the second
// look that finds it so: a file may be looked at while somebody writes it.
inline constexpr std::chrono::milliseconds kPolicyLookPeriod{2'000};

class PolicyReload {
 public:
  // `policy`: as it was read from the file just now. `changed`: called after each change of the
  // state, on the object's thread; may be empty. `store` and `metrics` outlive the object.
  PolicyReload(std::string path, scheduler::Policy policy, scheduler::StateStore& store,
               Metrics& metrics, std::function<void()> changed,
               std::chrono::milliseconds period = kPolicyLookPeriod);
  PolicyReload(const PolicyReload&) = delete;
  PolicyReload& operator=(const PolicyReload&) = delete;
  ~PolicyReload();

 private:
  void Run();
  void Look();
  void Fail(std::string_view why);
  void Take(scheduler::Policy policy);

  const std::string path_;
  scheduler::Policy policy_;      // the last one that was good
  const std::string fixed_part_;  // of the one that runs: what a restart would change
  scheduler::StateStore& store_;
  Metrics& metrics_;
  const std::function<void()> changed_;
  const std::chrono::milliseconds period_;
  std::string seen_;  // at the last look
  std::string text_;  // as it was last read: the same at two looks; empty: not since the start
  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace offcut::api
