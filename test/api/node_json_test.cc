#include "api/node_json.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/hami_register.h"
#include "scheduler/decision.h"
#include "test/api/inventory_text.h"
#include "test/api/object_text.h"

namespace offcut::api {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using testing::FileText;
using ::testing::HasSubstr;
using testing::InventoryText;
using testing::JsonString;
using testing::NodeFromText;
using ::testing::Not;

using Texts = std::map<std::string, std::string>;

std::string JsonMap(const Texts& texts, const std::string& prefix = "") {
  std::string json = "{";
  for (const auto& [key, value] : texts) {
    if (json.size() > 1) json += ", ";
    json += JsonString(prefix + key) + ": " + JsonString(value);
  }
  return json + "}";
}

// A node "n1"; keys of labels and resources come without "nvidia.com/".
struct NodeText {
  Texts labels = {};
  Texts allocatable = {};
  Texts capacity = {};  // empty: as allocatable
  Texts annotations = {};
  std::string spec = "{}";
  std::optional<std::string> agent = {};  // label offcut.dev/agent

  std::string Json() const {
    std::string all_labels = JsonMap(labels, "nvidia.com/");
    if (agent) {
      all_labels.pop_back();
      all_labels +=
          (labels.empty() ? "" : ", ") + JsonString(kAgentLabel) + ": " + JsonString(*agent) + "}";
    }
    return R"({"metadata": {"name": "n1", "labels": )" + all_labels + R"(, "annotations": )" +
           JsonMap(annotations) + R"(}, "spec": )" + spec + R"(, "status": {"allocatable": )" +
           JsonMap(allocatable, "nvidia.com/") + R"(, "capacity": )" +
           JsonMap(capacity.empty() ? allocatable : capacity, "nvidia.com/") + "}}";
  }
};

std::string TextOf(const NodeText& node, const scheduler::ResourceNames& names = {}) {
  const auto parsed = NodeFromText(node.Json(), names);
  return parsed ? InventoryText(parsed->inventory) : "error: " + parsed.error().message;
}

std::vector<std::string> WarningsOf(const NodeText& node) {
  const auto parsed = NodeFromText(node.Json());
  return parsed ? parsed->warnings : std::vector<std::string>{"error: " + parsed.error().message};
}

const Texts kA10 = {{"gpu.product", "NVIDIA-A10"}, {"gpu.memory", "23028"}};
const Texts kA100 = {{"gpu.product", "NVIDIA-A100-SXM4-40GB"}, {"gpu.memory", "40960"}};

Texts With(Texts texts, const Texts& others) {
  for (const auto& [key, value] : others) texts[key] = value;
  return texts;
}

TEST(NodeJsonTest, ReadsTheHost) {
  const auto parsed = NodeFromText(R"({"metadata": {"name": "n1"}, "status": {"allocatable":
      {"cpu": "95500m", "memory": "1Mi", "pods": "110", "ephemeral-storage": "odd"}}})");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->inventory.devices.allocatable,
            (binpack::HostResources{.cpu_milli = 95500, .memory_bytes = 1048576, .pods = 110}));
  EXPECT_EQ(InventoryText(parsed->inventory), "n1 [nvidia]");
}

TEST(NodeJsonTest, TakesCapacityWhereThereIsNoAllocatable) {
  const auto parsed = NodeFromText(
      R"({"metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "2", "nvidia.com/gpu": 1}}})");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->inventory.devices.allocatable.cpu_milli, 2000);
  EXPECT_EQ(parsed->inventory.devices.gpus.size(), 1U);
}

TEST(NodeJsonTest, OffersWholeGpus) {
  EXPECT_EQ(TextOf({.labels = kA10, .allocatable = {{"gpu", "2"}}}),
            "n1 [nvidia] nvidia.com/gpu=whole | 2 x A10 23028 MiB whole");
}

TEST(NodeJsonTest, OffersGpusWithoutLabels) {
  EXPECT_EQ(TextOf({.allocatable = {{"gpu", "2"}}}),
            "n1 [nvidia] nvidia.com/gpu=whole | 2 x  0 MiB whole");
}

TEST(NodeJsonTest, TakesTheMemoryOfTheModelWhereNoLabelSaysIt) {
  EXPECT_EQ(
      TextOf({.labels = {{"gpu.product", "NVIDIA-A100-SXM4-40GB"}}, .allocatable = {{"gpu", "1"}}}),
      "n1 [nvidia] nvidia.com/gpu=whole | 1 x A100-SXM4-40GB 40960 MiB whole (A100-40GB)");
}

// capacity 4, allocatable 3: the last one is unhealthy.
TEST(NodeJsonTest, MarksWhatCapacityHasMoreAsUnhealthy) {
  EXPECT_EQ(TextOf({.labels = kA10, .allocatable = {{"gpu", "3"}}, .capacity = {{"gpu", "4"}}}),
            "n1 [nvidia] nvidia.com/gpu=whole | 3 x A10 23028 MiB whole"
            " | 1 x A10 23028 MiB whole unhealthy");
  EXPECT_EQ(TextOf({.labels = kA10, .allocatable = {{"x", "1"}}, .capacity = {{"gpu", "1"}}}),
            "n1 [nvidia] nvidia.com/gpu=whole | 1 x A10 23028 MiB whole unhealthy");
}

TEST(NodeJsonTest, OffersNothingWhereThereIsNothing) {
  EXPECT_EQ(TextOf({.labels = kA10, .allocatable = {{"gpu", "0"}}}), "n1 [nvidia]");
}

TEST(NodeJsonTest, CutsTimeSlicedGpusIntoSlots) {
  EXPECT_EQ(TextOf({.labels = {{"gpu.product", "Tesla-T4-SHARED"},
                               {"gpu.memory", "15360"},
                               {"gpu.replicas", "4"},
                               {"gpu.sharing-strategy", "time-slicing"}},
                    .allocatable = {{"gpu", "8"}},
                    .capacity = {{"gpu", "12"}}}),
            "n1 [nvidia] nvidia.com/gpu=slots | 2 x Tesla-T4 15360 MiB 4 time slots"
            " | 1 x Tesla-T4 15360 MiB 4 time slots unhealthy");
}

TEST(NodeJsonTest, CutsRenamedGpusIntoSlots) {
  EXPECT_EQ(TextOf({.labels = {{"gpu.product", "Tesla-T4"}, {"gpu.replicas", "10"}},
                    .allocatable = {{"gpu.shared", "20"}, {"gpu", "0"}}}),
            "n1 [nvidia] nvidia.com/gpu.shared=slots | 2 x Tesla-T4 0 MiB 10 time slots");
}

TEST(NodeJsonTest, TakesThePlainNameForWholeBesideARenamedOne) {
  EXPECT_EQ(TextOf({.labels = {{"gpu.product", "Tesla-T4"}, {"gpu.replicas", "2"}},
                    .allocatable = {{"gpu.shared", "2"}, {"gpu", "1"}}}),
            "n1 [nvidia] nvidia.com/gpu=whole nvidia.com/gpu.shared=slots"
            " | 1 x Tesla-T4 0 MiB whole | 1 x Tesla-T4 0 MiB 2 time slots");
}

// 10 slots at 4 a GPU: 4, 4, 2.
TEST(NodeJsonTest, GivesTheLastGpuTheRestOfSlotsThatDoNotDivide) {
  const NodeText node{.labels = {{"gpu.product", "Tesla-T4-SHARED"}, {"gpu.replicas", "4"}},
                      .allocatable = {{"gpu", "10"}}};
  EXPECT_EQ(TextOf(node),
            "n1 [nvidia] nvidia.com/gpu=slots | 2 x Tesla-T4 0 MiB 4 time slots"
            " | 1 x Tesla-T4 0 MiB 2 time slots");
  EXPECT_EQ(WarningsOf(node),
            (std::vector<std::string>{"node n1: nvidia.com/gpu is no multiple of the 4 replicas of"
                                      " a GPU; the last GPU is taken to have the rest"}));
}

TEST(NodeJsonTest, LetsMpsGiveAContainerOneSlotUnlessThePolicySaysOtherwise) {
  const NodeText mps{.labels = {{"gpu.product", "NVIDIA-L40S-SHARED"},
                                {"gpu.replicas", "2"},
                                {"gpu.sharing-strategy", "mps"}},
                     .allocatable = {{"gpu", "2"}}};
  EXPECT_EQ(TextOf(mps), "n1 [nvidia] nvidia.com/gpu=slots one each | 1 x L40S 0 MiB 2 MPS slots");
  EXPECT_EQ(TextOf(mps, {.fail_requests_greater_than_one = {{"nvidia.com/gpu", false}}}),
            "n1 [nvidia] nvidia.com/gpu=slots | 1 x L40S 0 MiB 2 MPS slots");
  const NodeText sliced{.labels = {{"gpu.product", "Tesla-T4-SHARED"}, {"gpu.replicas", "2"}},
                        .allocatable = {{"gpu", "2"}}};
  EXPECT_EQ(TextOf(sliced, {.fail_requests_greater_than_one = {{"nvidia.com/gpu", true}}}),
            "n1 [nvidia] nvidia.com/gpu=slots one each | 1 x Tesla-T4 0 MiB 2 time slots");
}

TEST(NodeJsonTest, OffersInstancesUnderThePlainNameInStrategySingle) {
  EXPECT_EQ(TextOf({.labels = {{"gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-3g.20gb"},
                               {"mig.strategy", "single"},
                               {"gpu.memory", "19968"},
                               {"gpu.replicas", "1"}},
                    .allocatable = {{"gpu", "3"}},
                    .capacity = {{"gpu", "4"}}}),
            "n1 [nvidia] nvidia.com/gpu=pool0 | on A100-40GB | 3 x 3g.20gb/4 and 1 unhealthy");
}

TEST(NodeJsonTest, SharesInstancesInStrategySingle) {
  EXPECT_EQ(TextOf({.labels = {{"gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"},
                               {"mig.strategy", "single"},
                               {"gpu.replicas", "2"},
                               {"gpu.sharing-strategy", "time-slicing"}},
                    .allocatable = {{"gpu", "14"}}}),
            "n1 [nvidia] nvidia.com/gpu=pool0 | on A100-40GB | 14 x 1g.5gb/1 in 2");
}

TEST(NodeJsonTest, OffersAPoolAProfileInStrategyMixed) {
  EXPECT_EQ(TextOf({.labels = With(kA100, {{"mig.strategy", "mixed"},
                                           {"gpu.replicas", "1"},
                                           {"mig-1g.5gb.replicas", "1"}}),
                    .allocatable = {{"gpu", "1"},
                                    {"mig-1g.5gb", "4"},
                                    {"mig-1g.5gb.me", "1"},
                                    {"mig-3g.20gb", "1"}}}),
            "n1 [nvidia] nvidia.com/gpu=whole nvidia.com/mig-1g.5gb=pool0"
            " nvidia.com/mig-1g.5gb.me=pool1 nvidia.com/mig-3g.20gb=pool2"
            " | 1 x A100-SXM4-40GB 40960 MiB whole (A100-40GB) | on A100-40GB"
            " | 4 x 1g.5gb/1 | 1 x 1g.5gb+me/1 | 1 x 3g.20gb/4");
}

TEST(NodeJsonTest, SharesInstancesInStrategyMixed) {
  EXPECT_EQ(TextOf({.labels = With(kA100, {{"mig.strategy", "mixed"},
                                           {"mig-1g.5gb.replicas", "3"},
                                           {"mig-1g.5gb.sharing-strategy", "time-slicing"}}),
                    .allocatable = {{"mig-1g.5gb.shared", "6"}}}),
            "n1 [nvidia] nvidia.com/mig-1g.5gb.shared=pool0 | on A100-40GB | 6 x 1g.5gb/1 in 3");
}

TEST(NodeJsonTest, WritesThePlusSignOfAProfileBack) {
  const auto profile = [](const std::string& resource) {
    const auto parsed = NodeFromText(NodeText{
        .labels = {{"gpu.product", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"}},
        .allocatable = {{resource, "1"}}}.Json());
    return parsed->inventory.devices.pools.at(0).profile;
  };
  EXPECT_EQ(profile("mig-1g.24gb"), "1g.24gb");
  EXPECT_EQ(profile("mig-1g.24gb.me"), "1g.24gb+me");
  EXPECT_EQ(profile("mig-1g.24gb.me.all"), "1g.24gb+me.all");
  EXPECT_EQ(profile("mig-1g.24gb.gfx"), "1g.24gb+gfx");
  EXPECT_EQ(profile("mig-1g.24gb-me"), "1g.24gb-me");
}

TEST(NodeJsonTest, TakesSlicesFromLabelsWhereTheModelIsNotKnown) {
  const NodeText node{.labels = {{"gpu.product", "NVIDIA-X1"}, {"mig-2g.9gb.slices.gi", "2"}},
                      .allocatable = {{"mig-2g.9gb", "3"}}};
  EXPECT_EQ(TextOf(node), "n1 [nvidia] nvidia.com/mig-2g.9gb=pool0 | 3 x 2g.9gb/2");
  EXPECT_EQ(WarningsOf(node),
            (std::vector<std::string>{"node n1: profile 2g.9gb is not known on NVIDIA-X1"}));
}

// Whether a pod with this annotation may have the one resource that the node offers.
std::string_view AnsweredOn(const NodeText& node, const std::string& resource,
                            const std::string& annotation, const std::string& value) {
  const auto parsed = NodeFromText(node.Json());
  const auto pod = testing::PodFromText(
      R"({"metadata": {"name": "p", "uid": "u", "annotations": {)" + JsonString(annotation) + ": " +
      JsonString(value) + R"(}}, "spec": {"containers": [{"resources": {"limits": {"nvidia.com/)" +
      resource + R"(": 1}}}]}})");
  if (!parsed || !pod) return "error";
  const scheduler::Node built = scheduler::BuildNode(parsed->inventory, {});
  return InfoOf(FilterNode(built, pod->pod, {}, scheduler::Prefilter::kByKubeScheduler).reason)
      .code;
}

// The GPUs under the instances are the product; what strategy and sharing append is not part of it.
TEST(NodeJsonTest, JudgesModelListsOnTheProductThatCarriesTheInstances) {
  const std::string own = "offcut.dev/gpu-models";
  for (const std::string product : {"A100-SXM4-40GB", "FOO-9000"}) {
    const Texts mixed = {{"gpu.product", "NVIDIA-" + product}};
    const Texts single = {{"gpu.product", "NVIDIA-" + product + "-MIG-1g.5gb-SHARED"}};
    const std::string part = product.substr(0, 4);
    for (const auto& [labels, resource] : {std::pair(mixed, "mig-1g.5gb"), {single, "gpu"}}) {
      const NodeText node{.labels = labels, .allocatable = {{resource, "7"}}};
      const auto answer = [&](const std::string& annotation, const std::string& value) {
        return AnsweredOn(node, resource, annotation, value);
      };
      EXPECT_EQ(answer(own, product), "fits");
      EXPECT_EQ(answer(own, "nvidia-" + product), "fits");
      EXPECT_EQ(answer(own, part + "*"), "fits");
      EXPECT_EQ(answer(own, "H100*"), "gpu.model");
      EXPECT_EQ(answer(own, "!" + product), "gpu.model");
      EXPECT_EQ(answer(own, "!NVIDIA-" + part + "*"), "gpu.model");
      EXPECT_EQ(answer(own, "!H100*"), "fits");
      EXPECT_EQ(answer("nvidia.com/use-gputype", part), "fits");
      EXPECT_EQ(answer("nvidia.com/use-gputype", "H100"), "gpu.model");
      EXPECT_EQ(answer("nvidia.com/nouse-gputype", part), "gpu.model");
    }
  }
}

TEST(NodeJsonTest, ClosesNodesForTheFirstReasonThatHolds) {
  const auto closed = [](const Texts& labels, const std::string& spec = "{}") {
    const auto parsed = NodeFromText(NodeText{.labels = labels, .spec = spec}.Json());
    return parsed->inventory.closed;
  };
  const std::string cordoned = R"({"unschedulable": true})";
  const Texts pending = {{"mig.config.state", "pending"}};
  const Texts invalid = {{"gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-INVALID"}};
  EXPECT_EQ(closed({}), std::nullopt);
  EXPECT_EQ(closed({}, cordoned), scheduler::Reason::kNodeCordoned);
  EXPECT_EQ(closed(pending), scheduler::Reason::kNodeReconfiguring);
  EXPECT_EQ(closed({{"mig.config.state", "rebooting"}}), scheduler::Reason::kNodeReconfiguring);
  EXPECT_EQ(closed({{"gpu.deploy.dcgm", "paused-for-mig-change"}}),
            scheduler::Reason::kNodeReconfiguring);
  EXPECT_EQ(closed({{"gpu.deploy.dcgm", "true"}, {"mig.config.state", "failed"}}), std::nullopt);
  EXPECT_EQ(closed(invalid), scheduler::Reason::kNodeMigInvalid);
  EXPECT_EQ(closed(pending, cordoned), scheduler::Reason::kNodeReconfiguring);
  EXPECT_EQ(closed(With(pending, invalid), cordoned), scheduler::Reason::kNodeMigInvalid);
}

TEST(NodeJsonTest, SeesATaintThatPrefersNoPods) {
  const auto avoids = [](const std::string& effect) {
    const auto parsed = NodeFromText(
        NodeText{.spec = R"({"taints": [{"key": "k", "effect": ")" + effect + "\"}]}"}.Json());
    return parsed->inventory.prefers_no_schedule;
  };
  EXPECT_TRUE(avoids("PreferNoSchedule"));
  EXPECT_FALSE(avoids("NoSchedule"));
}

TEST(NodeJsonTest, RefusesCountsThatCannotBeMeant) {
  for (const std::string count : {"-1", "1500m", "many", "", "1e30"}) {
    const std::string in_allocatable = TextOf({.allocatable = {{"gpu", count}}});
    EXPECT_TRUE(in_allocatable.starts_with("error: status.allocatable[\"nvidia.com/gpu\"]: "))
        << count << ": " << in_allocatable;
    const std::string in_capacity =
        TextOf({.allocatable = {{"gpu", "1"}}, .capacity = {{"mig-1g.5gb", count}}});
    EXPECT_TRUE(in_capacity.starts_with("error: status.capacity[\"nvidia.com/mig-1g.5gb\"]: "))
        << count << ": " << in_capacity;
  }
}

TEST(NodeJsonTest, RefusesWhatIsAboveTheLimits) {
  EXPECT_TRUE(TextOf({.allocatable = {{"gpu", "64"}}}).starts_with("n1 "));
  EXPECT_EQ(TextOf({.allocatable = {{"gpu", "65"}}}), "error: has more than 64 GPUs");
  EXPECT_EQ(TextOf({.allocatable = {{"gpu", "64"}}, .capacity = {{"gpu", "65"}}}),
            "error: has more than 64 GPUs");
  EXPECT_EQ(TextOf({.labels = {{"gpu.replicas", "1025"}}, .allocatable = {{"gpu", "1"}}}),
            "error: metadata.labels[\"nvidia.com/gpu.replicas\"]:"
            " must be an integer from 0 to 1024");
}

TEST(NodeJsonTest, RefusesANodeWithoutName) {
  const auto parsed = NodeFromText("{}");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, "metadata.name: is missing");
}

// The recorded cluster: one node of each kind.
TEST(NodeJsonTest, ReadsTheRecordedNodes) {
  std::vector<std::string> texts;
  std::vector<std::string> warnings;
  simdjson::dom::parser parser;
  const std::string list = FileText("recorded/v1.37.2-names/nodes-before.json");
  const auto root = ParseJson(parser, list);
  ASSERT_TRUE(root);
  JsonErrors errors;
  const JsonObject nodes(*root, errors);
  const auto items = ReadArray(*nodes.Find("items"), JsonPath{}, 100, errors);
  ASSERT_TRUE(items);
  for (const JsonElement node : *items) {
    const auto parsed = ParseNode(node, {});
    ASSERT_TRUE(parsed) << parsed.error().message;
    texts.push_back(InventoryText(parsed->inventory));
    EXPECT_TRUE(parsed->warnings.empty()) << parsed->warnings[0];
    EXPECT_EQ(
        parsed->inventory.devices.allocatable,
        (binpack::HostResources{.cpu_milli = 95500, .memory_bytes = 1031996LL << 20, .pods = 110}));
  }
  EXPECT_EQ(
      texts,
      (std::vector<std::string>{
          "a100-40-invalid-1 [nvidia closed node.mig-invalid]",
          "a100-40-mixed-1 [nvidia] nvidia.com/mig-1g.5gb=pool0 nvidia.com/mig-2g.10gb=pool1"
          " nvidia.com/mig-3g.20gb=pool2 | on A100-40GB"
          " | 4 x 1g.5gb/1 | 2 x 2g.10gb/2 | 2 x 3g.20gb/4",
          "a100-40-pending-1 [nvidia closed node.reconfiguring] nvidia.com/gpu=whole"
          " | 2 x A100-SXM4-40GB 40960 MiB whole (A100-40GB)",
          "a100-80-whole-1 [nvidia] nvidia.com/gpu=whole"
          " | 8 x A100-SXM4-80GB 81920 MiB whole (A100-80GB)",
          "cpu-1 [nvidia]",
          "gpu-cordoned-1 [nvidia closed node.cordoned] nvidia.com/gpu=whole"
          " | 1 x A10 23028 MiB whole",
          "h100-80-single-1 [nvidia] nvidia.com/gpu=pool0 | on H100-80GB-SXM | 14 x 1g.10gb/1",
          "h100-80-whole-1 [nvidia] nvidia.com/gpu=whole"
          " | 8 x H100-80GB-HBM3 81559 MiB whole (H100-80GB-SXM)",
          "l40s-mps-1 [nvidia] nvidia.com/gpu=slots one each | 4 x L40S 46068 MiB 4 MPS slots",
          "t4-timeslice-1 [nvidia] nvidia.com/gpu=slots | 4 x Tesla-T4 15360 MiB 4 time slots",
          "t4-timeslice-renamed-1 [nvidia] nvidia.com/gpu.shared=slots"
          " | 2 x Tesla-T4 15360 MiB 10 time slots",
          "v100-fraction-1 [hami closed node.agent-unsupported fractions]"
          " | 2 x Tesla-V100-SXM2-32GB 32768 MiB 100% for 10"}));
}

constexpr std::string_view kTwoT4 =
    R"([{"id":"GPU-a","count":10,"devmem":15360,"devcore":100,"type":"NVIDIA-Tesla T4",)"
    R"("mode":"hami-core","health":true},)"
    R"({"id":"GPU-b","index":1,"count":10,"devmem":15360,"devcore":100,)"
    R"("type":"NVIDIA-Tesla T4","mode":"hami-core","health":true}])";

NodeText HamiNode(std::string_view annotation) {
  return {.allocatable = {{"gpu", "20"}, {"mig-1g.5gb", "1"}},
          .annotations = {{std::string(kHamiRegisterAnnotation), std::string(annotation)}}};
}

TEST(NodeJsonTest, LetsHamisAnnotationAloneSayWhatANodeHas) {
  const auto parsed = NodeFromText(HamiNode(kTwoT4).Json());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(
      InventoryText(parsed->inventory),
      "n1 [hami closed node.agent-unsupported fractions] | 2 x Tesla-T4 15360 MiB 100% for 10");
  EXPECT_EQ(parsed->inventory.devices.picker, binpack::DevicePicker::kScheduler);
  EXPECT_EQ(parsed->inventory.devices.gpus[1].uuid, "GPU-b");
}

// An A100 in MIG mode, with two of its profiles and one of media engines.
constexpr std::string_view kMigA100 =
    R"([{"id":"GPU-m","count":1,"devmem":40960,"devcore":100,"mode":"mig","health":true,)"
    R"("type":"NVIDIA-NVIDIA A100-SXM4-40GB","migProfiles":[)"
    R"({"name":"1g.5gb+me","memoryMB":4864,"sliceCount":1,"placements":[{"start":0,"size":1}]},)"
    R"({"name":"1g.5gb","memoryMB":4864,"sliceCount":1,"placements":[{"start":0,"size":1}]},)"
    R"({"name":"3g.20gb","memoryMB":19968,"sliceCount":3,)"
    R"("placements":[{"start":0,"size":4},{"start":4,"size":4}]}]}])";

NodeText AgentNode(std::string_view annotation, std::string agent = "dynamic-mig") {
  NodeText node = HamiNode(annotation);
  node.allocatable = {{"gpu", "1"}};
  node.agent = std::move(agent);
  return node;
}

scheduler::ResourceNames IgnoringProfiles() {
  scheduler::ResourceNames names;
  for (const std::string profile : {"1g.5gb", "1g.5gb.me", "3g.20gb"}) {
    names.ignored_by_scheduler.push_back("nvidia.com/mig-" + profile);
  }
  return names;
}

TEST(NodeJsonTest, OpensANodeWhoseAgentObeysUsAndOffersWhatItsGpusCanBe) {
  const auto parsed = NodeFromText(AgentNode(kMigA100).Json(), IgnoringProfiles());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(InventoryText(parsed->inventory),
            "n1 [dynamic-mig fractions] nvidia.com/gpu=full shares"
            " nvidia.com/mig-1g.5gb=placed 1g.5gb nvidia.com/mig-1g.5gb.me=placed 1g.5gb+me"
            " nvidia.com/mig-3g.20gb=placed 3g.20gb"
            " | 1 x A100-SXM4-40GB 40960 MiB MIG (A100-40GB)");
  EXPECT_EQ(parsed->inventory.devices.picker, binpack::DevicePicker::kScheduler);
  EXPECT_EQ(TextOf(AgentNode(kTwoT4)),
            "n1 [dynamic-mig fractions] nvidia.com/gpu=full shares"
            " | 2 x Tesla-T4 15360 MiB 100% for 10");
}

TEST(NodeJsonTest, NamesProfilesAsThePolicyDoes) {
  scheduler::ResourceNames names;
  names.mig_prefix = "example.com/slice-";
  EXPECT_THAT(TextOf(AgentNode(kMigA100), names),
              HasSubstr(" example.com/slice-3g.20gb=placed 3g.20gb"));
}

// Whoever writes labels must not make a node's holders unknown, nor open what nobody serves. HAMi
// and the stock device plugin choose devices themselves.
TEST(NodeJsonTest, LeavesANodeClosedWhereTheAgentsNameIsNone) {
  for (const std::string agent :
       {"", "hami", "nvidia", "-x", "x.", "a b", "a/b", "\x7f", "\xc3\xa9"}) {
    EXPECT_TRUE(TextOf(AgentNode(kMigA100, agent))
                    .starts_with("n1 [hami closed node.agent-unsupported fractions] |"))
        << agent;
    const std::vector<std::string> warnings = WarningsOf(AgentNode(kTwoT4, agent));
    EXPECT_EQ(warnings.size(), agent.empty() ? 0U : 1U) << agent;
  }
  EXPECT_TRUE(TextOf(AgentNode(kMigA100, std::string(64, 'a'))).starts_with("n1 [hami closed"));
  EXPECT_TRUE(TextOf(AgentNode(kMigA100, std::string(63, 'a'))).starts_with("n1 [aaa"));
}

TEST(NodeJsonTest, AnAgentOpensNothingThatIsClosedOtherwise) {
  NodeText node = AgentNode(kTwoT4);
  node.spec = R"({"unschedulable": true})";
  EXPECT_TRUE(TextOf(node).starts_with("n1 [dynamic-mig closed node.cordoned fractions]"));
  node.labels = {{"mig.config.state", "pending"}};
  EXPECT_TRUE(TextOf(node).starts_with("n1 [dynamic-mig closed node.reconfiguring fractions]"));
}

TEST(NodeJsonTest, TakesTheGpusOfADeadAgentForUnhealthy) {
  NodeText node = AgentNode(kTwoT4);
  node.allocatable = {{"gpu", "0"}};
  node.capacity = {{"gpu", "1"}};
  EXPECT_EQ(TextOf(node),
            "n1 [dynamic-mig fractions] nvidia.com/gpu=full shares"
            " | 2 x Tesla-T4 15360 MiB 100% for 10 unhealthy");
}

TEST(NodeJsonTest, AgentWithoutARegisterChangesNothing) {
  const NodeText node{.labels = kA10, .allocatable = {{"gpu", "1"}}, .agent = "dynamic-mig"};
  EXPECT_EQ(TextOf(node), "n1 [nvidia] nvidia.com/gpu=whole | 1 x A10 23028 MiB whole");
  EXPECT_THAT(WarningsOf(node),
              ElementsAre("node n1: label offcut.dev/agent does not count without annotation"
                          " hami.io/node-nvidia-register"));
}

// kube-scheduler would offer the node for it, and nobody but the agent serves devices there.
TEST(NodeJsonTest, WhatAnAgentsNodeAdvertisesBesideItsProfilesIsNotForOthers) {
  NodeText node = AgentNode(kMigA100);
  node.allocatable["mig-7g.40gb"] = "1";
  EXPECT_THAT(TextOf(node), HasSubstr(" nvidia.com/mig-7g.40gb=placed 7g.40gb"));
}

TEST(NodeJsonTest, SaysWhichProfilesKubeSchedulerKeepsPodsAwayFor) {
  EXPECT_THAT(WarningsOf(AgentNode(kMigA100)),
              Contains(EndsWith("to no pod that asks for one of: nvidia.com/mig-1g.5gb"
                                " nvidia.com/mig-1g.5gb.me nvidia.com/mig-3g.20gb")));
  const auto parsed = NodeFromText(AgentNode(kMigA100).Json(), IgnoringProfiles());
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->warnings, Not(Contains(HasSubstr("ignoredByScheduler"))));
}

// No resource can be called "mig-a b"; "x+y" and "x.y" would be one, and it is the first of them.
TEST(NodeJsonTest, OffersNoProfileThatNoPodCanName) {
  std::string annotation =
      R"([{"id":"GPU-m","devmem":9,"mode":"mig","health":true,"type":"x","migProfiles":[)";
  for (const std::string name : {"a b", "x+y", "x.y", "\\u001b[2J"}) {
    annotation += R"({"name":")" + name +
                  R"(","memoryMB":9,"sliceCount":1,"placements":[{"start":0,"size":1}]},)";
  }
  annotation.back() = ']';
  annotation += "}]";
  const NodeText node = AgentNode(annotation);
  EXPECT_THAT(TextOf(node), HasSubstr("shares nvidia.com/mig-x.y=placed x+y | 1 x"));
  EXPECT_THAT(WarningsOf(node), Contains(HasSubstr("a name that no resource can have")));
  EXPECT_THAT(WarningsOf(node), Contains(HasSubstr("two MIG profiles would be")));
}

TEST(NodeJsonTest, KeepsAnotherReasonToCloseAHamiNode) {
  NodeText node = HamiNode(kTwoT4);
  node.labels = {{"mig.config.state", "pending"}};
  EXPECT_TRUE(TextOf(node).starts_with("n1 [hami closed node.reconfiguring fractions]"));
}

// Some pods may go to a cordoned node, and none to one that HAMi runs.
TEST(NodeJsonTest, ClosesACordonedHamiNodeToEveryPod) {
  NodeText node = HamiNode(kTwoT4);
  node.spec = R"({"unschedulable": true})";
  EXPECT_TRUE(TextOf(node).starts_with("n1 [hami closed node.agent-unsupported fractions]"));
}

TEST(NodeJsonTest, TakesTheGpusOfADeadHamiPluginForUnhealthy) {
  NodeText node = HamiNode(kTwoT4);
  node.allocatable["gpu"] = "0";
  EXPECT_EQ(TextOf(node),
            "n1 [hami closed node.agent-unsupported fractions]"
            " | 2 x Tesla-T4 15360 MiB 100% for 10 unhealthy");
}

TEST(NodeJsonTest, CordonsHamiDevicesByUuid) {
  NodeText node = HamiNode(kTwoT4);
  node.annotations[std::string(kHamiCordonAnnotation)] = "GPU-x, GPU-b";
  EXPECT_EQ(TextOf(node),
            "n1 [hami closed node.agent-unsupported fractions]"
            " | 1 x Tesla-T4 15360 MiB 100% for 10 | 1 x Tesla-T4 15360 MiB 100% for 10 cordoned");
}

TEST(NodeJsonTest, RefusesANodeWithAMalformedHamiAnnotation) {
  EXPECT_EQ(TextOf(HamiNode("[{\"id\":\"a\",\"count\":-1}]")),
            "error: metadata.annotations[\"hami.io/node-nvidia-register\"]:"
            " [0].count: must be from 0 to 1048576");
  EXPECT_TRUE(TextOf(HamiNode("")).starts_with("error: "));
}

// A node of one label, whatever its prefix.
std::string NodeWithLabel(const std::string& key, const std::string& value) {
  return R"({"metadata": {"name": "n1", "labels": {)" + JsonString(key) + ": " + JsonString(value) +
         "}}}";
}

TEST(NodeJsonTest, KnowsSpotCapacityByTheLabelsOfProvidersAndKarpenter) {
  for (const auto& [key, value] : Texts{{"eks.amazonaws.com/capacityType", "SPOT"},
                                        {"cloud.google.com/gke-spot", "true"},
                                        {"cloud.google.com/gke-preemptible", "true"},
                                        {"kubernetes.azure.com/scalesetpriority", "spot"},
                                        {"karpenter.sh/capacity-type", "spot"}}) {
    const auto parsed = NodeFromText(NodeWithLabel(key, value));
    ASSERT_TRUE(parsed) << key;
    EXPECT_TRUE(parsed->inventory.is_spot) << key;
  }
}

TEST(NodeJsonTest, TakesCapacityOfAnyOtherTypeForOneThatStays) {
  for (const auto& [key, value] : Texts{{"eks.amazonaws.com/capacityType", "ON_DEMAND"},
                                        {"cloud.google.com/gke-spot", "false"},
                                        {"kubernetes.azure.com/scalesetpriority", "regular"},
                                        {"karpenter.sh/capacity-type", "reserved"},
                                        {"example.com/capacity-type", "spot"}}) {
    const auto parsed = NodeFromText(NodeWithLabel(key, value));
    ASSERT_TRUE(parsed) << key;
    EXPECT_FALSE(parsed->inventory.is_spot) << key;
  }
}

}  // namespace
}  // namespace offcut::api
