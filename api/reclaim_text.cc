#include "api/reclaim_text.h"

#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include "api/kube_time.h"

namespace offcut::api {
namespace {

using scheduler::Pod;
using scheduler::Snapshot;

// Victims that are named in a note; an event's note is short.
constexpr std::size_t kNamedVictimsMax = 8;

std::string_view TenantIn(const Snapshot& snapshot, const Pod& pod) {
  if (snapshot.accounts() == nullptr) return {};
  const scheduler::Tenancy& tenancy = snapshot.accounts()->tenancy();
  return NameOf(tenancy, TenantOf(tenancy, pod));
}

std::string NameOfPod(const Pod& pod) { return fmt::format("{}/{}", pod.name_space, pod.name); }

std::string VictimNames(const scheduler::ReclaimPlan& plan) {
  std::string names;
  for (std::size_t i = 0; i < plan.victims.size() && i < kNamedVictimsMax; ++i) {
    if (i > 0) names += ", ";
    names += NameOfPod(*plan.victims[i]);
  }
  if (plan.victims.size() > kNamedVictimsMax) {
    names += fmt::format(" and {} more", plan.victims.size() - kNamedVictimsMax);
  }
  return names;
}

}  // namespace

std::string ReclaimCause(const Snapshot& snapshot, const Pod& pod, const Pod& victim) {
  const std::string_view own = TenantIn(snapshot, pod);
  const std::string_view other = TenantIn(snapshot, victim);
  if (own != other) {
    return fmt::format("tenant {} has less than its guarantee, and tenant {} more", own, other);
  }
  return fmt::format("priority {} is above {}", pod.priority, victim.priority);
}

std::string ReclaimNote(const Snapshot& snapshot, const Pod& pod,
                        const scheduler::ReclaimPlan& plan, bool is_dry_run, std::int64_t until_s) {
  const std::string cause = ReclaimCause(snapshot, pod, *plan.victims.front());
  if (is_dry_run) {
    return fmt::format("Dry run: would evict {} on node {}: {}.", VictimNames(plan), plan.node,
                       cause);
  }
  return fmt::format("Evicts {} on node {}: {}. What they leave is kept for this pod until {}.",
                     VictimNames(plan), plan.node, cause, TimeText(until_s));
}

std::string VictimNote(const Snapshot& snapshot, const Pod& pod, const Pod& victim,
                       bool is_dry_run) {
  return fmt::format("{} for {}: {}.", is_dry_run ? "Dry run: would be evicted" : "Evicted",
                     NameOfPod(pod), ReclaimCause(snapshot, pod, victim));
}

}  // namespace offcut::api
