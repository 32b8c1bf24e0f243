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

bool Expectations::IsHeld(std::string_view uid) const {
  const auto found = places_.find(std::string(uid));
  return found != places_.end() && !found->second.held.empty();
}

void Expectations::Expect(std::shared_ptr<const Pod> pod) {
  const std::string& uid = pod->uid;
  const std::string& nominated = pod->nominated_node_name;
  const Hold* hold = pod->hold && !pod->is_terminating ? &*pod->hold : nullptr;
  if (nominated.empty() && hold == nullptr && !places_.contains(uid)) return;
  Places& places = places_[uid];
  Remove(places.nominated, uid, ExpectationKind::kNominated);
  Remove(places.held, uid, ExpectationKind::kHeld);
  places.nominated.clear();
  places.held.clear();
  places.pod = pod;
  if (places.lapsed != nominated) places.lapsed.clear();
  const bool is_nominated = !nominated.empty() && places.lapsed.empty();
  const bool is_held = hold != nullptr && hold->until_s > places.hold_lapsed_s &&
                       (!is_nominated || nominated == hold->node);
  if (is_held) {
    places.held = hold->node;
    Add(places.held, {.pod = std::move(pod), .kind = ExpectationKind::kHeld});
  } else if (is_nominated) {
    places.nominated = nominated;
    Add(places.nominated, {.pod = std::move(pod), .kind = ExpectationKind::kNominated});
  }
  EraseIfNowhere(uid);
}

void Expectations::LapseNomination(std::string_view uid) {
  const auto found = places_.find(std::string(uid));
  if (found == places_.end() || found->second.pod == nullptr) return;
  if (!found->second.lapsed.empty()) return;
  found->second.lapsed = found->second.pod->nominated_node_name;
  Expect(found->second.pod);
}

void Expectations::LapseHold(std::string_view uid) {
  const auto found = places_.find(std::string(uid));
  if (found == places_.end() || found->second.held.empty()) return;
  found->second.hold_lapsed_s = found->second.pod->hold->until_s;
  Expect(found->second.pod);
}

Expectations::ChargedPlace Expectations::FindCharged(std::string_view uid) const {
  const auto found = places_.find(std::string(uid));
  if (found == places_.end()) return {};
  const Places& places = found->second;
  if (!places.claimed.empty()) {
    return {Find(places.claimed, uid, ExpectationKind::kClaimed), places.claimed};
  }
  if (places.held.empty()) return {};
  return {Find(places.held, uid, ExpectationKind::kHeld), places.held};
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
  Remove(found->second.held, uid, ExpectationKind::kHeld);
  Remove(found->second.claimed, uid, ExpectationKind::kClaimed);
  places_.erase(found);
}

void Expectations::Add(std::string_view node_name, Expectation expectation) {
  by_node_[std::string(node_name)].push_back(std::move(expectation));
}

std::shared_ptr<const Pod> Expectations::Find(std::string_view node_name, std::string_view uid,
                                              ExpectationKind kind) const {
  for (const Expectation& expectation : On(node_name)) {
    if (expectation.kind == kind && expectation.pod->uid == uid) return expectation.pod;
  }
  return nullptr;
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
  // That a hold has lapsed is kept as long as the pod says that there is one.
  const bool has_lapsed_hold = places.pod != nullptr && places.pod->hold && places.held.empty() &&
                               places.hold_lapsed_s >= places.pod->hold->until_s;
  if (places.nominated.empty() && places.held.empty() && places.claimed.empty() &&
      places.lapsed.empty() && !has_lapsed_hold) {
    places_.erase(found);
  }
}

}  // namespace offcut::scheduler
