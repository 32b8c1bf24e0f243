#include "test/scheduler/played_cluster.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "scheduler/node_pick.h"

namespace offcut::scheduler {
namespace {

constexpr auto kWire = Prefilter::kByKubeScheduler;
constexpr std::string_view kGpu = "nvidia.com/gpu";

std::int64_t AskedBy(const Pod& pod) {
  const auto asked = std::ranges::find(pod.request.devices, kGpu, &ResourceCount::resource);
  return asked == pod.request.devices.end() ? 0 : asked->count;
}

std::int64_t CapacityOf(const Node& node) {
  std::int64_t capacity = 0;
  for (const binpack::Gpu& gpu : node.inventory.devices.gpus) {
    const auto* shared = std::get_if<binpack::SharedGpu>(&gpu.state);
    capacity += shared == nullptr ? 1 : shared->slots;
  }
  return capacity;
}

// kube-scheduler's dry run, for one counted resource: all of lower priority go, then those are
// spared that can be, the most important first. Empty: none is needed, or all do not suffice.
std::vector<std::string> NamedByCount(const Snapshot& snapshot, const Node& node, const Pod& pod) {
  std::int64_t free = CapacityOf(node) - AskedBy(pod);
  std::vector<const Pod*> lower;
  for (const Holder& holder : node.holders) {
    free -= AskedBy(*holder.pod);
    if (holder.pod->priority < pod.priority) lower.push_back(holder.pod.get());
  }
  for (const Expectation& expected : snapshot.ExpectedOn(node.name())) {
    const Pod& other = *expected.pod;
    if (other.uid != pod.uid && other.priority >= pod.priority) free -= AskedBy(other);
  }
  if (free >= 0) return {};
  for (const Pod* each : lower) free += AskedBy(*each);
  if (free < 0) return {};
  std::ranges::sort(lower, [](const Pod* a, const Pod* b) {
    return std::tuple(b->priority, a->created_s) < std::tuple(a->priority, b->created_s);
  });
  std::vector<std::string> victims;
  for (const Pod* each : lower) {
    if (free >= AskedBy(*each)) {
      free -= AskedBy(*each);
    } else {
      victims.push_back(each->uid);
    }
  }
  return victims;
}

std::vector<std::string> NodeNames(const Snapshot& snapshot) {
  std::vector<std::string> names;
  names.reserve(snapshot.nodes().size());
  for (const auto& node : snapshot.nodes()) names.push_back(node->name());
  return names;
}

}  // namespace

const PodEntry& PlayedCluster::PodOf(const std::string& owner) const {
  const Owner& known = owners_.at(owner);
  return *snapshot_.FindPod(owner + "-" + std::to_string(known.incarnations));
}

void PlayedCluster::Arrive(const Pod& pod) {
  Owner& owner = owners_[pod.name];
  owner.pod = pod;
  Create(owner);
}

void PlayedCluster::Create(Owner& owner) {
  Pod pod = owner.pod;
  pod.uid = pod.name + "-" + std::to_string(++owner.incarnations);
  pod.created_s = ++clock_s_;
  snapshot_.PutPod(std::move(pod));
}

bool PlayedCluster::Run(int cycles_max) {
  for (int i = 0; i < cycles_max; ++i) {
    if (!Cycle()) return true;
  }
  return false;
}

bool PlayedCluster::Cycle() {
  ++cycle_;
  bool has_changed = EndThoseThatLeave();
  std::vector<const Pod*> waiting;
  snapshot_.ForEachPod([&](const PodEntry& entry) {
    if (entry.phase == PodPhase::kPending) waiting.push_back(entry.pod.get());
  });
  std::ranges::sort(waiting, [](const Pod* a, const Pod* b) {
    return std::tuple(b->priority, a->created_s) < std::tuple(a->priority, b->created_s);
  });
  std::vector<std::string> uids;
  uids.reserve(waiting.size());
  for (const Pod* pod : waiting) uids.push_back(pod->uid);
  for (const std::string& uid : uids) has_changed = Attempt(uid) || has_changed;
  return has_changed || !leaving_.empty();
}

bool PlayedCluster::EndThoseThatLeave() {
  std::vector<Leaving> rest;
  for (const Leaving& each : leaving_) {
    if (each.at_cycle > cycle_) {
      rest.push_back(each);
    } else {
      snapshot_.RemovePod(each.uid);
    }
  }
  const bool has_changed = rest.size() < leaving_.size();
  leaving_ = std::move(rest);
  return has_changed;
}

bool PlayedCluster::Attempt(const std::string& uid) {
  const Pod pod = *snapshot_.FindPod(uid)->pod;
  if (Bind(pod)) return true;
  if (WaitsForVictims(pod)) return false;
  if (TryPreempt(pod)) return true;
  const bool was_nominated = !pod.nominated_node_name.empty();
  if (was_nominated) Nominate(pod, {});
  return was_nominated;
}

bool PlayedCluster::Bind(const Pod& pod) {
  std::vector<std::string> names = NodeNames(snapshot_);
  const std::vector<Verdict> verdicts = Filter(snapshot_, pod, names, policy_, kWire);
  std::vector<std::string> feasible;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!verdicts[i].fits()) continue;
    if (names[i] == pod.nominated_node_name) return BindTo(pod, names[i]);
    feasible.push_back(names[i]);
  }
  if (feasible.empty()) return false;
  const std::vector<std::int64_t> scores = Score(snapshot_, pod, feasible, policy_, kWire);
  const auto best = std::ranges::max_element(scores) - scores.begin();
  return BindTo(pod, feasible[static_cast<std::size_t>(best)]);
}

bool PlayedCluster::BindTo(const Pod& pod, const std::string& node_name) {
  const Snapshot before = snapshot_;
  // Filter looks at the node with its nominees, bind without: a slot may cost one more there.
  if (!Reserve(snapshot_, pod, node_name, policy_, kWire).verdict.fits()) return false;
  snapshot_.Confirm(pod.uid);
  Pod bound = pod;
  bound.node_name = node_name;
  snapshot_.PutPod(std::move(bound));
  on_binding({before, snapshot_, pod, node_name});
  return true;
}

// As kube-scheduler: while somebody leaves the nominated node who would not have been in the way of
// a pod of the same priority.
bool PlayedCluster::WaitsForVictims(const Pod& pod) const {
  const Node* node = snapshot_.FindNode(pod.nominated_node_name);
  return node != nullptr && std::ranges::any_of(node->holders, [&](const Holder& holder) {
           return holder.pod->is_terminating && holder.pod->priority < pod.priority;
         });
}

bool PlayedCluster::TryPreempt(const Pod& pod) {
  const auto kept = Preempt(snapshot_, pod, Candidates(pod), policy_, kWire, clock_s_);
  if (kept.empty()) return false;
  Evict(pod, kept[PickOf(kept)]);
  return true;
}

std::vector<PreemptionCandidate> PlayedCluster::Candidates(const Pod& pod) const {
  std::vector<PreemptionCandidate> candidates;
  for (const auto& node : snapshot_.nodes()) {
    PreemptionCandidate candidate{.node_name = node->name(), .victim_uids = {}};
    if (rules_.naming == Naming::kByCount) {
      candidate.victim_uids = NamedByCount(snapshot_, *node, pod);
      if (candidate.victim_uids.empty()) continue;
    }
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

std::size_t PlayedCluster::PickOf(const std::vector<PreemptionCandidate>& kept) const {
  std::vector<std::vector<VictimFact>> facts(kept.size());
  std::vector<NodeVictims> nodes;
  nodes.reserve(kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    for (const std::string& uid : kept[i].victim_uids) {
      const Pod& victim = *snapshot_.FindPod(uid)->pod;
      facts[i].push_back({.priority = victim.priority, .start_s = victim.created_s});
    }
    nodes.push_back({kept[i].node_name, kept[i].pdb_violations, facts[i]});
  }
  return *PickNode(nodes);
}

void PlayedCluster::Evict(const Pod& pod, const PreemptionCandidate& chosen) {
  on_eviction({snapshot_, pod, chosen});
  for (const std::string& uid : chosen.victim_uids) {
    Pod victim = *snapshot_.FindPod(uid)->pod;
    if (victim.is_terminating) continue;
    ++evictions_[{pod.name, victim.name}];
    Owner& owner = owners_.at(victim.name);
    victim.is_terminating = true;
    snapshot_.PutPod(std::move(victim));
    leaving_.push_back({uid, cycle_ + 1 + rules_.grace});
    Create(owner);
  }
  std::vector<Pod> lower;
  for (const Expectation& expected : snapshot_.ExpectedOn(chosen.node_name)) {
    if (expected.pod->priority < pod.priority) lower.push_back(*expected.pod);
  }
  for (const Pod& each : lower) Nominate(each, {});
  Nominate(pod, chosen.node_name);
}

void PlayedCluster::Nominate(const Pod& pod, const std::string& node_name) {
  Pod nominated = pod;
  nominated.nominated_node_name = node_name;
  snapshot_.PutPod(std::move(nominated));
}

}  // namespace offcut::scheduler
