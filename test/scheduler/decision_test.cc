#include "scheduler/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::PodFromText;
using ::offcut::testing::PoolInventory;
using ::offcut::testing::SharedInventory;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;
using ::testing::ElementsAre;

constexpr auto kWire = Prefilter::kByKubeScheduler;
constexpr std::int64_t kNowS = 1'000;

Reason ReasonOn(const Snapshot& snapshot, const Pod& pod, const std::string& node,
                Prefilter prefilter = kWire, const Policy& policy = {}) {
  const std::vector<std::string> names = {node};
  return Filter(snapshot, pod, names, policy, prefilter)[0].reason;
}

std::vector<Reason> ReasonsOn(const Snapshot& snapshot, const Pod& pod,
                              const std::vector<std::string>& nodes) {
  std::vector<Reason> reasons;
  for (const Verdict& verdict : Filter(snapshot, pod, nodes, {}, kWire)) {
    reasons.push_back(verdict.reason);
  }
  return reasons;
}

// Reserves and confirms, as a bind does in file mode.
Reservation Bind(Snapshot& snapshot, const Pod& pod, const std::string& node) {
  Reservation reservation = Reserve(snapshot, pod, node, {}, kWire);
  if (reservation.verdict.fits()) snapshot.Confirm(pod.uid);
  return reservation;
}

TEST(FilterTest, ReadsNvidiaComGpuAsWhatTheNodeAdvertises) {
  auto single = PoolInventory("single", "H100-80GB-SXM", {{"1g.10gb", 7, 0}});
  single.offers = {{"nvidia.com/gpu", OfferKind::kInstances, 0}};
  const Snapshot snapshot =
      SnapshotOf({WholeInventory("whole", 2), single,
                  SharedInventory("slots", binpack::Sharing::kTimeSlicing, 1, 4)});
  EXPECT_THAT(ReasonsOn(snapshot, PodFromText("p nvidia.com/gpu=4"), {"whole", "single", "slots"}),
              ElementsAre(Reason::kExceedsNode, Reason::kFits, Reason::kFits));
}

TEST(FilterTest, LetsAPodThatAsksForNoDevicePassEverywhere) {
  auto closed = WholeInventory("closed", 1);
  closed.closed = Reason::kNodeReconfiguring;
  const Snapshot snapshot = SnapshotOf({closed});
  EXPECT_THAT(ReasonsOn(snapshot, PodFromText("p cpu=1000"), {"closed", "never-heard-of"}),
              ElementsAre(Reason::kFits, Reason::kFits));
}

TEST(FilterTest, RefusesAnUnknownNodeByItsOwnReason) {
  EXPECT_EQ(ReasonOn({}, PodFromText("p nvidia.com/gpu=1"), "n"), Reason::kNodeUnknown);
}

TEST(FilterTest, RefusesAClosedNodeByTheNodesReason) {
  auto closed = WholeInventory("n", 1);
  closed.closed = Reason::kNodeMigInvalid;
  EXPECT_EQ(ReasonOn(SnapshotOf({closed}), PodFromText("p nvidia.com/gpu=1"), "n"),
            Reason::kNodeMigInvalid);
}

// kube-scheduler offers a cordoned node to pods that tolerate it, such as a DaemonSet's.
TEST(FilterTest, LeavesTheCordonToKubeSchedulerOrChecksItItself) {
  auto cordoned = WholeInventory("n", 1);
  cordoned.closed = Reason::kNodeCordoned;
  Snapshot snapshot = SnapshotOf({cordoned});
  const Pod pod = PodFromText("p nvidia.com/gpu=1");
  EXPECT_EQ(ReasonOn(snapshot, pod, "n", Prefilter::kNone), Reason::kNodeCordoned);
  EXPECT_EQ(ReasonOn(snapshot, pod, "n", kWire), Reason::kFits);
  EXPECT_EQ(Score(snapshot, pod, std::vector<std::string>{"n"}, {}, kWire)[0], kScoreMax);
  EXPECT_TRUE(Bind(snapshot, pod, "n").verdict.fits());
  EXPECT_EQ(ReasonOn(snapshot, PodFromText("q nvidia.com/gpu=1"), "n", kWire), Reason::kGpusTaken);
}

// kube-scheduler counts nvidia.com/gpu and still offers the node: dynamic resource allocation
// serves it there. It does not count gpumem, so it offers every node.
TEST(FilterTest, PassesANodeThatLacksACountedResourceOnlyBehindKubeScheduler) {
  Inventory bare{.name = "bare"};
  bare.devices.allocatable = {.cpu_milli = 1'000, .memory_bytes = 1'000, .pods = 10};
  const Snapshot snapshot = SnapshotOf({bare});
  const Pod pod = PodFromText("p nvidia.com/gpu=1");
  EXPECT_EQ(ReasonOn(snapshot, pod, "bare", kWire), Reason::kFits);
  EXPECT_EQ(ReasonOn(snapshot, pod, "bare", Prefilter::kNone), Reason::kResourceNotOffered);
  Policy ignored;
  ignored.resources.ignored_by_scheduler = {"nvidia.com/gpu"};
  EXPECT_EQ(ReasonOn(snapshot, pod, "bare", kWire, ignored), Reason::kResourceNotOffered);
}

TEST(FilterTest, RefusesFractionsWhereNoAgentServesThem) {
  Pod pod = PodFromText("p");
  pod.containers[0].fraction = binpack::Fraction{.gpus = 1, .memory_mib = 4'000};
  pod.request = EffectiveRequest(pod.containers, {});
  EXPECT_EQ(ReasonOn(SnapshotOf({WholeInventory("n", 4)}), pod, "n"), Reason::kFractionsNotServed);
}

TEST(FilterTest, RefusesTwoSlotsForOneContainerWhereThePluginFailsThem) {
  const Snapshot snapshot =
      SnapshotOf({SharedInventory("mps", binpack::Sharing::kMps, 2, 4),
                  SharedInventory("slices", binpack::Sharing::kTimeSlicing, 2, 4)});
  EXPECT_THAT(ReasonsOn(snapshot, PodFromText("p nvidia.com/gpu=2"), {"mps", "slices"}),
              ElementsAre(Reason::kSlotsPerContainer, Reason::kFits));
  Pod two_containers = PodFromText("q nvidia.com/gpu=1");
  two_containers.containers.push_back(two_containers.containers[0]);
  two_containers.request = EffectiveRequest(two_containers.containers, {});
  EXPECT_EQ(ReasonOn(snapshot, two_containers, "mps"), Reason::kFits);
}

TEST(FilterTest, LeavesHostResourcesToKubeSchedulerOrChecksThemItself) {
  auto node = WholeInventory("n", 1);
  node.devices.allocatable.cpu_milli = 500;
  const Snapshot snapshot = SnapshotOf({node});
  const Pod pod = PodFromText("p nvidia.com/gpu=1 cpu=1000");
  EXPECT_EQ(ReasonOn(snapshot, pod, "n", kWire), Reason::kFits);
  EXPECT_EQ(ReasonOn(snapshot, pod, "n", Prefilter::kNone), Reason::kHostCpu);
}

TEST(FilterTest, OffersAPodThatHoldsDevicesItsOwnNodeOnly) {
  Snapshot snapshot = SnapshotOf({WholeInventory("a", 1), WholeInventory("b", 1)});
  const Pod pod = PodFromText("p nvidia.com/gpu=1");
  ASSERT_TRUE(Bind(snapshot, pod, "a").verdict.fits());
  EXPECT_THAT(ReasonsOn(snapshot, pod, {"a", "b"}),
              ElementsAre(Reason::kFits, Reason::kPodReservedElsewhere));
}

TEST(FilterTest, SurvivesACountThatNoIntegerHolds) {
  const Snapshot snapshot = SnapshotOf({WholeInventory("n", 8)});
  EXPECT_EQ(ReasonOn(snapshot, PodFromText("p nvidia.com/gpu=9223372036854775807"), "n"),
            Reason::kExceedsNode);
}

TEST(RefusalTest, IsUnresolvableByDefaultExceptOnTheNominatedNode) {
  const Pod pod = PodFromText("p nvidia.com/gpu=1 nominated=n");
  EXPECT_FALSE(IsPreemptable(Reason::kGpusTaken, pod, "m", Refusals::kUnresolvable));
  EXPECT_TRUE(IsPreemptable(Reason::kGpusTaken, pod, "n", Refusals::kUnresolvable));
}

TEST(RefusalTest, IsPreemptableWhereEvictionsMayHelpIfThePolicySaysSo) {
  const Pod pod = PodFromText("p nvidia.com/gpu=1");
  EXPECT_TRUE(IsPreemptable(Reason::kGpusTaken, pod, "n", Refusals::kPreemptable));
  EXPECT_FALSE(IsPreemptable(Reason::kExceedsNode, pod, "n", Refusals::kPreemptable));
}

TEST(RefusalTest, OfALayoutInTheMakingIsUnresolvableInEveryMode) {
  const Pod pod = PodFromText("p nvidia.com/gpu=1 nominated=n");
  for (const Reason reason : {Reason::kNodeReconfiguring, Reason::kNodeMigInvalid}) {
    EXPECT_FALSE(IsPreemptable(reason, pod, "n", Refusals::kPreemptable));
    EXPECT_FALSE(IsPreemptable(reason, pod, "n", Refusals::kUnresolvable));
  }
}

// What the arithmetic of these scores is about.
Policy BestFit() {
  Policy policy;
  policy.packing = binpack::PreparePacking("best-fit");
  return policy;
}

// GPUs left after one more is taken: a 8 - 0 - 1 = 7, b 8 - 6 - 1 = 1, c 4 - 0 - 1 = 3.
TEST(ScoreTest, GivesTenToTheTightestNodeAndNothingToTheOthers) {
  const Snapshot snapshot =
      SnapshotOf({WholeInventory("a", 8), WholeInventory("b", 8), WholeInventory("c", 4)},
                 {PodFromText("held nvidia.com/gpu=6 node=b")});
  const std::vector<std::string> names = {"a", "b", "c"};
  EXPECT_THAT(Score(snapshot, PodFromText("p nvidia.com/gpu=1"), names, BestFit(), kWire),
              ElementsAre(0, 10, 0));
}

// Three distinct costs: ranks 0, 1, 2 of 2 give 10, 5, 0.
TEST(ScoreTest, SpreadsRanksWhereThePolicyOrThePodAsksForIt) {
  const Snapshot snapshot =
      SnapshotOf({WholeInventory("a", 8), WholeInventory("b", 8), WholeInventory("c", 4)},
                 {PodFromText("held nvidia.com/gpu=6 node=b")});
  const std::vector<std::string> names = {"a", "b", "c"};
  Policy proportional = BestFit();
  proportional.scores = Scores::kProportional;
  Pod pod = PodFromText("p nvidia.com/gpu=1");
  EXPECT_THAT(Score(snapshot, pod, names, proportional, kWire), ElementsAre(0, 10, 5));
  pod.has_soft_constraints = true;
  EXPECT_THAT(Score(snapshot, pod, names, BestFit(), kWire), ElementsAre(0, 10, 5));
}

// Equal nodes: the name decides. Then both leave 3 GPUs: b is fuller (5 of 8 taken against 1 of 4).
// of 8.
TEST(ScoreTest, BreaksTiesByFillLevelThenName) {
  const Snapshot equal = SnapshotOf({WholeInventory("b", 4), WholeInventory("a", 4)});
  const std::vector<std::string> names = {"b", "a"};
  const Pod pod = PodFromText("p nvidia.com/gpu=1");
  EXPECT_THAT(Score(equal, pod, names, BestFit(), kWire), ElementsAre(0, 10));

  const Snapshot fuller = SnapshotOf({WholeInventory("b", 8), WholeInventory("a", 4)},
                                     {PodFromText("held nvidia.com/gpu=4 node=b")});
  EXPECT_THAT(Score(fuller, pod, names, BestFit(), kWire), ElementsAre(10, 0));
  Policy by_name = BestFit();
  by_name.ties = Ties::kName;
  EXPECT_THAT(Score(fuller, pod, names, by_name, kWire), ElementsAre(0, 10));
}

TEST(ScoreTest, GivesNothingToNodesWhereThePodDoesNotFit) {
  const Snapshot snapshot = SnapshotOf({WholeInventory("a", 1), WholeInventory("b", 2)});
  const std::vector<std::string> names = {"a", "unknown", "b"};
  EXPECT_THAT(Score(snapshot, PodFromText("p nvidia.com/gpu=2"), names, {}, kWire),
              ElementsAre(0, 0, 10));
  EXPECT_THAT(Score(snapshot, PodFromText("p nvidia.com/gpu=9"), names, {}, kWire),
              ElementsAre(0, 0, 0));
}

// kube-scheduler offers the bare node because DRA serves it: it passes, and leaves the ten points
// to a node whose devices are ours to place.
TEST(ScoreTest, PrefersNodesWhoseDevicesAreOurs) {
  const Snapshot snapshot = SnapshotOf({Inventory{.name = "bare"}, WholeInventory("whole", 8)});
  const std::vector<std::string> names = {"bare", "whole"};
  EXPECT_THAT(Score(snapshot, PodFromText("p nvidia.com/gpu=1"), names, {}, kWire),
              ElementsAre(0, 10));
}

TEST(ReserveTest, RecordsTheDevicesAsAssumedWhereTheKubeletPicks) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2)});
  const Reservation reservation = Bind(snapshot, PodFromText("p nvidia.com/gpu=1"), "n");
  ASSERT_TRUE(reservation.verdict.fits());
  EXPECT_TRUE(reservation.is_new);
  const DeviceRecord& record = reservation.record;
  EXPECT_EQ(record.pod_uid, "uid-p");
  EXPECT_EQ(record.node, "n");
  EXPECT_EQ(record.certainty, Certainty::kAssumed);
  EXPECT_THAT(record.devices,
              ElementsAre(RecordedDevice{.container = "main", .gpu = 0, .memory_mib = 81'920}));
  EXPECT_EQ(record.charge, quota::ChargeWholeGpu(81'920));
}

TEST(ReserveTest, RefusesOnTheNewestStateWhatFilterStillAllowed) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 1)});
  const Pod first = PodFromText("first nvidia.com/gpu=1");
  const Pod second = PodFromText("second nvidia.com/gpu=1");
  const Snapshot stale = snapshot;
  ASSERT_EQ(ReasonOn(stale, second, "n"), Reason::kFits);
  ASSERT_TRUE(Bind(snapshot, first, "n").verdict.fits());
  EXPECT_EQ(Bind(snapshot, second, "n").verdict.reason, Reason::kGpusTaken);
  EXPECT_EQ(ReasonOn(stale, second, "n"), Reason::kFits) << "a published snapshot never changes";
}

TEST(ReserveTest, IsIdempotentOnTheSameNodeAndRefusesAnother) {
  Snapshot snapshot = SnapshotOf({WholeInventory("a", 1), WholeInventory("b", 1)});
  const Pod pod = PodFromText("p nvidia.com/gpu=1");
  const Reservation first = Bind(snapshot, pod, "a");
  const Reservation again = Bind(snapshot, pod, "a");
  EXPECT_TRUE(again.verdict.fits());
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(again.record, first.record);
  EXPECT_EQ(Bind(snapshot, pod, "b").verdict.reason, Reason::kPodReservedElsewhere);
}

// Two app containers get their own GPU each; the init container's third belongs to nobody else.
TEST(ReserveTest, NamesTheContainerOfEachDevice) {
  Pod pod = PodFromText("p nvidia.com/gpu=1");
  pod.containers = {
      {.name = "init", .kind = ContainerKind::kInit, .devices = {{"nvidia.com/gpu", 3}}},
      {.name = "a", .devices = {{"nvidia.com/gpu", 1}}},
      {.name = "b", .devices = {{"nvidia.com/gpu", 1}}}};
  pod.request = EffectiveRequest(pod.containers, {});
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 4)});
  std::vector<std::string> containers;
  for (const RecordedDevice& device : Bind(snapshot, pod, "n").record.devices) {
    containers.push_back(device.container);
  }
  EXPECT_THAT(containers, ElementsAre("a", "b", "init"));
}

// 3g is 4 of 8 slices: 1400 x 4 / 8 = 700; 1g is 1 of 8: 175. Compute is 3/7 and 1/7.
TEST(ReserveTest, ChargesInstancesByTheirShareOfMemory) {
  Snapshot snapshot =
      SnapshotOf({PoolInventory("n", "A100-40GB", {{"1g.5gb", 4, 0}, {"3g.20gb", 2, 0}})});
  const Reservation reservation =
      Bind(snapshot, PodFromText("p nvidia.com/mig-1g.5gb=1 nvidia.com/mig-3g.20gb=1"), "n");
  ASSERT_TRUE(reservation.verdict.fits());
  EXPECT_EQ(reservation.record.charge.devices, 875);
  EXPECT_EQ(reservation.record.charge.cores_permille, 142 + 428);
  EXPECT_THAT(reservation.record.charge.instances,
              ElementsAre(std::pair("1g.5gb", 1), std::pair("3g.20gb", 1)));
  for (const RecordedDevice& device : reservation.record.devices) {
    EXPECT_EQ(device.start, -1) << "starts of static instances are never known";
  }
}

class PreemptTest : public ::testing::Test {
 protected:
  // n: low-1 and low-2 hold one GPU each of two. m: high holds the only GPU.
  Snapshot snapshot_ = SnapshotOf({WholeInventory("n", 2), WholeInventory("m", 1)},
                                  {PodFromText("low-1 nvidia.com/gpu=1 node=n priority=-10"),
                                   PodFromText("low-2 nvidia.com/gpu=1 node=n priority=0"),
                                   PodFromText("high nvidia.com/gpu=1 node=m priority=100")});
  std::vector<PreemptionCandidate> Run(const Pod& pod,
                                       std::vector<PreemptionCandidate> candidates) {
    return Preempt(snapshot_, pod, candidates, {}, kWire, kNowS);
  }
};

TEST_F(PreemptTest, KeepsACandidateWhereThePodFitsWithTheVictimsGone) {
  const auto kept = Run(PodFromText("p nvidia.com/gpu=1 priority=50"), {{"n", {"uid-low-1"}, 1}});
  ASSERT_THAT(kept, ::testing::SizeIs(1));
  EXPECT_EQ(kept[0].node_name, "n");
  EXPECT_THAT(kept[0].victim_uids, ElementsAre("uid-low-1"));
  EXPECT_EQ(kept[0].pdb_violations, 1);
}

TEST_F(PreemptTest, AddsVictimsWhereThoseNamedAreNotEnough) {
  const auto kept = Run(PodFromText("p nvidia.com/gpu=2 priority=50"), {{"n", {"uid-low-1"}}});
  ASSERT_THAT(kept, ::testing::SizeIs(1));
  EXPECT_THAT(kept[0].victim_uids, ElementsAre("uid-low-2", "uid-low-1"));
}

TEST_F(PreemptTest, DropsACandidateWhereNotEvenAllVictimsAreEnough) {
  EXPECT_TRUE(Run(PodFromText("p nvidia.com/gpu=2 priority=0"), {{"n", {"uid-low-1"}}}).empty());
  EXPECT_TRUE(Run(PodFromText("p nvidia.com/gpu=3 priority=50"), {{"n", {"uid-low-1"}}}).empty());
}

// A placeholder of schedulers that ask although they see room: of equal cost, the lower priority.
TEST_F(PreemptTest, NamesVictimsWhereNobodyIsNamed) {
  const auto kept = Run(PodFromText("p nvidia.com/gpu=1 priority=50"), {{"n", {}}});
  ASSERT_THAT(kept, ::testing::SizeIs(1));
  EXPECT_THAT(kept[0].victim_uids, ElementsAre("uid-low-1"));
}

TEST_F(PreemptTest, OrdersVictimsByDescendingPriority) {
  const auto kept =
      Run(PodFromText("p nvidia.com/gpu=2 priority=50"), {{"n", {"uid-low-1", "uid-low-2"}}});
  ASSERT_THAT(kept, ::testing::SizeIs(1));
  EXPECT_THAT(kept[0].victim_uids, ElementsAre("uid-low-2", "uid-low-1"));
}

TEST_F(PreemptTest, DropsACandidateWithAVictimOfNoLowerPriority) {
  EXPECT_TRUE(Run(PodFromText("p nvidia.com/gpu=1 priority=100"), {{"m", {"uid-high"}}}).empty());
}

TEST_F(PreemptTest, DropsACandidateThatIsUnknownOrHasVictimsElsewhereOrNeedsNone) {
  snapshot_.PutNode(WholeInventory("free", 1));
  const Pod pod = PodFromText("p nvidia.com/gpu=1 priority=200");
  EXPECT_TRUE(Run(pod, {{"free", {}}, {"x", {"uid-low-1"}}, {"m", {"uid-low-1"}}}).empty());
}

TEST_F(PreemptTest, KeepsAVictimThatOnlyKubeSchedulerKnowsYet) {
  const auto kept =
      Run(PodFromText("p nvidia.com/gpu=1 priority=50"), {{"n", {"uid-assumed", "uid-low-2"}}});
  ASSERT_THAT(kept, ::testing::SizeIs(1));
  EXPECT_THAT(kept[0].victim_uids, ElementsAre("uid-low-2", "uid-assumed"));
}

// Two GPUs, two holders; low-1 gone leaves one, and that is meant for the nominated pod.
TEST_F(PreemptTest, RoomThatIsMeantForANominatedPodIsNoRoom) {
  const Pod pod = PodFromText("p nvidia.com/gpu=1 priority=50");
  snapshot_.PutPod(PodFromText("boss nvidia.com/gpu=1 priority=100 nominated=n"));
  const auto victims = [&] { return Run(pod, {{"n", {"uid-low-1"}}}).at(0).victim_uids; };
  EXPECT_THAT(victims(), ElementsAre("uid-low-2", "uid-low-1"));
  snapshot_.PutPod(PodFromText("boss nvidia.com/gpu=1 priority=49 nominated=n"));
  EXPECT_THAT(victims(), ElementsAre("uid-low-1"));
}

// kube-scheduler has assumed it and names it as a victim; to us it has but a claim.
TEST_F(PreemptTest, CountsNoClaimOfAVictim) {
  const auto claimer = std::make_shared<const Pod>(PodFromText("claimer nvidia.com/gpu=1"));
  snapshot_.RemovePod("uid-low-1");
  snapshot_.Claim(claimer, "n");
  const Pod pod = PodFromText("p nvidia.com/gpu=1 priority=50");
  const auto victims = [&](const std::string& uid) {
    return Run(pod, {{"n", {uid}}}).at(0).victim_uids;
  };
  EXPECT_THAT(victims("uid-other"), ElementsAre("uid-low-2", "uid-other"));
  EXPECT_THAT(victims("uid-claimer"), ElementsAre("uid-claimer"));
}

// Its binding may have been made: whoever is evicted elsewhere would be evicted for nothing.
TEST_F(PreemptTest, EvictsNobodyForAPodThatHoldsDevices) {
  const Pod pod = PodFromText("p nvidia.com/gpu=1 priority=50");
  snapshot_.PutNode(WholeInventory("free", 1));
  snapshot_.PutPod(pod);
  EXPECT_THAT(Run(pod, {{"n", {"uid-low-1"}}}), ::testing::SizeIs(1));
  ASSERT_TRUE(Reserve(snapshot_, pod, "free", {}, kWire).verdict.fits());
  EXPECT_TRUE(Run(pod, {{"n", {"uid-low-1"}}}).empty());
}

TEST_F(PreemptTest, PassesOnWhatAPodWithoutDevicesWouldEvict) {
  EXPECT_THAT(Run(PodFromText("p cpu=1 priority=50"), {{"n", {"uid-low-1"}}}),
              ::testing::SizeIs(1));
}

// Both GPUs of n are held at priorities -10 and 0, the one of m at 100.
TEST_F(PreemptTest, AwaitsTheNominatedNodeThatLowerPrioritiesAloneKeepItFrom) {
  const auto awaits = [&](std::string_view text) {
    return AwaitsNominatedNode(snapshot_, PodFromText(text), {}, kWire);
  };
  EXPECT_TRUE(awaits("p nvidia.com/gpu=2 priority=50 nominated=n"));
  EXPECT_FALSE(awaits("p nvidia.com/gpu=2 priority=0 nominated=n")) << "low-2 is its equal";
  EXPECT_FALSE(awaits("p nvidia.com/gpu=3 priority=50 nominated=n")) << "there are but two";
  EXPECT_FALSE(awaits("p nvidia.com/gpu=1 priority=50 nominated=m"));
  EXPECT_FALSE(awaits("p nvidia.com/gpu=1 priority=50 nominated=unknown"));
  EXPECT_FALSE(awaits("p nvidia.com/gpu=1 priority=50"));
}

TEST_F(PreemptTest, AwaitsNoNodeThatIsMeantForAnother) {
  const Pod pod = PodFromText("p nvidia.com/gpu=2 priority=50 nominated=n");
  snapshot_.PutPod(PodFromText("boss nvidia.com/gpu=1 priority=100 nominated=n"));
  EXPECT_FALSE(AwaitsNominatedNode(snapshot_, pod, {}, kWire));
}

TEST_F(PreemptTest, AwaitsNoNodeWhoseNominationHasLapsed) {
  const Pod pod = PodFromText("p nvidia.com/gpu=2 priority=50 nominated=n");
  snapshot_.PutPod(pod);
  EXPECT_TRUE(AwaitsNominatedNode(snapshot_, pod, {}, kWire));
  snapshot_.LapseNomination("uid-p");
  EXPECT_FALSE(AwaitsNominatedNode(snapshot_, pod, {}, kWire));
}

TEST(ReasonTest, HasOneShortConstantTextAndOneCodeForEachReason) {
  std::set<std::string_view> texts;
  std::set<std::string_view> codes;
  for (const ReasonInfo& info : Reasons()) {
    EXPECT_EQ(&InfoOf(info.reason), &info);
    EXPECT_TRUE(texts.insert(info.text).second) << info.text;
    EXPECT_TRUE(codes.insert(info.code).second) << info.code;
    EXPECT_LE(info.text.size(), 80U);
    EXPECT_EQ(info.text.find_first_of("0123456789"), std::string_view::npos) << info.text;
    EXPECT_NE(info.text.back(), '.');
  }
}

// It may hold any of them: nobody else gets one until it has left.
TEST(FilterTest, ANodeWithAHolderThatCannotBeReadTakesNoPodThatAsksForDevices) {
  Pod unreadable = PodFromText("p node=n");
  unreadable.is_unreadable = true;
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2)}, {unreadable});
  const std::vector<std::string> names = {"n"};
  const auto verdict_of = [&](std::string_view pod) {
    return Filter(snapshot, PodFromText(pod), names, {}, Prefilter::kNone)[0].reason;
  };
  EXPECT_EQ(verdict_of("q nvidia.com/gpu=1"), Reason::kNodeHolderUnreadable);
  EXPECT_EQ(verdict_of("q"), Reason::kFits);
  auto cordoned = WholeInventory("n", 2);
  cordoned.closed = Reason::kNodeCordoned;
  snapshot.PutNode(cordoned);
  EXPECT_EQ(ReasonOn(snapshot, PodFromText("q nvidia.com/gpu=1"), "n"),
            Reason::kNodeHolderUnreadable);
  snapshot.PutNode(WholeInventory("n", 2));
  snapshot.RemovePod("uid-p");
  EXPECT_EQ(verdict_of("q nvidia.com/gpu=1"), Reason::kFits);
}

// It holds the one GPU that it names; what it says of shares nobody reads there.
TEST(FilterTest, SharesThatCannotBeReadMatterOnNodesWithFractionsAlone) {
  Pod odd = PodFromText("p nvidia.com/gpu=1 node=n");
  odd.has_unreadable_shares = true;
  Inventory node = WholeInventory("n", 2);
  EXPECT_EQ(ReasonOn(SnapshotOf({node}, {odd}), PodFromText("q nvidia.com/gpu=1"), "n"),
            Reason::kFits);
  EXPECT_EQ(ReasonOn(SnapshotOf({node}, {odd}), PodFromText("q nvidia.com/gpu=2"), "n"),
            Reason::kGpusTaken);
  node.serves_fractions = true;
  EXPECT_EQ(ReasonOn(SnapshotOf({node}, {odd}), PodFromText("q nvidia.com/gpu=1"), "n"),
            Reason::kNodeHolderUnreadable);
}

}  // namespace
}  // namespace offcut::scheduler
