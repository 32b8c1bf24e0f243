#include "api/nominee_refusals.h"

namespace offcut::api {

void NomineeRefusals::Note(std::string_view uid, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (refused_at_.size() >= kPodsMax) refused_at_.clear();
  refused_at_[std::string(uid)] = now;
}

void NomineeRefusals::Forget(std::string_view uid) {
  const std::lock_guard lock(mutex_);
  if (!refused_at_.empty()) refused_at_.erase(std::string(uid));
}

bool NomineeRefusals::IsNoted(std::string_view uid, Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  const auto found = refused_at_.find(std::string(uid));
  return found != refused_at_.end() && now - found->second <= kAge;
}

}  // namespace offcut::api
