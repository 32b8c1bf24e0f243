// The victims on one node against those that the slow way finds (plain_victim_finder.h), on random
// nodes of every kind with tenants, budgets, gangs, rules, and victims that are named already.
//   OFFCUT_VICTIM_SEED=7 bin/scheduler_test --gtest_filter='VictimComparison*'
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "scheduler/victim_finder.h"
#include "test/scheduler/plain_victim_finder.h"
#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::FractionNode;
using ::offcut::testing::Gpus;
using ::offcut::testing::MigNode;
using ::offcut::testing::PodFromText;
using ::offcut::testing::PoolInventory;
using ::offcut::testing::Profiles;
using ::offcut::testing::SharedInventory;
using ::offcut::testing::TenancyByName;
using ::offcut::testing::WholeInventory;

constexpr std::int64_t kNowS = 1'000;
constexpr int kPodsMax = 14;
constexpr int kGpuMib = 16'000;

enum class Kind { kWhole, kSlots, kPool, kMig, kFractions };
constexpr int kKinds = 5;

class RandomWorld {
 public:
  explicit RandomWorld(std::uint64_t seed) : random_(seed) {
    kind_ = static_cast<Kind>(Below(kKinds));
    inventory_ = AnyInventory();
    has_tenants_ = Below(2) == 0;
    binpack::NodeState state = inventory_.devices;
    const int pods = 1 + Below(kPodsMax);
    for (int i = 0; i < pods; ++i) Run("p" + std::to_string(i), state);
    if (OneIn(3)) pods_.push_back(PodFromText("cpu cpu=1000 node=n"));
    if (OneIn(4)) AddAwayMember();
    SetPolicy();
    shape_ = AnyShape(true);
    newcomer_ = PodFromText("new " + RequestText() + " namespace=" + AnyNamespace() +
                            " priority=" + std::to_string(1 + Below(3)));
    newcomer_.minds_neighbours = OneIn(8);
    snapshot_.PutNode(inventory_);
    if (OneIn(2)) snapshot_.PutNode(WholeInventory("m", 2));
    for (const Pod& pod : pods_) snapshot_.PutPod(pod);
    if (has_tenants_) snapshot_.SetTenancy(AnyTenancy());
    if (OneIn(2)) SetBudgets();
  }

  // Whether there are victims.
  bool Check() {
    PreemptionCandidate named{.node_name = "n", .victim_uids = {}, .pdb_violations = Below(3)};
    const int names = OneIn(2) ? Below(4) : 0;
    for (int i = 0; i < names && !pods_.empty(); ++i) {
      named.victim_uids.push_back(pods_[Index(pods_.size())].uid);
    }
    if (OneIn(10)) named.victim_uids.push_back("uid-unknown");
    const Node& node = *snapshot_.FindNode("n");
    VictimFinder finder(snapshot_, newcomer_, policy_, Prefilter::kByKubeScheduler, kNowS);
    const auto plain =
        FindVictimsPlainly(snapshot_, newcomer_, policy_, node, shape_, named, kNowS);
    for (int again = 0; again < 2; ++again) {  // a question leaves nothing behind
      const auto found = finder.Find(node, shape_, named);
      EXPECT_EQ(found.has_value(), plain.has_value());
      if (!found || !plain) continue;
      EXPECT_EQ(found->victim_uids, plain->victim_uids);
      EXPECT_EQ(found->pdb_violations, plain->pdb_violations);
    }
    return plain.has_value() && !plain->victim_uids.empty();
  }

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<std::uint64_t>(bound)); }
  std::size_t Index(std::size_t bound) { return random_() % bound; }
  bool OneIn(int count) { return Below(count) == 0; }

  Inventory AnyInventory() {
    const int gpus = 1 + Below(4);
    switch (kind_) {
      case Kind::kWhole:
        return WholeInventory("n", 2 * gpus);
      case Kind::kSlots:
        return SharedInventory("n",
                               OneIn(2) ? binpack::Sharing::kMps : binpack::Sharing::kTimeSlicing,
                               gpus, 2 + Below(3));
      case Kind::kPool:
        return PoolInventory("n", "A100-40GB", {{"1g.5gb", 5, 0}, {"2g.10gb", 2, 0}});
      case Kind::kMig:
      case Kind::kFractions:
        break;
    }
    Inventory inventory{.name = "n", .serves_fractions = true};
    if (kind_ == Kind::kMig) {
      inventory.devices = MigNode("A100-40GB", std::vector<std::string>(Index(3) + 1));
      inventory.devices.picker = binpack::DevicePicker::kScheduler;
    } else {
      inventory.devices = FractionNode(kGpuMib, std::vector<testing::FractionUse>(Index(3) + 1));
    }
    if (OneIn(6)) inventory.devices.gpus.front().health = binpack::GpuHealth::kCordoned;
    return inventory;
  }

  binpack::RequestShape AnyShape(bool may_be_joint) {
    static constexpr const char* profiles[] = {"1g.5gb",  "2g.10gb", "3g.20gb",  "1g.5gb",
                                               "4g.20gb", "7g.40gb", "1g.5gb+me"};
    static constexpr const char* joint[] = {"2 x 3g.20gb", "2 x 1g.5gb, 3g.20gb",
                                            "4g.20gb, 3g.20gb", "3 x 2g.10gb"};
    switch (kind_) {
      case Kind::kWhole:
        return {.whole_gpus = OneIn(2) ? 1 : 1 + Below(4)};
      case Kind::kSlots:
        return {.slots = OneIn(2) ? 1 : 1 + Below(3)};
      case Kind::kPool:
        return {.pool_units = {{.pool = Below(2), .count = 1 + Below(2)}}};
      case Kind::kMig:
        return Profiles(may_be_joint && OneIn(4) ? joint[Index(4)] : profiles[Index(7)]);
      case Kind::kFractions:
        break;
    }
    return {.fractions = {{.gpus = OneIn(4) ? 2 : 1,
                           .memory_mib = 2'000 * (1 + Below(8)),
                           .cores_percent = 10 * Below(5)}}};
  }

  // What a newcomer would ask for by names; the shape says what that is here.
  std::string RequestText() const {
    const bool is_fraction = kind_ == Kind::kMig || kind_ == Kind::kFractions;
    return is_fraction ? "nvidia.com/gpumem=1" : "nvidia.com/gpu=1";
  }

  std::string AnyNamespace() {
    static constexpr const char* names[] = {"red", "red", "blue", "green", "stray"};
    return has_tenants_ ? names[Index(5)] : "default";
  }

  // A pod where its like fits, mostly with an exact record of where.
  void Run(const std::string& name, binpack::NodeState& state) {
    const binpack::RequestShape shape = AnyShape(false);
    std::vector<binpack::Placement> places;
    binpack::ForEachPlacement(state, shape, [&](const binpack::Placement& placement) {
      places.push_back(placement);
      return places.size() < 40;
    });
    if (places.empty()) return;
    const binpack::Placement& place = places[Index(places.size())];
    binpack::Occupy(state, place);
    Pod pod = PodFromText(name + " node=n created=" + std::to_string(100 * Below(10)) +
                          " priority=" + std::to_string(Below(3)) + " namespace=" + AnyNamespace() +
                          " cpu=" + std::to_string(1'000 * Below(3)));
    SetRequest(place, shape, pod);
    if (!OneIn(12)) {
      pod.record = RecordOf(inventory_, pod, place, {});
      pod.record->certainty = Certainty::kExact;
    }
    pod.is_terminating = OneIn(12);
    pod.minds_neighbours = OneIn(12);
    if (OneIn(2)) pod.labels = {{"app", OneIn(2) ? "a" : "b"}};
    if (OneIn(6)) {
      pod.gang = OneIn(2) ? "g1" : "g2";
      pod.gang_min_count = Below(4);
    }
    pods_.push_back(std::move(pod));
  }

  void SetRequest(const binpack::Placement& place, const binpack::RequestShape& shape,
                  Pod& pod) const {
    const auto count = static_cast<std::int64_t>(place.pieces.size());
    if (kind_ == Kind::kFractions) {
      pod.request.fractions = shape.fractions;
      return;
    }
    if (kind_ == Kind::kMig) {
      pod.request.fractions = {{.gpus = static_cast<int>(count), .memory_mib = 1}};
      return;
    }
    const int pool = place.pieces.front().pool;
    const auto offer = std::ranges::find(inventory_.offers, pool, &Offer::pool);
    pod.request.devices = {{offer->resource, count}};
  }

  void AddAwayMember() {
    Pod member = PodFromText("away nvidia.com/gpu=1 node=m namespace=" + AnyNamespace());
    member.gang = "g1";
    pods_.push_back(std::move(member));
  }

  void SetPolicy() {
    const auto taking = [&] { return static_cast<quota::Taking>(Below(3)); };
    if (has_tenants_) {
      policy_.preemption.within_tenant = OneIn(2) ? quota::Taking::kLower : taking();
      policy_.preemption.from_borrowers = OneIn(2) ? quota::Taking::kAny : taking();
      policy_.preemption.fair_sharing = OneIn(3);
    }
    if (OneIn(5)) policy_.preemption.protected_bands = {{.from = 1, .to = 2}};
    if (OneIn(5)) policy_.preemption.run_s_min = 300;
  }

  std::shared_ptr<const Tenancy> AnyTenancy() {
    const auto quota = [&] {
      const std::int64_t guarantee = Below(4);
      if (OneIn(2)) return std::vector<quota::QuotaSpec>{Gpus(guarantee)};
      return std::vector<quota::QuotaSpec>{Gpus(guarantee, Below(3))};
    };
    Tenancy tenancy =
        TenancyByName({{.name = "all", .parent = {}, .quotas = {}},
                       {.name = "colours", .parent = "all", .quotas = {}},
                       {.name = "red", .parent = OneIn(2) ? "all" : "colours", .quotas = quota()},
                       {.name = "blue", .parent = "colours", .quotas = quota()},
                       {.name = "green", .parent = "all", .quotas = quota()}});
    if (OneIn(4)) {
      const SharingRule rule{.sharers = OneIn(2) ? Sharers::kSameTenant : Sharers::kSameNamespace,
                             .is_required = true};
      tenancy.isolation = {.time_slicing = rule, .mps = rule, .hami = rule};
    }
    return std::make_shared<const Tenancy>(std::move(tenancy));
  }

  void SetBudgets() {
    std::vector<DisruptionBudget> budgets;
    for (const std::string app : {"a", "b"}) {
      budgets.push_back({.name_space = AnyNamespace(),
                         .name = app,
                         .selector = {{.key = "app", .values = {app}}},
                         .disruptions_allowed = Below(3),
                         .disrupted_pods = {}});
    }
    std::ranges::sort(budgets, {}, &DisruptionBudget::name_space);
    snapshot_.SetDisruptionBudgets(
        std::make_shared<const std::vector<DisruptionBudget>>(std::move(budgets)));
  }

  std::mt19937_64 random_;
  Kind kind_ = Kind::kWhole;
  bool has_tenants_ = false;
  Inventory inventory_;
  std::vector<Pod> pods_;
  Policy policy_;
  binpack::RequestShape shape_;
  Pod newcomer_;
  Snapshot snapshot_;
};

TEST(VictimComparisonTest, VictimsAreThoseThatTheSlowWayFinds) {
  const char* text = std::getenv("OFFCUT_VICTIM_SEED");
  const std::uint64_t seed = text != nullptr ? std::stoull(text) : std::random_device{}();
  constexpr int worlds = 5'000;
  int answered = 0;
  for (int i = 0; i < worlds; ++i) {
    SCOPED_TRACE("OFFCUT_VICTIM_SEED=" + std::to_string(seed) + ", world " + std::to_string(i));
    answered += RandomWorld(seed + static_cast<std::uint64_t>(i)).Check() ? 1 : 0;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(answered, worlds / 20);
  RecordProperty("answered", answered);
}

}  // namespace
}  // namespace offcut::scheduler
