// Holds the current snapshot. The only mutable state, and the only mutex, of the decision layer.
//
// Read() is cheap and never waits for a writer's edit. Update() hands a copy of the newest snapshot
// to `edit` and publishes it; one writer at a time, so what an edit decides is decided on the
// newest state. Never do I/O in an edit. Not std::atomic<std::shared_ptr>: g++ 12's makes
// ThreadSanitizer report a race in correct code. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "scheduler/snapshot.h"

namespace offcut::scheduler {

class StateStore {
 public:
  StateStore() : current_(std::make_shared<const Snapshot>()) {}

  std::shared_ptr<const Snapshot> Read() const {
    const std::lock_guard lock(current_mutex_);
    return current_;
  }

  // Returns what `edit(Snapshot& next)` returns, after `next` has been published.
  template <typename Edit>
  auto Update(Edit edit) {
    const std::lock_guard writer(writer_mutex_);
    auto next = std::make_shared<Snapshot>(*Read());
    if constexpr (std::is_void_v<decltype(edit(*next))>) {
      edit(*next);
      Publish(std::move(next));
    } else {
      auto result = edit(*next);
      Publish(std::move(next));
      return result;
    }
  }

 private:
  void Publish(std::shared_ptr<const Snapshot> next) {
    const std::lock_guard lock(current_mutex_);
    current_.swap(next);
  }

  std::mutex writer_mutex_;           // one edit at a time
  mutable std::mutex current_mutex_;  // guards the pointer alone
  std::shared_ptr<const Snapshot> current_;
};

}  // namespace offcut::scheduler
