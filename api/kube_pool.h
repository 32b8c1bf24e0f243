// Idle connections to the API server, kept for the next call. Owned by the client's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>

#include "api/kube_connection.h"

namespace offcut::api {

class KubePool {
 public:
  KubePool(const KubeExecutor& executor, std::size_t idle_max,
           std::chrono::milliseconds idle_timeout)
      : idle_max_(idle_max), idle_timeout_(idle_timeout), sweep_timer_(executor) {}

  // The connection used last that still stands and was made with `tls`; null: there is none.
  std::shared_ptr<KubeConnection> Take(const TlsContext& tls);

  // Keeps an idle connection until it is taken, idle_timeout has passed, or idle_max came after it.
  void Give(std::shared_ptr<KubeConnection> connection);

  // Closes all, for good where the client stops.
  void Clear();

 private:
  struct Idle {
    std::shared_ptr<KubeConnection> connection;
    std::chrono::steady_clock::time_point expiry;
  };

  void Sweep();

  std::size_t idle_max_;
  std::chrono::milliseconds idle_timeout_;
  std::deque<Idle> idle_;  // the oldest first
  KubeTimer sweep_timer_;
  bool sweeps_ = false;  // the timer runs
};

}  // namespace offcut::api
