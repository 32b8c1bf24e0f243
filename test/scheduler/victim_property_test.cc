// What always holds of the victims on one node, against all subsets of those who may go. The
// numbers Q5 and so on are those of the invariants that the design states.
//   OFFCUT_VICTIM_SEED=7 bin/scheduler_test --gtest_filter='VictimProperty*'
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "scheduler/victim_finder.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::MigNode;
using ::offcut::testing::PodFromText;
using ::offcut::testing::PoolInventory;
using ::offcut::testing::Profiles;
using ::offcut::testing::SharedInventory;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;

constexpr std::int64_t kNowS = 1'000;
constexpr int kPodsMax = 10;
constexpr int kPriority = 2;  // of the newcomer; others have 0 to 3

class RandomWorld {
 public:
  explicit RandomWorld(std::uint64_t seed) : random_(seed) {
    inventory_ = AnyInventory();
    binpack::NodeState state = inventory_.devices;
    const int pods = 1 + Below(kPodsMax);
    for (int i = 0; i < pods; ++i) Run("p" + std::to_string(i), state);
    shape_ = AnyShape();
  }

  // Q5, Q6, Q7 and Q13. Returns how many victims more than the fewest that suffice; nullopt: no
  // eviction helps, or none is needed.
  std::optional<int> Check() {
    const Snapshot snapshot = SnapshotOf({inventory_}, pods_);
    const Pod pod = PodFromText("new nvidia.com/gpu=1 priority=" + std::to_string(kPriority));
    const Policy policy;
    VictimFinder finder(snapshot, pod, policy, Prefilter::kByKubeScheduler, kNowS);
    const auto victims = UidsOf(finder.Find(*snapshot.FindNode("n"), shape_, {}));
    const std::optional<int> fewest = FewestOf();
    if (!victims) {
      EXPECT_TRUE(!fewest || *fewest == 0) << "somebody could have gone";
      return std::nullopt;
    }
    EXPECT_TRUE(Fits(*victims)) << "Q5: sufficient";
    EXPECT_FALSE(Fits({})) << "Q7: nobody goes in vain";
    for (std::size_t i = 0; i < victims->size(); ++i) {
      std::vector<std::string> fewer = *victims;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_FALSE(Fits(fewer)) << "Q6: without " << (*victims)[i];
    }
    std::vector<Pod> reversed(pods_.rbegin(), pods_.rend());
    const Snapshot other = SnapshotOf({inventory_}, std::move(reversed));
    VictimFinder other_finder(other, pod, policy, Prefilter::kByKubeScheduler, kNowS);
    EXPECT_EQ(UidsOf(other_finder.Find(*other.FindNode("n"), shape_, {})), victims) << "Q13";
    if (!fewest) return std::nullopt;
    return static_cast<int>(victims->size()) - *fewest;
  }

 private:
  static std::optional<std::vector<std::string>> UidsOf(
      const std::optional<PreemptionCandidate>& found) {
    if (!found) return std::nullopt;
    return found->victim_uids;
  }

  int Below(int bound) { return static_cast<int>(random_() % static_cast<std::uint64_t>(bound)); }

  Inventory AnyInventory() {
    kind_ = Below(4);
    if (kind_ == 0) return WholeInventory("n", 6);
    if (kind_ == 1) return SharedInventory("n", binpack::Sharing::kTimeSlicing, 3, 3);
    if (kind_ == 2) {
      return PoolInventory("n", "A100-40GB", {{"1g.5gb", 5, 0}, {"2g.10gb", 2, 0}});
    }
    Inventory inventory{.name = "n", .serves_fractions = true};
    inventory.devices = MigNode("A100-40GB", {"", ""});
    inventory.devices.picker = binpack::DevicePicker::kScheduler;
    return inventory;
  }

  binpack::RequestShape AnyShape() {
    static constexpr const char* profiles[] = {"1g.5gb",  "2g.10gb", "3g.20gb",
                                               "4g.20gb", "7g.40gb", "1g.5gb+me"};
    if (kind_ == 0) return {.whole_gpus = 1 + Below(4)};
    if (kind_ == 1) return {.slots = 1 + Below(3)};
    if (kind_ == 2) return {.pool_units = {{.pool = Below(2), .count = 1 + Below(2)}}};
    return Profiles(profiles[Below(6)]);
  }

  // A pod where its like fits, with an exact record of where.
  void Run(const std::string& name, binpack::NodeState& state) {
    const binpack::RequestShape shape = AnyShape();
    std::vector<binpack::Placement> places;
    binpack::ForEachPlacement(state, shape, [&](const binpack::Placement& placement) {
      places.push_back(placement);
      return places.size() < 40;
    });
    if (places.empty()) return;
    const binpack::Placement& place =
        places[static_cast<std::size_t>(Below(static_cast<int>(places.size())))];
    binpack::Occupy(state, place);
    Pod pod = PodFromText(name + " node=n created=" + std::to_string(Below(900)) +
                          " priority=" + std::to_string(Below(4)));
    SetRequest(place, pod);
    pod.record = RecordOf(inventory_, pod, place, {});
    pod.record->certainty = Certainty::kExact;
    pods_.push_back(std::move(pod));
  }

  void SetRequest(const binpack::Placement& place, Pod& pod) const {
    const auto count = static_cast<std::int64_t>(place.pieces.size());
    if (kind_ == 3) {
      pod.request.fractions = {{.gpus = static_cast<int>(count), .memory_mib = 1}};
      return;
    }
    const int pool = place.pieces.front().pool;
    const auto offer = std::ranges::find(inventory_.offers, pool, &Offer::pool);
    pod.request.devices = {{offer->resource, count}};
  }

  bool Fits(const std::vector<std::string>& gone) const {
    std::vector<Pod> rest;
    std::ranges::copy_if(pods_, std::back_inserter(rest), [&](const Pod& pod) {
      return std::ranges::find(gone, pod.uid) == gone.end();
    });
    const Snapshot snapshot = SnapshotOf({inventory_}, std::move(rest));
    return binpack::FindObstacle(snapshot.FindNode("n")->state, shape_) == binpack::Obstacle::kNone;
  }

  std::optional<int> FewestOf() const {
    std::vector<std::string> may_go;
    for (const Pod& pod : pods_) {
      if (pod.priority < kPriority) may_go.push_back(pod.uid);
    }
    std::optional<int> fewest;
    for (unsigned subset = 0; subset < (1U << may_go.size()); ++subset) {
      const int size = std::popcount(subset);
      if (fewest && size >= *fewest) continue;
      std::vector<std::string> gone;
      for (std::size_t i = 0; i < may_go.size(); ++i) {
        if ((subset >> i & 1U) != 0) gone.push_back(may_go[i]);
      }
      if (Fits(gone)) fewest = size;
    }
    return fewest;
  }

  std::mt19937_64 random_;
  int kind_ = 0;
  Inventory inventory_;
  std::vector<Pod> pods_;
  binpack::RequestShape shape_;
};

TEST(VictimPropertyTest, VictimsSufficeAndEachIsNeeded) {
  const char* text = std::getenv("OFFCUT_VICTIM_SEED");
  const std::uint64_t seed = text != nullptr ? std::stoull(text) : std::random_device{}();
  constexpr int worlds = 10'000;
  int answered = 0;
  int smallest = 0;
  for (int i = 0; i < worlds; ++i) {
    SCOPED_TRACE("OFFCUT_VICTIM_SEED=" + std::to_string(seed) + ", world " + std::to_string(i));
    const auto more = RandomWorld(seed + static_cast<std::uint64_t>(i)).Check();
    if (::testing::Test::HasFailure()) return;
    if (!more) continue;
    ++answered;
    smallest += *more == 0 ? 1 : 0;
  }
  EXPECT_GT(answered, worlds / 20);
  RecordProperty("answered", answered);
  RecordProperty("of the smallest number", smallest);
}

}  // namespace
}  // namespace offcut::scheduler
