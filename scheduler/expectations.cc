#include "scheduler/expectations.h"

#include <algorithm>
#include <utility>

namespace offcut::scheduler {

std::span<const Expectation> Expectations::On(std::string_view node_name) const {
  const auto found = by_node_.find(node_name);
  if (found == by_node_.end()) return {};
  return found->second;
}

bool Expectations::IsClaimed(std::string_view uid) const {
  const auto found = places_.find(std::string(uid));
  return found != places_.end() && !found->second.claimed.empty();
}

bool Expectations::IsLapsed(std::string_view uid, std::string_view node_name) const {
  const auto found = places_.find(std::string(uid));
  return found != places_.end() && !node_name.empty() && found->second.lapsed == node_name;
}

void Expectations::Nominate(std::shared_ptr<const Pod> pod) {
  const std::string uid = pod->uid;
  const std::string& node_name = pod->nominated_node_name;
  if (node_name.empty() && !places_.contains(uid)) return;
  Places& places = places_[uid];
  Remove(places.nominated, uid, ExpectationKind::kNominated);
  places.nominated.clear();
  if (places.lapsed != node_name) places.lapsed.clear();
  if (!node_name.empty() && places.lapsed.empty()) {
    places.nominated = node_name;
    Add(places.nominated, {.pod = std::move(pod), .kind = ExpectationKind::kNominated});
  }
  EraseIfNowhere(uid);
}

void Expectations::LapseNomination(std::string_view uid) {
  const auto found = places_.find(std::string(uid));
  if (found == places_.end() || found->second.nominated.empty()) return;
  Remove(found->second.nominated, uid, ExpectationKind::kNominated);
  found->second.lapsed = std::exchange(found->second.nominated, {});
}

void Expectations::Claim(std::shared_ptr<const Pod> pod, std::string_view node_name) {
  Places& places = places_[pod->uid];
  Remove(places.claimed, pod->uid, ExpectationKind::kClaimed);
  places.claimed = node_name;
  Add(node_name, {.pod = std::move(pod), .kind = ExpectationKind::kClaimed});
}

void Expectations::DropClaim(std::string_view uid) {
  const auto found = places_.find(std::string(uid));
  if (found == places_.end()) return;
  Remove(found->second.claimed, uid, ExpectationKind::kClaimed);
  found->second.claimed.clear();
  EraseIfNowhere(uid);
}

void Expectations::RenewClaim(const std::shared_ptr<const Pod>& pod) {
  const auto found = places_.find(pod->uid);
  if (found == places_.end() || found->second.claimed.empty()) return;
  for (Expectation& each : by_node_.find(found->second.claimed)->second) {
    if (each.kind == ExpectationKind::kClaimed && each.pod->uid == pod->uid) each.pod = pod;
  }
}

void Expectations::Forget(std::string_view uid) {
  const auto found = places_.find(std::string(uid));
  if (found == places_.end()) return;
  Remove(found->second.nominated, uid, ExpectationKind::kNominated);
  Remove(found->second.claimed, uid, ExpectationKind::kClaimed);
  places_.erase(found);
}

void Expectations::Add(std::string_view node_name, Expectation expectation) {
  by_node_[std::string(node_name)].push_back(std::move(expectation));
}

void Expectations::Remove(std::string_view node_name, std::string_view uid, ExpectationKind kind) {
  const auto found = by_node_.find(node_name);
  if (found == by_node_.end()) return;
  std::erase_if(found->second, [&](const Expectation& expectation) {
    return expectation.kind == kind && expectation.pod->uid == uid;
  });
  if (found->second.empty()) by_node_.erase(found);
}

void Expectations::EraseIfNowhere(std::string_view uid) {
  const auto found = places_.find(std::string(uid));
  const Places& places = found->second;
  if (places.nominated.empty() && places.claimed.empty() && places.lapsed.empty()) {
    places_.erase(found);
  }
}

}  // namespace offcut::scheduler
