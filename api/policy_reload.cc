#include "api/policy_reload.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "api/document.h"
#include "api/kube_config.h"
#include "api/policy_file.h"
#include "api/state_files.h"

namespace offcut::api {
namespace {

// The policy but for what takes effect while the server runs.
std::string FixedPartOf(scheduler::Policy policy) {
  policy.tenancy = nullptr;
  return PrintPolicy(policy);
}

}  // namespace

PolicyReload::PolicyReload(std::string path, scheduler::Policy policy, scheduler::StateStore& store,
                           Metrics& metrics, std::function<void()> changed,
                           std::chrono::milliseconds period)
    : path_(std::move(path)),
      policy_(std::move(policy)),
      fixed_part_(FixedPartOf(policy_)),
      store_(store),
      metrics_(metrics),
      changed_(std::move(changed)),
      period_(period) {
  metrics_.PolicyRead(std::chrono::system_clock::now());
  thread_ = std::thread([this] { Run(); });
}

PolicyReload::~PolicyReload() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void PolicyReload::Run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, period_, [this] { return ends_; })) {
    lock.unlock();
    Look();
    lock.lock();
  }
}

void PolicyReload::Look() {
  const auto text = ReadWholeFile(path_, kMaxDocumentBytes);
  const std::string now = text ? *text : text.error().message;
  // A file that is being written may be a policy already, of half of the tenants.
  const bool is_still = now == std::exchange(seen_, now);
  if (!is_still || now == text_) return;
  const bool is_first = text_.empty();
  text_ = now;
  if (!text) return Fail(text.error().message);
  auto policy = ReadPolicy(*text, path_, StrategyNames());
  if (!policy) {
    return Fail(OneLineOf(policy.error().front()) +
                (policy.error().size() > 1 ? ", and more: offcut policy validate " + path_ : ""));
  }
  const bool is_other = PrintPolicy(*policy) != PrintPolicy(policy_);
  if (is_first && !is_other) return;  // the start's own file
  metrics_.CountPolicyReload(true);
  metrics_.PolicyRead(std::chrono::system_clock::now());
  if (is_other) Take(*std::move(policy));
}

void PolicyReload::Fail(std::string_view why) {
  spdlog::error("the policy stays as it was: {}", why);
  metrics_.CountPolicyReload(false);
}

void PolicyReload::Take(scheduler::Policy policy) {
  if (FixedPartOf(policy) != fixed_part_) {
    spdlog::warn("{}: what has changed beside tenants, pools and isolation waits for a restart",
                 path_);
  }
  if (policy_.tenancy != nullptr && policy.tenancy == nullptr) {
    spdlog::warn("{}: names no tenants any more, so no quota holds", path_);
  }
  policy_ = std::move(policy);
  store_.Update([&](scheduler::Snapshot& next) { next.SetTenancy(policy_.tenancy); });
  spdlog::info("policy {}: tenants, pools and isolation are in effect", path_);
  if (changed_) changed_();
}

}  // namespace offcut::api
