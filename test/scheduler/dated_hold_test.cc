#include "scheduler/dated_hold.h"

#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "scheduler/held_places.h"
#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::FractionNode;
using ::offcut::testing::FractionUse;
using ::offcut::testing::Gpus;
using ::offcut::testing::PodFromText;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::TenancyByName;
using ::offcut::testing::WholeInventory;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t now_s = 1'000;

// It runs since 900 and must have ended at `end_s`; 0: nobody knows.
Pod Ending(Pod pod, std::int64_t end_s) {
  pod.started_s = 900;
  pod.run_s_max = end_s == 0 ? 0 : end_s - 900;
  return pod;
}

Pod Ending(std::string_view text, std::int64_t end_s) { return Ending(PodFromText(text), end_s); }

std::optional<DatedHoldPlan> PlanFor(const Snapshot& snapshot, const Pod& pod) {
  return PlanDatedHold(snapshot, pod, {}, Lifetimes(), now_s);
}

std::optional<DatedHoldPlan> PlanFor(const Snapshot& snapshot, std::string_view pod) {
  return PlanFor(snapshot, PodFromText(pod));
}

std::vector<std::string> NamesOf(const std::optional<DatedHoldPlan>& plan) {
  std::vector<std::string> names;
  if (!plan) return names;
  for (const auto& pod : plan->waits_for) names.push_back(pod->name);
  return names;
}

//      GPU 0            GPU 1
// n    a until 1150     b until 1130
// m    c until 1140     d, for ever
TEST(PlanDatedHoldTest, TakesThePlaceThatWillBeFreeSoonestByKnownEndsAlone) {
  const Snapshot snapshot = SnapshotOf(
      {WholeInventory("m", 2), WholeInventory("n", 2)},
      {Ending("a nvidia.com/gpu=1 node=n", 1150), Ending("b nvidia.com/gpu=1 node=n", 1130),
       Ending("c nvidia.com/gpu=1 node=m", 1140), Ending("d nvidia.com/gpu=1 node=m", 0)});
  const auto plan = PlanFor(snapshot, "big nvidia.com/gpu=2");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->node, "n");
  EXPECT_EQ(plan->expected_s, 1150);
  EXPECT_THAT(NamesOf(plan), ElementsAre("b", "a"));
  EXPECT_THAT(plan->devices, IsEmpty()) << "the kubelet picks";
  const Hold hold = HoldOf(PodFromText("big nvidia.com/gpu=2"), *plan);
  EXPECT_EQ(hold.until_s, 1150 + 60);
  EXPECT_THAT(hold.victim_uids, ElementsAre("uid-b", "uid-a"));
  EXPECT_FALSE(IsDrain(hold));
}

// The last three pods of the owner ran for 200 s and less: a has until 900 + 200.
TEST(PlanDatedHoldTest, GoesByLifetimesWhereThereIsNoDeadline) {
  Lifetimes lifetimes;
  for (const std::int64_t run_s : {200, 100, 150}) {
    Pod ended = Ending("x nvidia.com/gpu=1 node=n", 0);
    ended.owner_uid = "job";
    lifetimes.NoteEnd(ended, 900 + run_s);
  }
  Pod a = Ending("a nvidia.com/gpu=2 node=n", 0);
  a.owner_uid = "job";
  const Snapshot snapshot = SnapshotOf({WholeInventory("n", 2)}, {a});
  const auto plan =
      PlanDatedHold(snapshot, PodFromText("big nvidia.com/gpu=2"), {}, lifetimes, now_s);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->expected_s, 1100);
}

// Four GPUs: a has one until 1110, b two until 1120, c one until 1130. b's two suffice.
TEST(PlanDatedHoldTest, WaitsForNobodyWhoIsNotNeeded) {
  const Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 4)}, {Ending("a nvidia.com/gpu=1 node=n", 1110),
                                            Ending("b nvidia.com/gpu=2 node=n", 1120),
                                            Ending("c nvidia.com/gpu=1 node=n", 1130)});
  const auto plan = PlanFor(snapshot, "big nvidia.com/gpu=2");
  EXPECT_THAT(NamesOf(plan), ElementsAre("b"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->expected_s, 1120);
}

// Until 1150 one of m's GPUs would stand idle, and none of n's, which are in use until then.
TEST(PlanDatedHoldTest, OfEqualDatesTakesThePlaceThatStandsIdleLeast) {
  const Snapshot snapshot = SnapshotOf(
      {WholeInventory("m", 2), WholeInventory("n", 2)},
      {Ending("a nvidia.com/gpu=2 node=n", 1150), Ending("c nvidia.com/gpu=1 node=m", 1150)});
  const auto plan = PlanFor(snapshot, "big nvidia.com/gpu=2");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->node, "n");
}

TEST(PlanDatedHoldTest, KeepsNothingForAPodThatFitsOrMustWaitForMoreThanADay) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2)},
                                 {Ending("a nvidia.com/gpu=1 node=n", now_s + 24 * 3600)});
  EXPECT_TRUE(PlanFor(snapshot, "big nvidia.com/gpu=2"));
  snapshot.PutPod(Ending("a nvidia.com/gpu=1 node=n", now_s + 24 * 3600 + 1));
  EXPECT_FALSE(PlanFor(snapshot, "big nvidia.com/gpu=2"));
  snapshot.RemovePod("uid-a");
  EXPECT_FALSE(PlanFor(snapshot, "big nvidia.com/gpu=2"));
}

TEST(PlanDatedHoldTest, IsNotForOneGpuAmongPodsOfOneGpu) {
  const Snapshot snapshot = SnapshotOf(
      {WholeInventory("n", 2)},
      {Ending("a nvidia.com/gpu=1 node=n", 1150), Ending("b nvidia.com/gpu=1 node=n", 1150)});
  EXPECT_FALSE(PlanFor(snapshot, "p nvidia.com/gpu=1"));
  EXPECT_TRUE(PlanFor(snapshot, "p nvidia.com/gpu=2"));
}

// A GPU of 40,000 MiB, of which a and b have 15,000 each: half of it is large beside them, a third
// is not. Which share is kept is said, since the agent obeys.
TEST(PlanDatedHoldTest, IsForHalfAGpuAmongSmallerShares) {
  Inventory inventory{.name = "n", .serves_fractions = true};
  inventory.devices = FractionNode(40'000, {FractionUse{}});
  const auto share = [](std::string_view text, int memory_mib) {
    Pod pod = PodFromText(text);
    pod.request.fractions = {{.gpus = 1, .memory_mib = memory_mib}};
    return pod;
  };
  const Snapshot snapshot = SnapshotOf({inventory}, {Ending(share("a node=n", 15'000), 1150),
                                                     Ending(share("b node=n", 15'000), 1130)});
  EXPECT_FALSE(PlanFor(snapshot, share("p", 13'000)));
  const auto plan = PlanFor(snapshot, share("p", 20'000));
  EXPECT_THAT(NamesOf(plan), ElementsAre("b"));
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->devices.size(), 1U);
  EXPECT_EQ(plan->devices[0].memory_mib, 20'000);
}

TEST(PlanDatedHoldTest, IsOnNodesThatAdmitThePod) {
  Inventory tainted = WholeInventory("n", 2);
  tainted.marks = NodeMarks{.labels = {}, .taints = {{.key = "team", .value = "a"}}};
  const Snapshot snapshot = SnapshotOf(
      {tainted, WholeInventory("z", 2)},
      {Ending("a nvidia.com/gpu=2 node=n", 1100), Ending("z1 nvidia.com/gpu=2 node=z", 1200)});
  const Pod pod = PodFromText("big nvidia.com/gpu=2");
  const auto plan = PlanFor(snapshot, pod);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->node, "z");
  EXPECT_TRUE(IsUsable(snapshot, pod, HoldOf(pod, *plan)));
  EXPECT_FALSE(IsUsable(snapshot, pod, {.pod_uid = "uid-big", .node = "n"}));
}

// red has two GPUs, both in use on m until 1200: what blue leaves on n at 1100 red may not have.
TEST(PlanDatedHoldTest, IsWhereQuotaIsThereAtTheDate) {
  Snapshot snapshot = SnapshotOf({WholeInventory("m", 2), WholeInventory("n", 2)},
                                 {Ending("r nvidia.com/gpu=2 namespace=red node=m", 1200),
                                  Ending("b nvidia.com/gpu=2 namespace=blue node=n", 1100)});
  snapshot.SetTenancy(std::make_shared<const Tenancy>(
      TenancyByName({{.name = "red", .parent = {}, .quotas = {Gpus(2)}},
                     {.name = "blue", .parent = {}, .quotas = {Gpus(2)}}})));
  const auto red = PlanFor(snapshot, "big nvidia.com/gpu=2 namespace=red");
  ASSERT_TRUE(red);
  EXPECT_EQ(red->node, "m");
  const auto blue = PlanFor(snapshot, "big nvidia.com/gpu=2 namespace=blue");
  ASSERT_TRUE(blue);
  EXPECT_EQ(blue->node, "n");
  EXPECT_FALSE(PlanFor(snapshot, "big nvidia.com/gpu=3 namespace=red"));
}

// n is kept for the first until 1150, so the second of its like gets m, which is later.
TEST(PlanDatedHoldTest, LeavesAloneWhatIsKeptForAnother) {
  Snapshot snapshot = SnapshotOf(
      {WholeInventory("m", 2), WholeInventory("n", 2)},
      {Ending("a nvidia.com/gpu=2 node=n", 1150), Ending("c nvidia.com/gpu=2 node=m", 1200)});
  Pod first = PodFromText("first nvidia.com/gpu=2");
  const auto plan = PlanFor(snapshot, first);
  ASSERT_TRUE(plan);
  first.hold = HoldOf(first, *plan);
  snapshot.PutPod(first);
  EXPECT_EQ(PlanFor(snapshot, first)->node, "n") << "its own does not count";
  EXPECT_EQ(PlanFor(snapshot, "second nvidia.com/gpu=2")->node, "m");
  const auto place = HeldPlaceOf(snapshot, "uid-first");
  ASSERT_TRUE(place);
  EXPECT_THAT(place->waits_for, ElementsAre(::testing::Pointee(::testing::Field(&Pod::name, "a"))));
  const auto sums = SumOfHeld(snapshot);
  EXPECT_EQ(sums[static_cast<std::size_t>(HoldCause::kDate)].holds, 1);
  EXPECT_EQ(sums[static_cast<std::size_t>(HoldCause::kDate)].devices, 2 * quota::kWholeDevice);
}

// Nobody says when anybody ends. m has one GPU to leave, n two.
TEST(PlanDrainTest, TakesTheNodeWhereTheLeastMustLeave) {
  const Snapshot snapshot =
      SnapshotOf({WholeInventory("m", 2), WholeInventory("l", 2)},
                 {Ending("a nvidia.com/gpu=2 node=l", 0), Ending("c nvidia.com/gpu=1 node=m", 0)});
  const Pod pod = PodFromText("big nvidia.com/gpu=2");
  EXPECT_FALSE(PlanFor(snapshot, pod));
  const auto plan = PlanDrain(snapshot, pod, {}, now_s);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->node, "m");
  EXPECT_EQ(plan->expected_s, now_s + 300) << "holdSeconds";
  EXPECT_TRUE(IsDrain(HoldOf(pod, *plan)));
  EXPECT_FALSE(PlanDrain(snapshot, PodFromText("p nvidia.com/gpu=1"), {}, now_s)) << "it fits";
}

// 400 s are left: a quarter is 100. 100 s are left: a minute counts.
TEST(DatedHoldRulesTest, MovesForAQuarterOfTheWaitAndAMinuteAtLeast) {
  const Hold far{.cause = HoldCause::kDate, .until_s = 1460, .expected_s = 1400};
  EXPECT_TRUE(IsClearlyEarlier({.expected_s = 1300}, far, now_s));
  EXPECT_FALSE(IsClearlyEarlier({.expected_s = 1301}, far, now_s));
  const Hold near{.cause = HoldCause::kDate, .until_s = 1160, .expected_s = 1100};
  EXPECT_TRUE(IsClearlyEarlier({.expected_s = 1040}, near, now_s));
  EXPECT_FALSE(IsClearlyEarlier({.expected_s = 1041}, near, now_s));
}

TEST(DatedHoldRulesTest, RenewsTheFirstAtOnceAndLaterOnesAfterGrowingPauses) {
  const ReclaimRules rules{.hold_s = 300, .backoff_s_max = 1000};
  const Hold dated{.cause = HoldCause::kDate, .until_s = 1160, .expected_s = 1100};
  EXPECT_EQ(PauseAfter(dated, 1, rules), 0);
  EXPECT_EQ(PauseAfter(dated, 2, rules), 300);
  EXPECT_EQ(PauseAfter(dated, 3, rules), 600);
  EXPECT_EQ(PauseAfter(dated, 4, rules), 1000);
  EXPECT_EQ(PauseAfter(dated, 1'000'000, rules), 1000);
  const Hold drain{.cause = HoldCause::kDate, .until_s = 1100, .expected_s = 1100};
  EXPECT_EQ(PauseAfter(drain, 1, rules), 300);
}

TEST(DatedHoldRulesTest, AreForPodsThatWaitAndHaveNoHoldOfEvictions) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2)});
  Pod pod = PodFromText("big nvidia.com/gpu=2");
  const auto may = [&] {
    snapshot.PutPod(pod);
    return MayHoldByDate(snapshot, *snapshot.FindPod(pod.uid));
  };
  EXPECT_FALSE(may()) << "nobody has refused it";
  pod.unscheduled_message = "0/1 nodes are available";
  EXPECT_TRUE(may());
  pod.hold = Hold{.pod_uid = pod.uid, .node = "n", .cause = HoldCause::kDate, .until_s = 2000};
  EXPECT_TRUE(may());
  pod.hold->cause = HoldCause::kReclaim;
  EXPECT_FALSE(may());
  pod.hold.reset();
  pod.has_other_gates = true;
  EXPECT_FALSE(may());
}

// Pods of up to two GPUs on up to three nodes of four, most with a deadline.
Snapshot RandomWorld(std::mt19937& random) {
  const auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  Snapshot snapshot;
  const int nodes = draw(1, 3);
  for (int n = 0; n < nodes; ++n) {
    const std::string node = "n" + std::to_string(n);
    snapshot.PutNode(WholeInventory(node, 4));
    for (int taken = 0, i = 0; taken < 3; ++i) {
      const int gpus = draw(1, std::min(2, 4 - taken));
      taken += gpus;
      const std::string name = "p" + std::to_string(n) + std::to_string(i);
      const std::string text = name + " nvidia.com/gpu=" + std::to_string(gpus) + " node=" + node;
      snapshot.PutPod(Ending(text, draw(0, 4) == 0 ? 0 : draw(1'001, 1'500)));
    }
  }
  return snapshot;
}

// Whatever comes after the hold, on whichever node, it gets in only where it keeps the date; so
// once those have ended who must have by then, the pod fits, and nobody was made to leave.
TEST(DatedHoldPropertyTest, ThePlaceIsFreeAtItsDateWhoeverCameMeanwhile) {
  int held = 0;
  int let_in = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Snapshot snapshot = RandomWorld(random);
    Pod big = PodFromText("big nvidia.com/gpu=4");
    const auto plan = PlanFor(snapshot, big);
    if (!plan) continue;
    ++held;
    big.hold = HoldOf(big, *plan);
    snapshot.PutPod(big);
    for (int i = 0; i < 20; ++i) {
      Pod pod = PodFromText("late" + std::to_string(i) + " nvidia.com/gpu=1");
      pod.run_s_max = std::uniform_int_distribution<int>(0, 600)(random);
      SetWouldEnd(pod, now_s);
      if (!Reserve(snapshot, pod, plan->node, {}, Prefilter::kNone).verdict.fits()) continue;
      ++let_in;
      EXPECT_GT(pod.run_s_max, 0);
      EXPECT_LE(now_s + pod.run_s_max, plan->expected_s);
    }
    std::vector<std::string> ended;
    snapshot.ForEachPod([&](const PodEntry& entry) {
      const auto end_s = ExpectedEnd(*entry.pod, Lifetimes(), now_s);
      if (entry.phase != PodPhase::kPending && end_s && *end_s <= plan->expected_s) {
        ended.push_back(entry.pod->uid);
      }
    });
    for (const std::string& uid : ended) snapshot.RemovePod(uid);
    EXPECT_TRUE(Reserve(snapshot, big, plan->node, {}, Prefilter::kNone).verdict.fits());
  }
  EXPECT_GT(held, 50);
  EXPECT_GT(let_in, 50);
}

// Two nodes of eight GPUs, and an endless queue of pods of one GPU that end after 60 to 150 s.
class Stream {
 public:
  Stream() : snapshot_(SnapshotOf({WholeInventory("m", 8), WholeInventory("n", 8)})) {}

  // One step of ten seconds. `big` goes first wherever it fits; then whatever is free is the next
  // small pod's. Returns whether `big` has started.
  bool Step(const Pod& big) {
    time_s_ += 10;
    EndThoseThatAreDue();
    for (const char* node : {"m", "n"}) {
      if (!has_begun_) break;
      if (Reserve(snapshot_, big, node, {}, Prefilter::kNone).verdict.fits()) return true;
    }
    for (const char* node : {"m", "n"}) {
      while (StartSmall(node)) {
      }
    }
    has_begun_ = true;
    return false;
  }

  Snapshot& snapshot() { return snapshot_; }
  std::int64_t time_s() const { return time_s_; }

 private:
  bool StartSmall(const char* node) {
    Pod pod = PodFromText("s" + std::to_string(count_) + " nvidia.com/gpu=1");
    pod.run_s_max = 60 + 10 * (count_ * 7 % 10);
    SetWouldEnd(pod, time_s_);
    if (!Reserve(snapshot_, pod, node, {}, Prefilter::kNone).verdict.fits()) return false;
    ++count_;
    pod.node_name = node;
    pod.started_s = time_s_;
    snapshot_.PutPod(pod);
    return true;
  }

  void EndThoseThatAreDue() {
    std::vector<std::string> ended;
    snapshot_.ForEachPod([&](const PodEntry& entry) {
      const Pod& pod = *entry.pod;
      if (pod.started_s > 0 && pod.started_s + pod.run_s_max <= time_s_) ended.push_back(pod.uid);
    });
    for (const std::string& uid : ended) snapshot_.RemovePod(uid);
  }

  Snapshot snapshot_;
  std::int64_t time_s_ = now_s;
  int count_ = 0;
  bool has_begun_ = false;
};

// The same stream twice: with a hold the pod starts in the step of its date, without it has not
// started in an hour.
TEST(DatedHoldStreamTest, APodOfAWholeNodeStartsByItsDateAndStarvesWithoutAHold) {
  Stream starving;
  Pod big = PodFromText("big nvidia.com/gpu=8");
  for (int step = 0; step < 360; ++step) ASSERT_FALSE(starving.Step(big));

  Stream held;
  for (int step = 0; step < 10; ++step) ASSERT_FALSE(held.Step(big));
  const auto plan = PlanDatedHold(held.snapshot(), big, {}, Lifetimes(), held.time_s());
  ASSERT_TRUE(plan);
  EXPECT_LE(plan->expected_s, held.time_s() + 150);
  big.hold = HoldOf(big, *plan);
  held.snapshot().PutPod(big);
  while (held.time_s() < plan->expected_s - 10) ASSERT_FALSE(held.Step(big));
  EXPECT_TRUE(held.Step(big));
}

}  // namespace
}  // namespace offcut::scheduler
