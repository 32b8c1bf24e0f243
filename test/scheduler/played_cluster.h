// A cluster whose pods preempt each other: kube-scheduler's cycles played on our decisions, and
// owners that replace whoever is evicted at once. What is asked for stays the same all the time.
//
// A cycle takes the pods that wait by priority, then age. Each is bound where filter lets it in,
// first to the node that it is nominated to; else preempt is asked, a node is picked, the victims
// begin to leave and the pod is nominated. It waits while they leave. Not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scheduler/decision.h"

namespace offcut::scheduler {

// Who would be named by kube-scheduler.
enum class Naming {
  kNobody,   // every node is a candidate: a scheduler with placeholders
  kByCount,  // as its dry run names them by counts of GPUs, on nodes that are short of them
};

struct PlayRules {
  Naming naming = Naming::kNobody;
  int grace = 0;  // cycles for which a victim goes on to hold its devices
};

// A set of victims, before any of them leaves.
struct Eviction {
  const Snapshot& snapshot;
  const Pod& preemptor;
  const PreemptionCandidate& chosen;
};

// A pod that is given a place.
struct Binding {
  const Snapshot& before;
  const Snapshot& after;
  const Pod& pod;
  std::string_view node_name;
};

class PlayedCluster {
 public:
  PlayedCluster(Snapshot snapshot, const Policy& policy, PlayRules rules)
      : snapshot_(std::move(snapshot)), policy_(policy), rules_(rules) {}

  // For each of them, as it happens.
  std::function<void(const Eviction&)> on_eviction = [](const Eviction&) {};
  std::function<void(const Binding&)> on_binding = [](const Binding&) {};

  // The first pod of the owner that is called as the pod.
  void Arrive(const Pod& pod);
  // Whether anything happened, or has yet to.
  bool Cycle();
  // Cycles until nothing happens, at most so many; false: something would still happen.
  bool Run(int cycles_max);

  const Snapshot& snapshot() const { return snapshot_; }
  // The owner's pod of now.
  const PodEntry& PodOf(const std::string& owner) const;
  // How often each owner's pods preempted those of each other owner.
  const std::map<std::pair<std::string, std::string>, int>& evictions() const { return evictions_; }

 private:
  struct Owner {
    Pod pod;  // as it waits first
    int incarnations = 0;
  };
  struct Leaving {
    std::string uid;
    int at_cycle = 0;
  };

  void Create(Owner& owner);
  bool EndThoseThatLeave();
  bool Attempt(const std::string& uid);
  bool Bind(const Pod& pod);
  bool BindTo(const Pod& pod, const std::string& node_name);
  bool WaitsForVictims(const Pod& pod) const;
  bool TryPreempt(const Pod& pod);
  std::vector<PreemptionCandidate> Candidates(const Pod& pod) const;
  std::size_t PickOf(const std::vector<PreemptionCandidate>& kept) const;
  void Evict(const Pod& pod, const PreemptionCandidate& chosen);
  void Nominate(const Pod& pod, const std::string& node_name);

  Snapshot snapshot_;
  const Policy& policy_;
  const PlayRules rules_;
  std::map<std::string, Owner> owners_;  // by name
  std::vector<Leaving> leaving_;
  std::map<std::pair<std::string, std::string>, int> evictions_;
  std::int64_t clock_s_ = 0;  // each creation is a second after the one before
  int cycle_ = 0;
};

}  // namespace offcut::scheduler
