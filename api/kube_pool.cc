#include "api/kube_pool.h"

#include <tuple>
#include <utility>

namespace offcut::api {

using std::chrono::steady_clock;

std::shared_ptr<KubeConnection> KubePool::Take(const TlsContext& tls) {
  while (!idle_.empty()) {
    std::shared_ptr<KubeConnection> connection = std::move(idle_.back().connection);
    idle_.pop_back();
    if (connection->Tls() == tls && connection->IsUsable()) return connection;
    connection->Close();
  }
  return nullptr;
}

void KubePool::Give(std::shared_ptr<KubeConnection> connection) {
  idle_.push_back({std::move(connection), steady_clock::now() + idle_timeout_});
  if (idle_.size() > idle_max_) {
    idle_.front().connection->Close();
    idle_.pop_front();
  }
  if (!sweeps_) Sweep();
}

void KubePool::Sweep() {
  const auto now = steady_clock::now();
  while (!idle_.empty() && idle_.front().expiry <= now) {
    idle_.front().connection->Close();
    idle_.pop_front();
  }
  sweeps_ = !idle_.empty();
  if (!sweeps_) return;
  std::ignore = sweep_timer_.expires_at(idle_.front().expiry);
  sweep_timer_.async_wait([this](boost::system::error_code error) {
    if (!error) Sweep();
  });
}

void KubePool::Clear() {
  for (const Idle& idle : idle_) idle.connection->Close();
  idle_.clear();
  std::ignore = sweep_timer_.cancel();
}

}  // namespace offcut::api
