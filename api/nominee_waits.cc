#include "api/nominee_waits.h"

#include <utility>

namespace offcut::api {

void NomineeWaits::Refused(std::string_view uid, std::string_view node_name,
                           Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const std::string key(uid);
  if (nominees_.size() >= kPodsMax && !nominees_.contains(key)) nominees_.clear();
  Nominee& nominee = nominees_[key];
  if (nominee.node_name != node_name) nominee = {.node_name = std::string(node_name)};
  nominee.refused_at = nominee.last_refused_at = now;
}

void NomineeWaits::NotRefused(std::string_view uid) {
  const std::lock_guard lock(mutex_);
  const auto found = nominees_.find(std::string(uid));
  if (found != nominees_.end()) found->second.refused_at.reset();
}

void NomineeWaits::Passed(std::string_view uid) {
  const std::lock_guard lock(mutex_);
  nominees_.erase(std::string(uid));
}

bool NomineeWaits::Begin(std::string_view uid, std::string_view node_name, bool would_help,
                         Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const auto found = nominees_.find(std::string(uid));
  if (found == nominees_.end()) return false;
  Nominee& nominee = found->second;
  if (!would_help) nominee.waits_since.reset();
  const auto refused_at = std::exchange(nominee.refused_at, std::nullopt);
  if (!refused_at || now - *refused_at > kAttempt || nominee.node_name != node_name) return false;
  if (!would_help) return false;
  if (!nominee.waits_since) nominee.waits_since = now;
  return now - *nominee.waits_since <= kPatience;
}

bool NomineeWaits::WasRefused(std::string_view uid, std::string_view node_name,
                              Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  const auto found = nominees_.find(std::string(uid));
  if (found == nominees_.end() || found->second.node_name != node_name) return false;
  const auto& refused_at = found->second.last_refused_at;
  return refused_at && now - *refused_at <= kAttempt;
}

}  // namespace offcut::api
