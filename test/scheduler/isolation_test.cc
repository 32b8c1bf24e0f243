// Who may share a GPU with whom, how well pods are kept apart, how much memory a slot has, and what
// capacity a tenant takes.
#include "scheduler/isolation.h"

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "scheduler/state_store.h"
#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using binpack::Sharing;
using ::offcut::testing::Gpus;
using ::offcut::testing::PodFromText;
using ::offcut::testing::PoolInventory;
using ::offcut::testing::RedAndBlueOf;
using ::offcut::testing::SharedInventory;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr auto kWire = Prefilter::kByKubeScheduler;
constexpr std::int64_t kNowS = 1'000;
constexpr SharingRule kSameTenantRequired{.sharers = Sharers::kSameTenant, .is_required = true};
constexpr SharingRule kSameNamespaceRequired{.sharers = Sharers::kSameNamespace,
                                             .is_required = true};
constexpr SharingRule kSameTenantWished{.sharers = Sharers::kSameTenant};

// Tenants red and blue of the namespaces of their names, each with four GPUs of its own; the
// namespace red-2 is red's, too. Namespace default has no tenant.
struct Rules {
  IsolationRules isolation = {};
  TenantRules red = {};
};

std::shared_ptr<const Tenancy> RedAndBlue(const Rules& rules) {
  Tenancy tenancy = RedAndBlueOf(Gpus(4), Gpus(4));
  const int red = tenancy.by_namespace["red"];
  tenancy.by_namespace["red-2"] = red;
  tenancy.rules[static_cast<std::size_t>(red)] = rules.red;
  tenancy.isolation = rules.isolation;
  return std::make_shared<const Tenancy>(std::move(tenancy));
}

Snapshot WorldOf(std::vector<Inventory> nodes, const std::vector<std::string>& pods = {},
                 const Rules& rules = {}) {
  std::vector<Pod> all;
  all.reserve(pods.size());
  for (const std::string& pod : pods) all.push_back(PodFromText(pod));
  Snapshot snapshot = SnapshotOf(std::move(nodes), std::move(all));
  snapshot.SetTenancy(RedAndBlue(rules));
  return snapshot;
}

// By both ways to filter, and by bind where nothing is expected.
std::string CodeOn(const Snapshot& snapshot, const std::string& text,
                   const std::string& node = "n") {
  const Pod pod = PodFromText(text);
  const Policy policy;
  EvaluationCache cache(policy, kWire);
  const std::vector<std::string> names = {node};
  const Reason reason = Filter(snapshot, pod, names, policy, kWire)[0].reason;
  EXPECT_EQ(Filter(snapshot, pod, names, cache)[0].reason, reason);
  if (!snapshot.HasExpectations()) {
    Snapshot next = snapshot;
    EXPECT_EQ(Reserve(next, pod, node, policy, kWire).verdict.reason, reason);
  }
  return std::string(InfoOf(reason).code);
}

std::vector<std::int64_t> ScoresOf(const Snapshot& snapshot, const std::string& pod,
                                   const std::vector<std::string>& names,
                                   const Policy& policy = {}) {
  return Score(snapshot, PodFromText(pod), names, policy, kWire);
}

Inventory Spot(Inventory inventory) {
  inventory.is_spot = true;
  return inventory;
}

// Replicas of MIG instances, as the device plugin time-slices them.
Inventory Replicated(Inventory inventory, int replicas) {
  for (binpack::InstancePool& pool : inventory.devices.pools) pool.replicas = replicas;
  return inventory;
}

// ---- Memory of a slot. GPUs of 16,000 MiB in three slots: 16000 / 3 = 5333.3, so 5333 each.

TEST(SlotMemoryTest, MpsGivesEachSlotItsPartOfTheMemoryRoundedDown) {
  const Snapshot snapshot = WorldOf({SharedInventory("n", Sharing::kMps, 2, 3)});
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 memory=5333"), "fits");
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 memory=5334"), "slots.memory");
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1"), "fits");  // says nothing
}

// A third of 16,000 MiB, rounded down as the slot is, is the slot.
TEST(SlotMemoryTest, ShareOfVllmIsOneOfTheWholeGpu) {
  const Snapshot snapshot = WorldOf({SharedInventory("n", Sharing::kMps, 2, 3)});
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 share=333333"), "fits");
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 share=340000"), "slots.memory");
}

TEST(SlotMemoryTest, TimeSlicedGpusTakeMoreWhereThePolicyAllowsOvercommit) {
  const std::string pod = "p nvidia.com/gpu=1 memory=9000";
  Snapshot snapshot = WorldOf({SharedInventory("t", Sharing::kTimeSlicing, 2, 3),
                               SharedInventory("m", Sharing::kMps, 2, 3)});
  EXPECT_EQ(CodeOn(snapshot, pod, "t"), "slots.memory");
  snapshot.SetTenancy(RedAndBlue({.isolation = {.allows_memory_overcommit = true}}));
  EXPECT_EQ(CodeOn(snapshot, pod, "t"), "fits");
  EXPECT_EQ(CodeOn(snapshot, pod, "m"), "slots.memory");
}

TEST(SlotMemoryTest, IsOfNoMatterOnAWholeGpu) {
  EXPECT_EQ(CodeOn(WorldOf({WholeInventory("n", 1)}), "p nvidia.com/gpu=1 memory=70000"), "fits");
}

TEST(SlotMemoryTest, HoldsWithoutAnyTenants) {
  const Snapshot snapshot = SnapshotOf({SharedInventory("n", Sharing::kTimeSlicing, 1, 4)});
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 memory=4000"), "fits");
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 memory=4001"), "slots.memory");
}

// A 1g.5gb of the A100-40GB has 4864 MiB: 2432 for each of two replicas.
TEST(SlotMemoryTest, ReplicasOfAnInstanceShareTheInstancesMemory) {
  const Inventory plain = PoolInventory("n", "A100-40GB", {{"1g.5gb", 4}});
  const auto& model = *plain.devices.pool_model;
  const auto profile = static_cast<std::size_t>(*model.FindProfile("1g.5gb"));
  const int half_mib = model.profiles[profile].memory_mib / 2;
  const std::string pod = "p nvidia.com/mig-1g.5gb=1 memory=";
  const Snapshot snapshot = WorldOf({Replicated(plain, 2)});
  EXPECT_EQ(CodeOn(snapshot, pod + std::to_string(half_mib)), "fits");
  EXPECT_EQ(CodeOn(snapshot, pod + std::to_string(half_mib + 1)), "slots.memory");
  EXPECT_EQ(CodeOn(WorldOf({plain}), pod + std::to_string(half_mib + 1)), "fits");
}

// Nobody holds a pod to gpumem there, but what it says is known to be too much for a slot.
TEST(SlotMemoryTest, GpumemDeclaresMemoryWhereNobodyServesFractions) {
  const Snapshot snapshot = WorldOf({SharedInventory("n", Sharing::kMps, 1, 4)});
  const auto code_of = [&](binpack::Fraction fraction) {
    Pod pod = PodFromText("p");
    pod.containers[0].fraction = fraction;
    pod.containers[0].unshared_devices = {{"nvidia.com/gpu", 1}};
    pod.request = EffectiveRequest(pod.containers, {});
    const std::vector<std::string> names = {"n"};
    return std::string(InfoOf(Filter(snapshot, pod, names, {}, kWire)[0].reason).code);
  };
  EXPECT_EQ(code_of({.gpus = 1, .memory_mib = 4001}), "slots.memory");
  EXPECT_EQ(code_of({.gpus = 1, .memory_percent = 26}), "slots.memory");
  EXPECT_EQ(code_of({.gpus = 1, .memory_mib = 4000}), "fractions.not-served");
}

// ---- Levels: hardware > software > process > none.

TEST(IsolationLevelTest, TenantTakesNoMechanismBelowItsLevel) {
  const std::vector<Inventory> nodes = {WholeInventory("whole", 2),
                                        SharedInventory("mps", Sharing::kMps, 2, 4),
                                        SharedInventory("slices", Sharing::kTimeSlicing, 2, 4)};
  const auto codes_at = [&](IsolationLevel level) {
    const Snapshot snapshot = WorldOf(nodes, {}, {.red = {.isolation_min = level}});
    std::vector<std::string> codes;
    for (const char* node : {"whole", "mps", "slices"}) {
      codes.push_back(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=red", node));
    }
    return codes;
  };
  EXPECT_THAT(codes_at(IsolationLevel::kNone), ElementsAre("fits", "fits", "fits"));
  EXPECT_THAT(codes_at(IsolationLevel::kProcess), ElementsAre("fits", "fits", "isolation.level"));
  for (const auto level : {IsolationLevel::kSoftware, IsolationLevel::kHardware}) {
    EXPECT_THAT(codes_at(level), ElementsAre("fits", "isolation.level", "isolation.level"));
  }
}

TEST(IsolationLevelTest, InstanceIsHardwareAndAReplicaOfOneIsNothing) {
  const Inventory plain = PoolInventory("n", "A100-40GB", {{"1g.5gb", 4}});
  const Rules rules = {.red = {.isolation_min = IsolationLevel::kHardware}};
  const std::string pod = "p nvidia.com/mig-1g.5gb=1 namespace=red";
  EXPECT_EQ(CodeOn(WorldOf({plain}, {}, rules), pod), "fits");
  EXPECT_EQ(CodeOn(WorldOf({Replicated(plain, 2)}, {}, rules), pod), "isolation.level");
}

TEST(IsolationLevelTest, IsEachTenantsOwn) {
  const Snapshot snapshot = WorldOf({SharedInventory("n", Sharing::kMps, 2, 4)}, {},
                                    {.red = {.isolation_min = IsolationLevel::kHardware}});
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=blue"), "fits");
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1"), "fits");
}

TEST(IsolationLevelTest, FractionsAreSoftware) {
  EXPECT_EQ(LevelOf(kFractions), IsolationLevel::kSoftware);
  EXPECT_EQ(LevelOf(kFractions | kMpsSlots), IsolationLevel::kProcess);
  EXPECT_EQ(LevelOf(0), IsolationLevel::kHardware);
}

// ---- Sharers. The node has two GPUs of four slots; blue holds one slot:  [b...] [....]
// The kubelet puts the next pod on the second GPU, and one after it beside blue.

TEST(SharersTest, RequiredRuleHoldsForTheNodesWholePoolOfSlots) {
  const Rules rules = {.isolation = {.time_slicing = kSameTenantRequired}};
  const Snapshot snapshot = WorldOf({SharedInventory("n", Sharing::kTimeSlicing, 2, 4)},
                                    {"b nvidia.com/gpu=1 node=n namespace=blue"}, rules);
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=red"), "isolation.sharers");
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1"), "isolation.sharers");
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=blue"), "fits");
  EXPECT_THAT(InfoOf(Reason::kIsolationSharers).text, ::testing::HasSubstr("whole pool"));
}

TEST(SharersTest, RuleIsOfItsMechanismAlone) {
  const Rules rules = {.isolation = {.time_slicing = kSameTenantRequired}};
  const Snapshot snapshot = WorldOf({SharedInventory("n", Sharing::kMps, 2, 4)},
                                    {"b nvidia.com/gpu=1 node=n namespace=blue"}, rules);
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=red"), "fits");
}

TEST(SharersTest, PodsWithoutTenantAreOneCommonTenant) {
  const Rules rules = {.isolation = {.mps = kSameTenantRequired}};
  const Snapshot snapshot = WorldOf({SharedInventory("n", Sharing::kMps, 2, 4)},
                                    {"o nvidia.com/gpu=1 node=n namespace=one"}, rules);
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=two"), "fits");
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=red"), "isolation.sharers");
}

TEST(SharersTest, NamespacesOfOneTenantMayBeKeptApart) {
  Snapshot snapshot = WorldOf({SharedInventory("n", Sharing::kMps, 2, 4)},
                              {"r nvidia.com/gpu=1 node=n namespace=red"},
                              {.isolation = {.mps = kSameTenantRequired}});
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=red-2"), "fits");
  const SharingRule same_namespace{.sharers = Sharers::kSameNamespace, .is_required = true};
  snapshot.SetTenancy(RedAndBlue({.isolation = {.mps = same_namespace}}));
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=red-2"), "isolation.sharers");
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=red"), "fits");
}

TEST(SharersTest, TenantOfALabelCountsAndNotTheNamespace) {
  Tenancy tenancy = *RedAndBlue({.isolation = {.mps = kSameTenantRequired}});
  tenancy.by_label_in["default"] = {quota::FindTenant(*tenancy.tree, "red"),
                                    quota::FindTenant(*tenancy.tree, "blue")};
  Snapshot snapshot = SnapshotOf({SharedInventory("n", Sharing::kMps, 2, 4)},
                                 {PodFromText("r nvidia.com/gpu=1 node=n label=red")});
  snapshot.SetTenancy(std::make_shared<const Tenancy>(tenancy));
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 label=red"), "fits");
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=red"), "fits");
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 label=blue"), "isolation.sharers");
}

// Kueue has charged red's queue for r and p, whatever their namespace; p is only expected there.
TEST(SharersTest, TenantOfAnAdmittedQueueCountsAndNotTheNamespace) {
  Tenancy tenancy = *RedAndBlue({.isolation = {.mps = kSameTenantRequired}});
  tenancy.source = TenantSource::kKueue;
  tenancy.by_queue["queue"] = quota::FindTenant(*tenancy.tree, "red");
  Admissions admissions;
  admissions.Put({.name_space = "blue",
                  .workload = "w",
                  .queue = "queue",
                  .owner_uids = {"uid-r", "uid-p"},
                  .pods = 2});
  Snapshot snapshot = SnapshotOf(
      {SharedInventory("m", Sharing::kMps, 2, 4), SharedInventory("n", Sharing::kMps, 2, 4)},
      {PodFromText("r nvidia.com/gpu=1 node=n namespace=blue")});
  snapshot.SetTenancy(std::make_shared<const Tenancy>(tenancy));
  snapshot.SetAdmissions(std::make_shared<const Admissions>(admissions));
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=blue"), "fits");
  EXPECT_EQ(CodeOn(snapshot, "q nvidia.com/gpu=1 namespace=red"), "fits");
  EXPECT_EQ(CodeOn(snapshot, "q nvidia.com/gpu=1 namespace=blue"), "isolation.sharers");
  snapshot.Claim(std::make_shared<const Pod>(PodFromText("p nvidia.com/gpu=1 namespace=blue")),
                 "m");
  EXPECT_EQ(CodeOn(snapshot, "q nvidia.com/gpu=1 namespace=red", "m"), "fits");
  EXPECT_EQ(CodeOn(snapshot, "q nvidia.com/gpu=1 namespace=blue", "m"), "isolation.sharers");
}

// Whole GPUs and instances without replicas are shared with nobody, whoever holds the others. Two
// pools of replicas are two sets of instances.
TEST(SharersTest, WhoSharesNoDeviceMeetsNobody) {
  const Rules rules = {.isolation = {.time_slicing = kSameTenantRequired}};
  const Snapshot whole =
      WorldOf({WholeInventory("n", 2)}, {"b nvidia.com/gpu=1 node=n namespace=blue"}, rules);
  EXPECT_EQ(CodeOn(whole, "p nvidia.com/gpu=1 namespace=red"), "fits");
  const Snapshot pools =
      WorldOf({Replicated(PoolInventory("n", "A100-40GB", {{"1g.5gb", 4}, {"2g.10gb", 2}}), 2)},
              {"b nvidia.com/mig-1g.5gb=1 node=n namespace=blue"}, rules);
  EXPECT_EQ(CodeOn(pools, "p nvidia.com/mig-2g.10gb=1 namespace=red"), "fits");
  EXPECT_EQ(CodeOn(pools, "p nvidia.com/mig-1g.5gb=1 namespace=red"), "isolation.sharers");
}

// There is one slot, and two pods hold one each, bound by others: one of them is nowhere that we
// know of, and counts where it could be.
TEST(SharersTest, HolderThatIsNotPlacedMayBeOnAnySlot) {
  const Rules rules = {.isolation = {.mps = kSameTenantRequired}};
  const Snapshot snapshot = WorldOf({SharedInventory("n", Sharing::kMps, 1, 1)},
                                    {"r nvidia.com/gpu=1 node=n namespace=red created=1",
                                     "b nvidia.com/gpu=1 node=n namespace=blue created=2"},
                                    rules);
  ASSERT_THAT(snapshot.FindNode("n")->occupants, SizeIs(2));
  for (const Occupant& each : snapshot.FindNode("n")->occupants) {
    EXPECT_EQ(each.commons, kMpsSlots) << each.owner.name_space;
  }
}

TEST(SharersTest, WhoeverIsExpectedCountsForFilter) {
  Snapshot snapshot = WorldOf({SharedInventory("n", Sharing::kMps, 2, 4)}, {},
                              {.isolation = {.mps = kSameTenantRequired}});
  snapshot.Claim(std::make_shared<const Pod>(PodFromText("b nvidia.com/gpu=1 namespace=blue")),
                 "n");
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=red"), "isolation.sharers");
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=blue"), "fits");
}

// Filter let both pass on an empty node; the second bind sees the first.
TEST(SharersTest, BindJudgesTheNewestState) {
  Snapshot snapshot = WorldOf({SharedInventory("n", Sharing::kMps, 2, 4)}, {},
                              {.isolation = {.mps = kSameTenantRequired}});
  const Pod red = PodFromText("r nvidia.com/gpu=1 namespace=red");
  const Pod blue = PodFromText("b nvidia.com/gpu=1 namespace=blue");
  ASSERT_EQ(CodeOn(snapshot, "r nvidia.com/gpu=1 namespace=red"), "fits");
  ASSERT_EQ(CodeOn(snapshot, "b nvidia.com/gpu=1 namespace=blue"), "fits");
  EXPECT_TRUE(Reserve(snapshot, red, "n", {}, kWire).verdict.fits());
  EXPECT_EQ(Reserve(snapshot, blue, "n", {}, kWire).verdict.reason, Reason::kIsolationSharers);
  snapshot.Unreserve("uid-r");
  EXPECT_TRUE(Reserve(snapshot, blue, "n", {}, kWire).verdict.fits());
}

// Namespaces keep to themselves. A slot is free once one of the two has left, and whoever stays
// keeps the pod out: both must go, or nobody.
TEST(SharersTest, WhoeverWouldKeepThePodOutIsEvictedToo) {
  const Snapshot snapshot = WorldOf({SharedInventory("n", Sharing::kMps, 1, 2)},
                                    {"r1 nvidia.com/gpu=1 node=n namespace=red-2 priority=1",
                                     "r2 nvidia.com/gpu=1 node=n namespace=red-2 priority=2"},
                                    {.isolation = {.mps = kSameNamespaceRequired}});
  const std::vector<PreemptionCandidate> named = {{"n", {"uid-r1"}}};
  const auto kept = Preempt(snapshot, PodFromText("p nvidia.com/gpu=1 namespace=red priority=9"),
                            named, {}, kWire, kNowS);
  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_THAT(kept[0].victim_uids, ElementsAre("uid-r2", "uid-r1"));
  EXPECT_THAT(Preempt(snapshot, PodFromText("p nvidia.com/gpu=1 namespace=red priority=2"), named,
                      {}, kWire, kNowS),
              SizeIs(0));
}

// Four threads bind what filter lets pass on a state that may be old by then, and free some again:
// no state that is ever published has two tenants on one node's slots.
TEST(SharersThreadsTest, NoTwoTenantsEverMeet) {
  StateStore store;
  store.Update([](Snapshot& next) {
    next = WorldOf(
        {SharedInventory("m", Sharing::kMps, 2, 4), SharedInventory("n", Sharing::kMps, 2, 4)}, {},
        {.isolation = {.mps = kSameTenantRequired}});
  });
  std::atomic<bool> is_over = false;
  std::atomic<int> met = 0;
  std::thread reader([&] {
    while (!is_over) {
      const auto snapshot = store.Read();
      for (const auto& node : snapshot->nodes()) {
        if (node->occupants.size() > 1) ++met;
      }
    }
  });
  std::atomic<int> bound = 0;
  std::vector<std::thread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&, w] {
      const std::string space = w % 2 == 0 ? "red" : "blue";
      for (int i = 0; i < 60; ++i) {
        const std::string name = "p" + std::to_string(w) + "-" + std::to_string(i % 3);
        const Pod pod = PodFromText(name + " nvidia.com/gpu=1 namespace=" + space);
        const std::vector<std::string> names = {i % 2 == 0 ? "m" : "n"};
        if (Filter(*store.Read(), pod, names, {}, kWire)[0].fits()) {
          const bool fits = store.Update([&](Snapshot& next) {
            return Reserve(next, pod, names[0], {}, kWire).verdict.fits();
          });
          if (fits) ++bound;
        }
        if (i % 3 == 2) {
          for (int k = 0; k < 3; ++k) {
            store.Update([&](Snapshot& next) {
              next.RemovePod("uid-p" + std::to_string(w) + "-" + std::to_string(k));
            });
          }
        }
      }
    });
  }
  for (auto& writer : writers) writer.join();
  is_over = true;
  reader.join();
  EXPECT_EQ(met, 0);
  EXPECT_GT(bound, 4);
}

// ---- Wishes. Blue is on a, red on b, of equal cost otherwise:  a [b...]  b [r...]

TEST(SharingWishTest, PrefersOwnHoldersAmongNodesOfEqualCost) {
  const std::vector<std::string> pods = {"x nvidia.com/gpu=1 node=a namespace=blue",
                                         "y nvidia.com/gpu=1 node=b namespace=red"};
  const std::vector<Inventory> nodes = {SharedInventory("a", Sharing::kMps, 1, 4),
                                        SharedInventory("b", Sharing::kMps, 1, 4)};
  const Snapshot wished = WorldOf(nodes, pods, {.isolation = {.mps = kSameTenantWished}});
  const std::vector<std::string> names = {"a", "b"};
  EXPECT_THAT(ScoresOf(wished, "p nvidia.com/gpu=1 namespace=red", names), ElementsAre(0, 10));
  EXPECT_THAT(ScoresOf(wished, "p nvidia.com/gpu=1 namespace=blue", names), ElementsAre(10, 0));
  EXPECT_EQ(CodeOn(wished, "p nvidia.com/gpu=1 namespace=red", "a"), "fits");  // no rule
  const Snapshot unwished = WorldOf(nodes, pods);
  EXPECT_THAT(ScoresOf(unwished, "p nvidia.com/gpu=1 namespace=red", names), ElementsAre(10, 0));
}

// Node a has one slot left, and best fit fills it: the wish does not outvote the packing.
TEST(SharingWishTest, DoesNotOutvoteThePacking) {
  Policy best_fit;
  best_fit.packing = binpack::PreparePacking("best-fit");
  const Snapshot snapshot = WorldOf(
      {SharedInventory("a", Sharing::kMps, 1, 4), SharedInventory("b", Sharing::kMps, 1, 4)},
      {"x1 nvidia.com/gpu=1 node=a namespace=blue", "x2 nvidia.com/gpu=1 node=a namespace=blue",
       "x3 nvidia.com/gpu=1 node=a namespace=blue", "y nvidia.com/gpu=1 node=b namespace=red"},
      {.isolation = {.mps = kSameTenantWished}});
  const std::vector<std::string> names = {"a", "b"};
  EXPECT_THAT(ScoresOf(snapshot, "p nvidia.com/gpu=1 namespace=red", names, best_fit),
              ElementsAre(10, 0));
}

TEST(SharingWishTest, CountsInProportionalRanksToo) {
  Policy policy;
  policy.scores = Scores::kProportional;
  const Snapshot snapshot = WorldOf(
      {SharedInventory("a", Sharing::kMps, 1, 4), SharedInventory("b", Sharing::kMps, 1, 4)},
      {"x nvidia.com/gpu=1 node=a namespace=blue", "y nvidia.com/gpu=1 node=b namespace=red"},
      {.isolation = {.mps = kSameTenantWished}});
  const std::vector<std::string> names = {"a", "b"};
  EXPECT_THAT(ScoresOf(snapshot, "p nvidia.com/gpu=1 namespace=red", names), ElementsAre(0, 10));
  EXPECT_THAT(ScoresOf(snapshot, "p nvidia.com/gpu=1 namespace=red", names, policy),
              ElementsAre(0, 10));
}

// ---- Capacity that the provider may take back.

TEST(SpotTest, TenantThatTakesNoneIsRefused) {
  const Snapshot snapshot = WorldOf({Spot(WholeInventory("n", 2)), WholeInventory("stays", 2)}, {},
                                    {.red = {.spot = SpotUse::kNever}});
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=red"), "capacity.spot");
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=red", "stays"), "fits");
  EXPECT_EQ(CodeOn(snapshot, "p nvidia.com/gpu=1 namespace=blue"), "fits");
  EXPECT_EQ(CodeOn(snapshot, "p namespace=red"), "fits");  // asks for no device
}

// a is spot and full but for one GPU, which best fit takes first; b stays, and is empty.
TEST(SpotTest, TenantThatAvoidsItTakesOtherNodesFirstWhateverTheyCost) {
  Policy best_fit;
  best_fit.packing = binpack::PreparePacking("best-fit");
  const std::vector<Inventory> nodes = {Spot(WholeInventory("a", 4)), WholeInventory("b", 4)};
  const std::vector<std::string> pods = {"x nvidia.com/gpu=3 node=a"};
  const std::vector<std::string> names = {"a", "b"};
  const std::string pod = "p nvidia.com/gpu=1 namespace=red";
  EXPECT_THAT(ScoresOf(WorldOf(nodes, pods), pod, names, best_fit), ElementsAre(10, 0));
  const Snapshot avoided = WorldOf(nodes, pods, {.red = {.spot = SpotUse::kAvoid}});
  EXPECT_THAT(ScoresOf(avoided, pod, names, best_fit), ElementsAre(0, 10));
  EXPECT_EQ(CodeOn(avoided, pod, "a"), "fits");
  EXPECT_THAT(ScoresOf(avoided, pod, {"a"}, best_fit), ElementsAre(10));
}

// ---- Borrowers. Each tenant has four GPUs; red uses five and so borrows, blue uses one.
//   a [b...]   b [r...]   c: red's other four

TEST(BorrowersTest, AreKeptTogetherAmongNodesOfEqualCost) {
  const Snapshot snapshot = WorldOf(
      {WholeInventory("a", 4), WholeInventory("b", 4), WholeInventory("c", 4)},
      {"x nvidia.com/gpu=1 node=a namespace=blue", "y nvidia.com/gpu=1 node=b namespace=red",
       "z nvidia.com/gpu=4 node=c namespace=red"});
  const std::vector<std::string> names = {"a", "b"};
  EXPECT_THAT(ScoresOf(snapshot, "p nvidia.com/gpu=1 namespace=red", names), ElementsAre(0, 10));
  EXPECT_THAT(ScoresOf(snapshot, "p nvidia.com/gpu=1 namespace=blue", names), ElementsAre(10, 0));
  EXPECT_THAT(ScoresOf(snapshot, "p nvidia.com/gpu=1", names), ElementsAre(10, 0));  // by name
}

// Now b comes first by name and is still left to borrowers.
TEST(BorrowersTest, LeaveNodesToThoseWithinTheirGuarantee) {
  const Snapshot snapshot = WorldOf(
      {WholeInventory("a", 4), WholeInventory("b", 4), WholeInventory("c", 4)},
      {"x nvidia.com/gpu=1 node=b namespace=blue", "y nvidia.com/gpu=1 node=a namespace=red",
       "z nvidia.com/gpu=4 node=c namespace=red"});
  const std::vector<std::string> names = {"a", "b"};
  EXPECT_THAT(ScoresOf(snapshot, "p nvidia.com/gpu=1 namespace=blue", names), ElementsAre(0, 10));
  EXPECT_THAT(ScoresOf(snapshot, "p nvidia.com/gpu=1 namespace=red", names), ElementsAre(10, 0));
}

// ---- With a cache and without.

Rules RandomRules(std::mt19937& random) {
  const auto rule = [&] {
    return SharingRule{.sharers = static_cast<Sharers>(random() % 3),
                       .is_required = random() % 2 == 0};
  };
  return {.isolation = {.time_slicing = rule(),
                        .mps = rule(),
                        .allows_memory_overcommit = random() % 2 == 0},
          .red = {.isolation_min = static_cast<IsolationLevel>(random() % 4),
                  .spot = static_cast<SpotUse>(random() % 3)}};
}

Inventory RandomNode(std::mt19937& random, const std::string& name) {
  Inventory inventory;
  switch (random() % 4) {
    case 0:
      inventory = WholeInventory(name, 2);
      break;
    case 1:
      inventory = SharedInventory(name, Sharing::kMps, 2, 3);
      break;
    case 2:
      inventory = SharedInventory(name, Sharing::kTimeSlicing, 2, 4);
      break;
    default:
      inventory = Replicated(PoolInventory(name, "A100-40GB", {{"1g.5gb", 4}}), 2);
      inventory.offers[0].resource = "nvidia.com/gpu";
  }
  inventory.is_spot = random() % 2 == 0;
  return inventory;
}

std::string RandomPod(std::mt19937& random, const std::string& name) {
  const std::vector<std::string> spaces = {"red", "red-2", "blue", "default"};
  std::string text = name + " nvidia.com/gpu=1 namespace=" + spaces[random() % 4];
  if (random() % 3 == 0) text += " memory=" + std::to_string(1000 * (1 + random() % 8));
  return text;
}

class RandomTenancies : public ::testing::TestWithParam<unsigned> {};

// One cache lives through changes of pods, nodes and rules: it says what one made anew says.
TEST_P(RandomTenancies, CachedEqualsRecomputed) {
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  std::mt19937 random(GetParam());
  const std::vector<std::string> names = {"a", "b", "c", "d", "e"};
  Snapshot snapshot = WorldOf({});
  for (const std::string& name : names) snapshot.PutNode(RandomNode(random, name));
  const Policy policy;
  EvaluationCache cache(policy, kWire);
  for (int step = 0; step < 60; ++step) {
    const std::string& node = names[random() % names.size()];
    const std::string name = "p" + std::to_string(random() % 20);
    switch (random() % 6) {
      case 0:
        snapshot.SetTenancy(random() % 8 == 0 ? nullptr : RedAndBlue(RandomRules(random)));
        break;
      case 1:
        snapshot.PutNode(RandomNode(random, node));
        break;
      case 2:
        snapshot.RemovePod("uid-" + name);
        break;
      case 3:
        snapshot.Claim(std::make_shared<const Pod>(PodFromText(RandomPod(random, name))), node);
        break;
      default:
        Reserve(snapshot, PodFromText(RandomPod(random, name)), node, policy, kWire);
        break;
    }
    const Pod pod = PodFromText(RandomPod(random, "asked"));
    ASSERT_EQ(Filter(snapshot, pod, names, cache), Filter(snapshot, pod, names, policy, kWire))
        << "step " << step;
    ASSERT_EQ(Score(snapshot, pod, names, cache), Score(snapshot, pod, names, policy, kWire))
        << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTenancies, ::testing::Range(1U, 31U));

}  // namespace
}  // namespace offcut::scheduler
