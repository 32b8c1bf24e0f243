// How many evictions a workload and a tenant have yet to bear, by a policy's limits in a window of
// time. Kept in memory: another leader begins with an empty one. Pure; not synchronised.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "scheduler/reclaim_rules.h"
#include "scheduler/snapshot.h"

namespace offcut::scheduler {

// Pods of one controller are one workload, for they come again; a pod without one is its own.
std::string_view WorkloadOf(const Pod& pod);

class EvictionBudget {
 public:
  explicit EvictionBudget(const ReclaimRules& rules) : rules_(rules) {}

  // The pod is evicted now; seconds since 1970, never less than before.
  void Count(const Snapshot& snapshot, const Pod& pod, std::int64_t now_s);

  // Bound pods of which none may be evicted now, by UID.
  std::unordered_set<std::string> Spared(const Snapshot& snapshot, std::int64_t now_s);

  // Whether all of those may be evicted now, one after the other.
  bool Allows(const Snapshot& snapshot, std::span<const std::shared_ptr<const Pod>> pods,
              std::int64_t now_s);

 private:
  struct Eviction {
    std::int64_t at_s;
    std::string workload;
    std::string tenant;  // its name, for the tree may be another soon; empty: none
  };
  struct Counts {
    std::map<std::string, int, std::less<>> workloads;
    std::map<std::string, int, std::less<>> tenants;
  };

  void ForgetBefore(std::int64_t time_s);
  Counts Counted() const;
  bool IsFull(const Counts& counts, const Pod& pod, std::string_view tenant) const;

  ReclaimRules rules_;
  std::deque<Eviction> evictions_;  // oldest first
};

}  // namespace offcut::scheduler
