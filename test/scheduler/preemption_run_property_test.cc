// What always holds while pods preempt each other, in random clusters with random tenants, with
// owners that replace victims at once. The numbers Q8 and so on are those of the invariants that
// the design states. See test/scheduler/property_worlds.h for how to run more of them.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/quota_check.h"
#include "test/quota/eviction_graph.h"
#include "test/scheduler/played_cluster.h"
#include "test/scheduler/property_worlds.h"
#include "test/scheduler/random_tenancy.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::PodFromText;
using ::offcut::testing::SharedInventory;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;
using quota::HasCircle;

constexpr int kWorlds = 2'000;
constexpr int kOwnersMax = 12;
constexpr int kPriorities = 5;
constexpr int kCyclesMax = 400;
constexpr int kGraceMax = 3;

// One to three nodes of whole GPUs or of slots.
std::vector<Inventory> RandomNodes(std::mt19937_64& random) {
  std::vector<Inventory> nodes;
  const int count = 1 + Below(random, 3);
  for (int i = 0; i < count; ++i) {
    const std::string name = "n" + std::to_string(i);
    if (Below(random, 3) == 0) {
      nodes.push_back(SharedInventory(name, binpack::Sharing::kTimeSlicing, 1 + Below(random, 2),
                                      2 + Below(random, 2)));
    } else {
      nodes.push_back(WholeInventory(name, 1 + Below(random, 4),
                                     Below(random, 3) == 0 ? "A100-40GB" : "A100-80GB"));
    }
  }
  return nodes;
}

class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed) : random_(seed) {
    Snapshot snapshot = SnapshotOf(RandomNodes(random_));
    if (Below(random_, 3) != 0) {
      tenancy_ = std::make_shared<const Tenancy>(RandomTenancy(random_));
      snapshot.SetTenancy(tenancy_);
    }
    rules_ = {.naming = Below(random_, 2) == 0 ? Naming::kNobody : Naming::kByCount,
              .grace = Below(random_, kGraceMax + 1)};
    cluster_.emplace(std::move(snapshot), policy_, rules_);
    const int owners = 1 + Below(random_, kOwnersMax);
    for (int i = 0; i < owners; ++i) arriving_.push_back(AnyPod("w" + std::to_string(i)));
    SetGangs();
  }

  PlayedCluster& cluster() { return *cluster_; }
  const PlayRules& rules() const { return rules_; }

  // Some come together, some a cycle or two after others; then it goes on until nothing happens.
  bool Run() {
    for (const Pod& pod : arriving_) {
      cluster_->Arrive(pod);
      for (int i = Below(random_, 3); i > 0; --i) cluster_->Cycle();
    }
    return cluster_->Run(kCyclesMax);
  }

  Pod AnyPod(const std::string& name) {
    Pod pod = PodFromText(name + " nvidia.com/gpu=" + std::to_string(1 + Below(random_, 3)) +
                          " priority=" + std::to_string(Below(random_, kPriorities)));
    if (tenancy_ != nullptr) pod.name_space = AnyNamespace(random_, *tenancy_);
    return pod;
  }

 private:
  // Some of one namespace are a gang.
  void SetGangs() {
    if (Below(random_, 2) == 0) return;
    const int least = Below(random_, 4);
    for (Pod& pod : arriving_) {
      if (pod.name_space != arriving_.front().name_space || Below(random_, 3) == 0) continue;
      pod.gang = "gang";
      pod.gang_min_count = least;
    }
  }

  std::mt19937_64 random_;
  const Policy policy_;
  std::shared_ptr<const Tenancy> tenancy_;
  PlayRules rules_;
  std::vector<Pod> arriving_;
  std::optional<PlayedCluster> cluster_;
};

TEST(PreemptionRunPropertyTest, NobodyPreemptsInCirclesAndTheRunEnds) {
  EXPECT_TRUE(HasCircle({{{"a", "b"}, 1}, {{"b", "c"}, 1}, {{"c", "b"}, 1}}));
  EXPECT_FALSE(HasCircle({{{"a", "b"}, 1}, {{"b", "c"}, 1}, {{"a", "c"}, 1}}));
  int evictions = 0;
  ForEachWorld(kWorlds, [&](std::uint64_t seed) {
    RandomRun run(seed);
    EXPECT_TRUE(run.Run()) << "Q8: it does not end";
    EXPECT_FALSE(HasCircle(run.cluster().evictions())) << "Q8: a circle";
    for (const auto& [edge, count] : run.cluster().evictions()) evictions += count;
  });
  RecordProperty("evictions", evictions);
}

// Q17. Of a gang, how many run on, and how many it needs.
struct GangState {
  int running = 0;
  int least = 0;
};

std::map<std::pair<std::string, std::string>, GangState> GangsOf(
    const Snapshot& snapshot, const std::vector<std::string>& gone) {
  std::map<std::pair<std::string, std::string>, GangState> gangs;
  snapshot.ForEachPod([&](const PodEntry& entry) {
    const Pod& pod = *entry.pod;
    if (pod.gang.empty()) return;
    GangState& gang = gangs[{pod.name_space, pod.gang}];
    gang.least = std::max(gang.least, pod.gang_min_count);
    const bool runs = entry.phase == PodPhase::kReserved || entry.phase == PodPhase::kBound;
    if (runs && std::ranges::find(gone, pod.uid) == gone.end()) ++gang.running;
  });
  return gangs;
}

TEST(PreemptionRunPropertyTest, NoVictimsLeaveAPartOfAGang) {
  int evictions = 0;
  ForEachWorld(kWorlds, [&](std::uint64_t seed) {
    RandomRun run(seed);
    run.cluster().on_eviction = [&](const Eviction& eviction) {
      const auto before = GangsOf(eviction.snapshot, {});
      for (const auto& [name, after] : GangsOf(eviction.snapshot, eviction.chosen.victim_uids)) {
        if (after.running == before.at(name).running) continue;
        ++evictions;
        EXPECT_TRUE(after.running == 0 || (after.least > 0 && after.running >= after.least))
            << "Q17: " << after.running << " of at least " << after.least << " run on";
      }
    };
    run.Run();
  });
  RecordProperty("victims of gangs", evictions);
}

// Q16. Whether the pod fits on the node once those who leave have left.
bool WouldFit(const Snapshot& snapshot, std::string_view node_name, const Pod& pod) {
  const Node& node = *snapshot.FindNode(node_name);
  std::vector<Holder> rest;
  std::ranges::copy_if(node.holders, std::back_inserter(rest),
                       [](const Holder& holder) { return !holder.pod->is_terminating; });
  return FilterNode(BuildNode(node.inventory, std::move(rest)), pod, {},
                    Prefilter::kByKubeScheduler)
      .fits();
}

// Those who must not come between: of equals that are nominated to one node the earlier may.
bool MustWaitFor(const Pod& pod, const Pod& nominee) {
  if (pod.priority != nominee.priority) return pod.priority < nominee.priority;
  return pod.nominated_node_name != nominee.nominated_node_name ||
         pod.created_s > nominee.created_s;
}

TEST(PreemptionRunPropertyTest, WhatIsFreedForANomineeIsGivenToNobodyBelowIt) {
  int held = 0;
  ForEachWorld(kWorlds, [&](std::uint64_t seed) {
    RandomRun run(seed);
    run.cluster().on_binding = [&](const Binding& binding) {
      for (const Expectation& expected : binding.before.ExpectedOn(binding.node_name)) {
        const Pod& nominee = *expected.pod;
        if (nominee.uid == binding.pod.uid || !MustWaitFor(binding.pod, nominee)) continue;
        if (!WouldFit(binding.before, binding.node_name, nominee)) continue;
        ++held;
        EXPECT_TRUE(WouldFit(binding.after, binding.node_name, nominee))
            << "Q16: " << binding.pod.uid << " takes what is meant for " << nominee.uid;
      }
    };
    run.Run();
  });
  RecordProperty("bindings beside a nominee", held);
}

// Q10. One pod comes last and is above all others. Where it can be helped at once, it runs once its
// victims have had their time, and has evicted once.
TEST(PreemptionRunPropertyTest, WhoStandsAboveAllRunsWhenItsVictimsHaveLeft) {
  int helped = 0;
  ForEachWorld(kWorlds, [&](std::uint64_t seed) {
    RandomRun run(seed);
    run.Run();
    Pod boss = run.AnyPod("boss");
    boss.priority = kPriorities;
    int preemptions = 0;
    run.cluster().on_eviction = [&](const Eviction& eviction) {
      if (eviction.preemptor.name == "boss") ++preemptions;
    };
    run.cluster().Arrive(boss);
    run.cluster().Cycle();
    const auto phase = [&] { return run.cluster().PodOf("boss").phase; };
    if (phase() == PodPhase::kPending && preemptions == 0) return;
    helped += preemptions;
    for (int i = 0; i <= run.rules().grace; ++i) run.cluster().Cycle();
    EXPECT_EQ(phase(), PodPhase::kBound) << "Q10";
    EXPECT_LE(preemptions, 1) << "Q10";
  });
  RecordProperty("preemptions", helped);
}

}  // namespace
}  // namespace offcut::scheduler
