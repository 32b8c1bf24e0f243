// Who must leave a node, by the places that its devices have. Quota's part is test/quota/victims.
#include "scheduler/victim_finder.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/testing/mig_holders.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::MigHolder;
using ::offcut::testing::MigHoldersOn;
using ::offcut::testing::PodFromText;
using ::offcut::testing::PoolInventory;
using ::offcut::testing::Profiles;
using ::offcut::testing::SharedInventory;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;
using ::testing::ElementsAre;
using ::testing::Optional;

using Victims = std::optional<std::vector<std::string>>;

constexpr std::int64_t kNowS = 100'000;

Victims UidsOf(const std::optional<PreemptionCandidate>& found) {
  return found ? Victims(found->victim_uids) : std::nullopt;
}

Victims Find(const Snapshot& snapshot, const std::string& pod_text,
             const std::vector<std::string>& named = {}, const Policy& policy = {}) {
  const Pod pod = PodFromText(pod_text);
  VictimFinder finder(snapshot, pod, policy, Prefilter::kByKubeScheduler, kNowS);
  return UidsOf(finder.Find({.node_name = "n", .victim_uids = named}));
}

// For instances of that profile on a node of two GPUs, at priority 10.
Victims FindOnMig(const std::vector<MigHolder>& holders, const std::string& profiles) {
  const Snapshot snapshot = MigHoldersOn("A100-40GB", 2, holders);
  const Pod pod = PodFromText("p nvidia.com/gpumem=1 priority=10");
  const Policy policy;
  VictimFinder finder(snapshot, pod, policy, Prefilter::kByKubeScheduler, kNowS);
  return UidsOf(finder.Find(*snapshot.FindNode("n"), Profiles(profiles), {}));
}

// One GPU is full; of the other   slice 0 1 2 3 4 5 6 7
//                                       a . b . c . d .
// A 3g is one half: both a and b, or both c and d. Four slices are free all the time.
TEST(VictimFinderTest, FreesOneHalfOfOneGpu) {
  const std::vector<MigHolder> instances = {{"full", 1, "7g.40gb", 0, 99},
                                            {"a", 0, "1g.5gb", 0},
                                            {"b", 0, "1g.5gb", 2},
                                            {"c", 0, "1g.5gb", 4},
                                            {"d", 0, "1g.5gb", 6}};
  EXPECT_THAT(FindOnMig(instances, "3g.20gb"), Optional(ElementsAre("uid-a", "uid-b")));
  std::vector<MigHolder> dearer_left = instances;
  dearer_left[1].priority = 5;
  EXPECT_THAT(FindOnMig(dearer_left, "3g.20gb"), Optional(ElementsAre("uid-c", "uid-d")));
}

// slice 0 1 2 3 4 5 6 7   A 4g starts at 0 alone: c is not in its way.
//       a a b b c c . .
TEST(VictimFinderTest, EvictsNobodyBesideThePlace) {
  const std::vector<MigHolder> instances = {{"full", 1, "7g.40gb", 0, 99},
                                            {"a", 0, "2g.10gb", 0, 1},
                                            {"b", 0, "2g.10gb", 2, 1},
                                            {"c", 0, "2g.10gb", 4, 0}};
  EXPECT_THAT(FindOnMig(instances, "4g.20gb"), Optional(ElementsAre("uid-a", "uid-b")));
  EXPECT_THAT(FindOnMig(instances, "3g.20gb"), Optional(ElementsAre("uid-c")));
}

// Seven 1g: slice 7 is free, and no compute slice. Any one goes; of equals the one that is lowest
// by UID.
TEST(VictimFinderTest, AFreeMemorySliceWithoutAComputeSliceIsNoRoom) {
  std::vector<MigHolder> instances = {{"full", 1, "7g.40gb", 0, 99}};
  for (int start = 0; start < 7; ++start) {
    instances.push_back({std::string(1, static_cast<char>('a' + start)), 0, "1g.5gb", start});
  }
  EXPECT_THAT(FindOnMig(instances, "1g.5gb"), Optional(ElementsAre("uid-a")));
}

TEST(VictimFinderTest, AProtectedInstanceAnywhereKeepsThe7gOut) {
  const std::vector<MigHolder> instances = {
      {"a", 0, "1g.5gb", 3, 0}, {"b", 0, "1g.5gb", 5, 50}, {"c", 1, "1g.5gb", 0, 50}};
  EXPECT_EQ(FindOnMig(instances, "7g.40gb"), std::nullopt);
}

// Whose device nobody knows is no victim where the place matters.
TEST(VictimFinderTest, AnUnknownHolderIsNoVictimWhereWeChooseDevices) {
  EXPECT_THAT(FindOnMig({{"a", 0, "7g.40gb", 0}, {"b", 1, "7g.40gb", 0, 99}}, "7g.40gb"),
              Optional(ElementsAre("uid-a")));
  // On GPU 2, which is not there: the record tells nothing.
  EXPECT_EQ(FindOnMig({{"a", 2, "7g.40gb", 0}, {"b", 1, "7g.40gb", 0, 99}}, "7g.40gb"),
            std::nullopt);
}

// GPU 0 holds the pair, 1 and 2 one pod each. Two GPUs are had by two victims or by those of the
// pair: one pod that holds two.
TEST(VictimFinderTest, SeveralGpusAreFreedByTheFewestVictimsOfTheLowestPriorities) {
  const Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 4)}, {PodFromText("pair nvidia.com/gpu=2 node=n priority=1"),
                                            PodFromText("one nvidia.com/gpu=1 node=n priority=1"),
                                            PodFromText("two nvidia.com/gpu=1 node=n priority=1")});
  EXPECT_THAT(Find(snapshot, "p nvidia.com/gpu=2 priority=10"), Optional(ElementsAre("uid-pair")));
  EXPECT_THAT(Find(snapshot, "p nvidia.com/gpu=1 priority=10"), Optional(ElementsAre("uid-one")));
  EXPECT_THAT(Find(snapshot, "p nvidia.com/gpu=3 priority=10"),
              Optional(ElementsAre("uid-one", "uid-pair")));
}

TEST(VictimFinderTest, StaticInstancesAreFreedByCountInTheirPool) {
  const Snapshot snapshot =
      SnapshotOf({PoolInventory("n", "A100-40GB", {{"1g.5gb", 1, 0}, {"3g.20gb", 1, 0}})},
                 {PodFromText("small nvidia.com/mig-1g.5gb=1 node=n"),
                  PodFromText("large nvidia.com/mig-3g.20gb=1 node=n priority=5")});
  EXPECT_THAT(Find(snapshot, "p nvidia.com/mig-3g.20gb=1 priority=10"),
              Optional(ElementsAre("uid-large")));
  // kube-scheduler names the wrong one, which frees as much CPU: swapped.
  EXPECT_THAT(Find(snapshot, "p nvidia.com/mig-1g.5gb=1 priority=10"),
              Optional(ElementsAre("uid-small")));
}

TEST(VictimFinderTest, WhoeverKubeSchedulerNamesStaysAmongTheVictims) {
  const Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 2)}, {PodFromText("a nvidia.com/gpu=1 node=n priority=5"),
                                            PodFromText("b nvidia.com/gpu=1 node=n priority=1"),
                                            PodFromText("cpu cpu=4000 node=n")});
  EXPECT_THAT(Find(snapshot, "p nvidia.com/gpu=1 priority=10", {"uid-a"}),
              Optional(ElementsAre("uid-a")));
  EXPECT_THAT(Find(snapshot, "p nvidia.com/gpu=1 priority=10", {"uid-cpu"}),
              Optional(ElementsAre("uid-b", "uid-cpu")));
}

// b may not go: it is of the pod's protected band. a frees as much CPU, or less.
TEST(VictimFinderTest, AVictimThatMayNotGoIsSwappedForOneThatFreesAsMuch) {
  Policy policy;
  policy.preemption.protected_bands = {{.from = 5, .to = 20}};
  const auto world = [](const char* cpu) {
    return SnapshotOf({WholeInventory("n", 2)},
                      {PodFromText(std::string("a nvidia.com/gpu=1 node=n priority=1 cpu=") + cpu),
                       PodFromText("b nvidia.com/gpu=1 node=n priority=5 cpu=2000")});
  };
  const std::string pod = "p nvidia.com/gpu=1 priority=10";
  EXPECT_THAT(Find(world("2000"), pod, {"uid-b"}, policy), Optional(ElementsAre("uid-a")));
  EXPECT_EQ(Find(world("1999"), pod, {"uid-b"}, policy), std::nullopt);
  Pod picky = PodFromText(pod);
  picky.minds_neighbours = true;
  const Snapshot snapshot = world("2000");
  VictimFinder finder(snapshot, picky, policy, Prefilter::kByKubeScheduler, kNowS);
  EXPECT_EQ(UidsOf(finder.Find({.node_name = "n", .victim_uids = {"uid-b"}})), std::nullopt);
}

// Neither by its own list, nor as one that we do not know yet.
TEST(VictimFinderTest, NobodyMakesRoomForItself) {
  const Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 1)}, {PodFromText("a nvidia.com/gpu=1 node=n priority=1")});
  const Pod pod = PodFromText("p nvidia.com/gpu=1 priority=10");
  const Policy policy;
  VictimFinder finder(snapshot, pod, policy, Prefilter::kByKubeScheduler, 0);
  EXPECT_TRUE(finder.Find({.node_name = "n", .victim_uids = {"uid-a"}}));
  EXPECT_FALSE(finder.Find({.node_name = "n", .victim_uids = {"uid-a", "uid-p"}}));
}

TEST(VictimFinderTest, WhoHasJustStartedIsLeftAloneUnlessItEnds) {
  Policy policy;
  policy.preemption.run_s_min = 60;
  Pod young = PodFromText("a nvidia.com/gpu=1 node=n created=99941");
  const auto find = [&] {
    return Find(SnapshotOf({WholeInventory("n", 1)}, {young}), "p nvidia.com/gpu=1 priority=10", {},
                policy);
  };
  EXPECT_EQ(find(), std::nullopt);
  young.is_terminating = true;
  EXPECT_THAT(find(), Optional(ElementsAre("uid-a")));
  young.is_terminating = false;
  young.created_s = 99'940;
  EXPECT_THAT(find(), Optional(ElementsAre("uid-a")));
}

Pod Member(const std::string& text, int min_count) {
  Pod pod = PodFromText(text);
  pod.gang = "gang";
  pod.gang_min_count = min_count;
  return pod;
}

// volcano 5984, 4643: of three members two are needed: one may go. Where all are needed, all go
// together, and only where all are on the node.
TEST(VictimFinderTest, OfAGangTheSurplusGoesOrAll) {
  const auto gang = [](int min_count) {
    return std::vector<Pod>{Member("a nvidia.com/gpu=1 node=n", min_count),
                            Member("b nvidia.com/gpu=1 node=n", min_count),
                            Member("c nvidia.com/gpu=1 node=n", min_count)};
  };
  const std::string one = "p nvidia.com/gpu=1 priority=10";
  const std::string two = "p nvidia.com/gpu=2 priority=10";
  EXPECT_THAT(Find(SnapshotOf({WholeInventory("n", 3)}, gang(2)), one),
              Optional(ElementsAre("uid-a")));
  EXPECT_EQ(Find(SnapshotOf({WholeInventory("n", 3)}, gang(2)), two), std::nullopt);
  EXPECT_THAT(Find(SnapshotOf({WholeInventory("n", 3)}, gang(3)), one),
              Optional(ElementsAre("uid-a", "uid-b", "uid-c")));
  std::vector<Pod> spread = gang(4);
  spread.push_back(Member("d nvidia.com/gpu=1 node=m", 4));
  EXPECT_EQ(Find(SnapshotOf({WholeInventory("n", 3), WholeInventory("m", 1)}, spread), one),
            std::nullopt);
}

// Of three members two are needed, and x leaves another node: none is left over. Without a it would
// be b alone.
TEST(VictimFinderTest, WhoLeavesIsNoMemberOfAGangAnyMore) {
  Pod leaving = Member("x nvidia.com/gpu=1 node=m", 2);
  leaving.is_terminating = true;
  const std::vector<Pod> running = {Member("a nvidia.com/gpu=1 node=n", 2),
                                    Member("b nvidia.com/gpu=1 node=n", 2)};
  std::vector<Pod> pods = running;
  pods.push_back(leaving);
  const std::string one = "p nvidia.com/gpu=1 priority=10";
  EXPECT_THAT(Find(SnapshotOf({WholeInventory("n", 2), WholeInventory("m", 1)}, pods), one),
              Optional(ElementsAre("uid-a", "uid-b")));
  // On the same node its GPU comes free, and nobody else goes.
  leaving.node_name = "n";
  pods.back() = leaving;
  EXPECT_THAT(Find(SnapshotOf({WholeInventory("n", 3)}, pods), one),
              Optional(ElementsAre("uid-x")));
  // The rest of the gang is elsewhere.
  pods = {running[0], leaving, Member("b nvidia.com/gpu=1 node=m", 2)};
  EXPECT_EQ(Find(SnapshotOf({WholeInventory("n", 2), WholeInventory("m", 1)}, pods),
                 "p nvidia.com/gpu=2 priority=10"),
            std::nullopt);
}

// The one that has run longer loses more: 50,000 s against 10 s of one GPU.
TEST(VictimFinderTest, OfEqualsTheOneGoesThatLosesLess) {
  const Snapshot snapshot = SnapshotOf({WholeInventory("n", 2)},
                                       {PodFromText("a nvidia.com/gpu=1 node=n created=50000"),
                                        PodFromText("b nvidia.com/gpu=1 node=n created=99990")});
  EXPECT_THAT(Find(snapshot, "p nvidia.com/gpu=1 priority=10"), Optional(ElementsAre("uid-b")));
}

DisruptionBudget BudgetOf(const std::string& app, std::int64_t allowed) {
  return {.name_space = "default",
          .name = app,
          .selector = {{.key = "app", .values = {app}}},
          .disruptions_allowed = allowed,
          .disrupted_pods = {}};
}

// a would be the victim, by its priority; its budget allows none.
TEST(VictimFinderTest, ABudgetIsViolatedLastAndCounted) {
  Pod a = PodFromText("a nvidia.com/gpu=1 node=n priority=0");
  a.labels = {{"app", "a"}};
  const Pod b = PodFromText("b nvidia.com/gpu=1 node=n priority=5");
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2)}, {a, b});
  snapshot.SetDisruptionBudgets(std::make_shared<const std::vector<DisruptionBudget>>(
      std::vector<DisruptionBudget>{BudgetOf("a", 0)}));
  const auto find = [&](const std::string& text, const PreemptionCandidate& named) {
    const Pod pod = PodFromText(text);
    const Policy policy;
    VictimFinder finder(snapshot, pod, policy, Prefilter::kByKubeScheduler, kNowS);
    return finder.Find(named);
  };
  const auto one = find("p nvidia.com/gpu=1 priority=10", {.node_name = "n", .victim_uids = {}});
  ASSERT_TRUE(one);
  EXPECT_THAT(one->victim_uids, ElementsAre("uid-b"));
  EXPECT_EQ(one->pdb_violations, 0);
  const auto two = find("p nvidia.com/gpu=2 priority=10",
                        {.node_name = "n", .victim_uids = {"uid-b"}, .pdb_violations = 0});
  ASSERT_TRUE(two);
  EXPECT_EQ(two->pdb_violations, 1);
  // What kube-scheduler counted of its own victims stands.
  const auto named = find("p nvidia.com/gpu=1 priority=10",
                          {.node_name = "n", .victim_uids = {"uid-b"}, .pdb_violations = 3});
  EXPECT_EQ(named->pdb_violations, 3);
}

TEST(VictimFinderTest, WhoLeavesAlreadyGoesBeforeWhoWouldRunOn) {
  Pod ending = PodFromText("z nvidia.com/gpu=1 node=n priority=9");
  ending.is_terminating = true;
  const Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 2)}, {ending, PodFromText("a nvidia.com/gpu=1 node=n")});
  EXPECT_THAT(Find(snapshot, "p nvidia.com/gpu=1 priority=10"), Optional(ElementsAre("uid-z")));
}

// b may not go, and of those that may, a frees too little CPU: y goes, though it is dearer.
TEST(VictimFinderTest, ASwapIsTheCheapestOfThoseThatFreeEnough) {
  Policy policy;
  policy.preemption.protected_bands = {{.from = 5, .to = 20}};
  const Snapshot snapshot = SnapshotOf(
      {WholeInventory("n", 3)}, {PodFromText("a nvidia.com/gpu=1 node=n priority=0 cpu=1000"),
                                 PodFromText("y nvidia.com/gpu=1 node=n priority=1 cpu=2000"),
                                 PodFromText("b nvidia.com/gpu=1 node=n priority=5 cpu=2000")});
  EXPECT_THAT(Find(snapshot, "p nvidia.com/gpu=1 priority=10", {"uid-b"}, policy),
              Optional(ElementsAre("uid-y")));
}

TEST(VictimFinderTest, ASlotIsFreedOnSharedGpus) {
  const Snapshot snapshot = SnapshotOf(
      {SharedInventory("n", binpack::Sharing::kTimeSlicing, 1, 2)},
      {PodFromText("a nvidia.com/gpu=1 node=n"), PodFromText("b nvidia.com/gpu=1 node=n")});
  EXPECT_THAT(Find(snapshot, "p nvidia.com/gpu=1 priority=10"), Optional(ElementsAre("uid-a")));
}

}  // namespace
}  // namespace offcut::scheduler
