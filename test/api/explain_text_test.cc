#include "api/explain_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scheduler/packing.h"
#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using ::offcut::testing::PodFromText;
using ::offcut::testing::PoolInventory;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// b has 8 GPUs of which 6 are held, so it is the tighter one: 1/8 of the GPUs is left there and 7/8
// on a; on both 96 of 128 CPUs. b: (12.5 % + 75 %) / 2 = 43.75, a: (87.5 % + 75 %) / 2 = 81.25,
// rounded up; of these the GPUs are ceil(6.25) and ceil(43.75).
scheduler::Snapshot World() {
  return SnapshotOf(
      {WholeInventory("a", 8), WholeInventory("b", 8),
       PoolInventory("mig", "A100-40GB", {{"1g.5gb", 4, 0}})},
      {PodFromText("held nvidia.com/gpu=6 node=b"), PodFromText("one nvidia.com/gpu=1"),
       PodFromText("nine nvidia.com/gpu=9"), PodFromText("slice nvidia.com/mig-1g.5gb=1")});
}

scheduler::Policy BestFit() {
  scheduler::Policy policy;
  policy.packing = binpack::PreparePacking("best-fit");
  return policy;
}

TEST(ExplainTextTest, TellsWhereAPodWouldGoAndWhatEachNodeCosts) {
  const std::string text = PrintExplanation(scheduler::Explain(World(), "uid-one", BestFit()));
  EXPECT_THAT(
      text,
      StartsWith("pod default/one asks for 1 x nvidia.com/gpu; priority 0\n"
                 "it fits on 2 of 3 nodes; would go to b and get GPU 6 "
                 "(assumed: the kubelet picks)\n"
                 "(decides nothing here, since kube-scheduler decides on it: taints and volumes)\n"
                 "\n"
                 "node  score    cost  terms, or why not\n"
                 "b        10      44  gpu_left 7 + cpu_left 37\n"
                 "a         0      82  gpu_left 44 + cpu_left 38\n"
                 "mig       -       -  node does not offer the requested GPU resource "
                 "(resource.not-offered)\n"
                 "\n"
                 "b  8 x A100-80GB, whole"));
  EXPECT_THAT(text, HasSubstr("5  │■ held"));
  EXPECT_THAT(text, HasSubstr("6  │· free"));
}

// Jobs of eight GPUs are 99 % of what is expected: of 16 GPUs about two nodes, and one is free.
TEST(ExplainTextTest, SaysThatWholeNodesAreShortAndWhatThatDoesToCosts) {
  scheduler::Policy policy;
  const auto whole = [](int gpus) {
    return binpack::ExpectedRequest{
        .kind = binpack::DemandKind::kShare, .gpus = gpus, .share_units = binpack::kGpuUnits};
  };
  policy.target_workload = binpack::TargetWorkload{{{whole(8), 99}, {whole(1), 8}}};
  scheduler::Snapshot snapshot = World();
  snapshot.SetPacking(RenewedPacking(snapshot, policy));
  const auto explanation = scheduler::Explain(snapshot, "uid-one", policy);
  const std::string text = PrintExplanation(explanation);
  EXPECT_THAT(text, HasSubstr("2 jobs of a whole node (8 GPUs) are expected, and 1 such node is "
                              "entirely free. While they are so few,\n"
                              "- to take a part of one costs 2500 more (whole_node);\n"
                              "- costs are rounded up to multiples of 400 before"));
  EXPECT_EQ(ToJson(explanation)["wholeNodes"]["openingCost"], 2'500);
  const auto plenty = scheduler::Explain(World(), "uid-one", BestFit());
  EXPECT_THAT(PrintExplanation(plenty), Not(HasSubstr("entirely free")));
  EXPECT_FALSE(ToJson(plenty).contains("wholeNodes"));
}

// The node that is in use takes the pod: on the other one it would cost the pods that want 8 GPUs.
TEST(ExplainTextTest, NamesTheTargetWorkloadThatCostsGoBy) {
  scheduler::Snapshot world = World();
  world.SetPacking(scheduler::RenewedPacking(world, {}));
  const auto json = ToJson(scheduler::Explain(world, "uid-one", {}));
  EXPECT_EQ(json["strategy"], "offcut");
  EXPECT_EQ(json["targetWorkload"], scheduler::WorkloadText(*world.packing()));
  EXPECT_EQ(json["node"], "b");
  EXPECT_LT(json["nodes"][1]["cost"], json["nodes"][0]["cost"]);
}

TEST(ExplainTextTest, CountsRefusalsAsKubeSchedulerDoesWhereAPodFitsNowhere) {
  EXPECT_THAT(PrintExplanation(scheduler::Explain(World(), "uid-nine", {})),
              HasSubstr("fits nowhere. 0/3 nodes are available: 2 request is larger than the whole "
                        "node, 1 node does not offer the requested GPU resource."));
}

TEST(ExplainTextTest, TellsWhatABoundPodHolds) {
  EXPECT_EQ(PrintExplanation(scheduler::Explain(World(), "uid-held", {})),
            "pod default/held asks for 6 x nvidia.com/gpu; priority 0\n"
            "bound on b\n"
            "holds GPU 0, GPU 1, GPU 2, GPU 3, GPU 4, GPU 5 (assumed: the kubelet picks)\n");
}

TEST(ExplainTextTest, TellsOfAPodWhoseDevicesTheNodeOffersNoMore) {
  auto snapshot = World();
  snapshot.PutNode(PoolInventory("b", "A100-40GB", {{"1g.5gb", 4, 0}}));
  EXPECT_THAT(PrintExplanation(scheduler::Explain(snapshot, "uid-held", {})),
              HasSubstr("holds no device that the node offers now: it was made again"));
}

TEST(ExplainTextTest, ClaimsNoStartForAStaticInstance) {
  EXPECT_THAT(PrintExplanation(scheduler::Explain(World(), "uid-slice", {})),
              HasSubstr("would go to mig and get 1g.5gb (assumed: the kubelet picks)"));
}

// [h h h h . . . .]: 3g.20gb may start at 0 and at 4.
TEST(ExplainTextTest, TellsTheStartOfAnInstanceThatAnAgentMakes) {
  scheduler::Inventory node{.name = "n", .agent = "dynamic-mig", .serves_fractions = true};
  node.offers = {{.resource = "nvidia.com/mig-3g.20gb",
                  .kind = scheduler::OfferKind::kPlacedInstances,
                  .profile = "3g.20gb"}};
  node.devices = ::offcut::testing::MigNode("A100-40GB", {"3g.20gb@0"});
  const auto snapshot = SnapshotOf({node}, {PodFromText("p nvidia.com/mig-3g.20gb=1")});
  EXPECT_THAT(PrintExplanation(scheduler::Explain(snapshot, "uid-p", {})),
              HasSubstr("would go to n and get 3g.20gb at slice 4 of GPU 0"));
}

TEST(ExplainTextTest, GivesAPodWithoutGpusNoNode) {
  const auto snapshot = SnapshotOf({WholeInventory("a", 8)}, {PodFromText("plain cpu=100")});
  EXPECT_EQ(PrintExplanation(scheduler::Explain(snapshot, "uid-plain", {})),
            "pod default/plain asks for no GPU; priority 0\n"
            "no resource of ours (their names stand in the policy, and are matched exactly), so "
            "kube-scheduler does not ask Offcut\n");
}

// HAMi's records name GPUs by UUID alone.
TEST(ExplainTextTest, NamesAGpuByItsUuidWhereTheIndexIsNotKnown) {
  scheduler::Inventory node{.name = "hami", .agent = "hami", .serves_fractions = true};
  node.devices = ::offcut::testing::FractionNode(32'768, {{}, {}});
  scheduler::Pod pod = PodFromText("p node=hami");
  pod.containers[0].fraction = binpack::Fraction{.gpus = 1, .memory_mib = 8'000};
  pod.request = scheduler::EffectiveRequest(pod.containers, {});
  pod.record = scheduler::DeviceRecord{
      .pod_uid = "uid-p",
      .node = "hami",
      .certainty = scheduler::Certainty::kExact,
      .devices = {{.uuid = "GPU-1", .kind = binpack::PieceKind::kFraction, .memory_mib = 8'000}}};
  EXPECT_THAT(PrintExplanation(scheduler::Explain(SnapshotOf({node}, {pod}), "uid-p", {})),
              EndsWith("holds 8000 MiB and 0 % of GPU-1\n"));
}

TEST(ExplainTextTest, CutsTheTableAndSaysSo) {
  EXPECT_THAT(PrintExplanation(scheduler::Explain(World(), "uid-one", {}), {.nodes_max = 1}),
              HasSubstr("... and 2 more\n"));
}

// Three of four nodes that fit are drawn, and the one that does not fit is not.
TEST(ExplainTextTest, DrawsTheFirstNodesWhereThePodFits) {
  const auto snapshot =
      SnapshotOf({WholeInventory("a", 1), WholeInventory("b", 1), WholeInventory("c", 1),
                  WholeInventory("d", 1), PoolInventory("mig", "A100-40GB", {{"1g.5gb", 4, 0}})},
                 {PodFromText("one nvidia.com/gpu=1")});
  const std::string text = PrintExplanation(scheduler::Explain(snapshot, "uid-one", {}));
  EXPECT_THAT(text, HasSubstr("\nc  1 x "));
  EXPECT_THAT(text, Not(HasSubstr("\nd  1 x ")));
  EXPECT_THAT(text, Not(HasSubstr("1g.5gb")));
  EXPECT_THAT(PrintExplanation(scheduler::Explain(snapshot, "uid-one", {}), {.pictures_max = 0}),
              Not(HasSubstr("1 x A100")));
}

TEST(ExplainTextTest, CountsEqualDevices) {
  const auto snapshot = SnapshotOf({PoolInventory("mig", "A100-40GB", {{"1g.5gb", 4, 0}})},
                                   {PodFromText("three nvidia.com/mig-1g.5gb=3")});
  EXPECT_THAT(PrintExplanation(scheduler::Explain(snapshot, "uid-three", {})),
              HasSubstr("and get 3 x 1g.5gb (assumed"));
}

TEST(ExplainTextTest, SaysWhatElseMayKeepAPodWaiting) {
  scheduler::Pod pod = PodFromText("one nvidia.com/gpu=1");
  pod.selects_nodes = true;
  pod.unscheduled_message = "0/1 nodes are available\x1b[2J";
  EXPECT_THAT(PrintExplanation(
                  scheduler::Explain(SnapshotOf({WholeInventory("a", 1)}, {pod}), "uid-one", {})),
              AllOf(HasSubstr("The pod selects nodes itself"),
                    HasSubstr("kube-scheduler said last: 0/1 nodes are available\\u001b[2J\n")));
}

// The pod wants zone z1 and tolerates nothing: a has no zone, b is tainted, c suits it.
TEST(ExplainTextTest, SaysWhatKeepsAPodAwayBesideTheVerdict) {
  scheduler::Pod pod = PodFromText("one nvidia.com/gpu=1");
  pod.node_rules.selector = {{"zone", "z1"}};
  auto b = WholeInventory("b", 1);
  b.marks = scheduler::NodeMarks{
      .labels = {{"zone", "z1"}},
      .taints = {{.key = "gpu", .value = "", .effect = scheduler::TaintEffect::kNoSchedule}}};
  auto c = WholeInventory("c", 1);
  c.marks = scheduler::NodeMarks{.labels = {{"zone", "z1"}}, .taints = {}};
  const auto explanation =
      scheduler::Explain(SnapshotOf({WholeInventory("a", 1), b, c}, {pod}), "uid-one", BestFit());
  const std::string text = PrintExplanation(explanation);
  EXPECT_THAT(text, HasSubstr("it fits on 3 of 3 nodes"));
  EXPECT_THAT(text, HasSubstr("; kube-scheduler: kept away by its selector or affinity\nb "));
  EXPECT_THAT(text, HasSubstr("; kube-scheduler: kept away by taint gpu:NoSchedule\nc "));
  const auto nodes = ToJson(explanation)["nodes"];
  EXPECT_EQ(nodes[0]["keptAwayBy"], "its selector or affinity");
  EXPECT_EQ(nodes[1]["keptAwayBy"], "taint gpu:NoSchedule");
  EXPECT_FALSE(nodes[2].contains("keptAwayBy"));
}

// A note that may be wrong is worse than none.
TEST(ExplainTextTest, SaysNothingOfWhatCannotBeRead) {
  scheduler::Pod pod = PodFromText("one nvidia.com/gpu=1");
  pod.node_rules.is_unreadable = true;
  EXPECT_THAT(PrintExplanation(
                  scheduler::Explain(SnapshotOf({WholeInventory("a", 1)}, {pod}), "uid-one", {})),
              Not(HasSubstr("kept away")));
}

TEST(ExplainTextTest, GivesProgramsEachGpusStateAndTheTerms) {
  const auto json = ToJson(scheduler::Explain(World(), "uid-one", BestFit()));
  EXPECT_EQ(json["strategy"], "best-fit");
  EXPECT_FALSE(json.contains("targetWorkload"));
  EXPECT_EQ(json["node"], "b");
  const auto& b = json["nodes"][1];
  EXPECT_EQ(b["name"], "b");
  EXPECT_EQ(b["cost"], 44);
  EXPECT_EQ(b["terms"], nlohmann::json({{"gpu_left", 7}, {"cpu_left", 37}}));
  EXPECT_EQ(b["gpus"][5]["taken"], true);
  EXPECT_EQ(b["gpus"][6]["taken"], false);
  EXPECT_EQ(b["record"]["devices"][0]["gpu"], 6);
  EXPECT_EQ(json["nodes"][2]["reason"], "resource.not-offered");
}

// 1 January 1970, 00:01:40 and a minute later.
TEST(ExplainTextTest, SaysWhatIsKeptForAPodAndForWhomItIsKeptFromAnother) {
  scheduler::Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 2)},
                 {PodFromText("a nvidia.com/gpu=1 node=n"), PodFromText("small nvidia.com/gpu=1")});
  scheduler::Pod big = PodFromText("big nvidia.com/gpu=2");
  big.hold = scheduler::Hold{.pod_uid = big.uid,
                             .node = "n",
                             .cause = scheduler::HoldCause::kDate,
                             .until_s = 160,
                             .expected_s = 100,
                             .victim_uids = {"uid-a", "uid-gone"},
                             .devices = {}};
  snapshot.PutPod(big);
  const auto explain = [&](std::string_view uid) {
    return scheduler::Explain(snapshot, uid, BestFit());
  };
  const char* where = "node n, expected by 1970-01-01T00:01:40Z; waits for default/a\n";
  EXPECT_THAT(PrintExplanation(explain("uid-big")),
              HasSubstr(std::string("held for it: ") + where));
  EXPECT_THAT(PrintExplanation(explain("uid-small")),
              HasSubstr(std::string("held for default/big: ") + where));
  const auto own = ToJson(explain("uid-big"))["held"];
  EXPECT_EQ(own["cause"], "date");
  EXPECT_EQ(own["expected"], "1970-01-01T00:01:40Z");
  EXPECT_EQ(own["waitsFor"][0]["pod"], "a");
  EXPECT_EQ(ToJson(explain("uid-small"))["nodes"][0]["heldFor"][0]["pod"], "big");

  big.hold->cause = scheduler::HoldCause::kReclaim;
  snapshot.PutPod(big);
  EXPECT_THAT(PrintExplanation(explain("uid-big")),
              HasSubstr("held for it: node n, kept until 1970-01-01T00:02:40Z; waits for"));
  snapshot.LapseHold("uid-big");
  EXPECT_THAT(PrintExplanation(explain("uid-big")), Not(HasSubstr("held for it")));
}

}  // namespace
}  // namespace offcut::api
