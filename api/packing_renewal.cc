#include "api/packing_renewal.h"

#include "api/logging.h"
#include "scheduler/packing.h"

namespace offcut::api {

void RenewPacking(scheduler::StateStore& store, const scheduler::Policy& policy) {
  const auto snapshot = store.Read();
  const auto packing = scheduler::RenewedPacking(*snapshot, policy);
  if (packing == snapshot->packing()) return;
  store.Update([&](scheduler::Snapshot& next) { next.SetPacking(packing); });
  LogTargetWorkload(scheduler::WorkloadText(*packing), packing->workload.classes.size(),
                    binpack::TotalCount(packing->workload));
}

PackingRenewal::PackingRenewal(scheduler::StateStore& store, const scheduler::Policy& policy,
                               std::chrono::milliseconds delay)
    : store_(store), policy_(policy), delay_(delay), thread_([this] { Run(); }) {}

PackingRenewal::~PackingRenewal() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PackingRenewal::Soon() {
  {
    const std::lock_guard lock(mutex_);
    if (is_due_) return;
    is_due_ = true;
  }
  changed_.notify_all();
}

void PackingRenewal::Now() { Renew(); }

void PackingRenewal::Renew() {
  const std::lock_guard lock(renewing_);
  RenewPacking(store_, policy_);
}

void PackingRenewal::Run() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    changed_.wait(lock, [this] { return is_due_ || ends_; });
    changed_.wait_for(lock, delay_, [this] { return ends_; });
    if (ends_) return;
    is_due_ = false;  // what changes from here on is due again
    lock.unlock();
    Renew();
    lock.lock();
  }
}

}  // namespace offcut::api
