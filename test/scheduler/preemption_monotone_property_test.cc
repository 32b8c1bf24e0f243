// Q14 of the invariants that the design states: whoever can be helped by evictions still can with a
// higher priority, or where somebody else has a lower one. Within one tenant: between tenants it is
// not so. Borrowers are taken in one order, and none below its guarantee: of a tenant that borrows
// three GPUs with pods of one and three, the one of three can go; once the other has the lower
// priority it goes first, and what is borrowed then is less than three.
// See test/scheduler/property_worlds.h for how to run more worlds.
#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "test/scheduler/property_worlds.h"
#include "test/scheduler/random_tenancy.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::PodFromText;
using ::offcut::testing::SharedInventory;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;

constexpr auto kWire = Prefilter::kByKubeScheduler;
constexpr int kWorlds = 10'000;
constexpr int kPodsMax = 10;
constexpr int kPriorities = 5;
constexpr std::int64_t kNowS = 1'000;

class RandomNode {
 public:
  explicit RandomNode(std::uint64_t seed) : random_(seed) {
    const bool is_shared = Below(random_, 3) == 0;
    snapshot_ =
        SnapshotOf({is_shared ? SharedInventory("n", binpack::Sharing::kTimeSlicing,
                                                1 + Below(random_, 3), 2 + Below(random_, 2))
                              : WholeInventory("n", 1 + Below(random_, 6))});
    for (int i = 0; i < kPodsMax; ++i) {
      Pod pod = AnyPod("p" + std::to_string(i));
      pod.created_s = Below(random_, 900);
      if (!Reserve(snapshot_, pod, "n", policy_, kWire).verdict.fits()) continue;
      snapshot_.Confirm(pod.uid);
      pod.node_name = "n";
      snapshot_.PutPod(pod);
      running_.push_back(std::move(pod));
    }
    newcomer_ = AnyPod("new");
  }

  // Whether evictions help at all.
  bool Check() {
    const auto victims = VictimsOf(snapshot_, newcomer_);
    if (!victims) return false;
    Pod higher = newcomer_;
    for (int more = 1; more <= kPriorities; ++more) {
      higher.priority = newcomer_.priority + more;
      EXPECT_TRUE(VictimsOf(snapshot_, higher))
          << "Q14: not with a priority of " << more << " more";
    }
    for (const Pod& pod : running_) {
      if (std::ranges::find(*victims, pod.uid) != victims->end()) continue;
      for (int less = 1; less <= kPriorities; ++less) {
        Snapshot other = snapshot_;
        Pod lower = pod;
        lower.priority -= less;
        other.PutPod(std::move(lower));
        EXPECT_TRUE(VictimsOf(other, newcomer_))
            << "Q14: not where " << pod.uid << " has a priority of " << less << " less";
      }
    }
    return true;
  }

 private:
  Pod AnyPod(const std::string& name) {
    return PodFromText(name + " nvidia.com/gpu=" + std::to_string(1 + Below(random_, 3)) +
                       " priority=" + std::to_string(Below(random_, kPriorities)));
  }

  std::optional<std::vector<std::string>> VictimsOf(const Snapshot& snapshot,
                                                    const Pod& pod) const {
    const std::vector<PreemptionCandidate> candidates = {{"n", {}}};
    auto kept = Preempt(snapshot, pod, candidates, policy_, kWire, kNowS);
    if (kept.empty()) return std::nullopt;
    return std::move(kept[0].victim_uids);
  }

  std::mt19937_64 random_;
  const Policy policy_;
  Snapshot snapshot_;
  std::vector<Pod> running_;
  Pod newcomer_;
};

TEST(PreemptionMonotonePropertyTest, HigherPrioritiesAndLowerBystandersMakeNothingInfeasible) {
  int helped = 0;
  ForEachWorld(kWorlds, [&](std::uint64_t seed) { helped += RandomNode(seed).Check() ? 1 : 0; });
  RecordProperty("helped", helped);
}

}  // namespace
}  // namespace offcut::scheduler
