#include "api/gpu_picture.h"

#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binpack/gpu_model.h"

namespace offcut::api {
namespace {

using binpack::GpuHealth;
using scheduler::Inventory;
using scheduler::Pod;
using scheduler::Snapshot;
using testing::HasSubstr;
using testing::Not;

// A pod on the node that asks for `count` of the resource, older than those of a higher uid.
Pod PodOn(const std::string& node_name, const std::string& name, const std::string& resource,
          int count) {
  Pod pod{.uid = "uid-" + name, .name_space = "ml", .name = name, .node_name = node_name};
  pod.request.devices = {{resource, count}};
  pod.containers = {{.name = "main", .devices = pod.request.devices}};
  return pod;
}

// The same, with devices on record.
Pod PodWithRecord(Pod pod, std::vector<scheduler::RecordedDevice> devices) {
  pod.record = scheduler::DeviceRecord{.pod_uid = pod.uid,
                                       .node = pod.node_name,
                                       .agent = "hami",
                                       .certainty = scheduler::Certainty::kExact,
                                       .devices = std::move(devices)};
  return pod;
}

binpack::Gpu GpuOf(const std::string& product, int memory_mib, auto state,
                   GpuHealth health = GpuHealth::kHealthy) {
  binpack::Gpu gpu{
      .product = product, .memory_mib = memory_mib, .health = health, .state = std::move(state)};
  if (const binpack::GpuModel* model = binpack::FindModelByProduct(product); model != nullptr) {
    gpu.model = std::shared_ptr<const binpack::GpuModel>(std::shared_ptr<void>(), model);
  }
  return gpu;
}

std::string PictureOf(std::vector<Inventory> nodes, std::vector<Pod> pods,
                      const GpuPictureStyle& style = {}) {
  Snapshot snapshot;
  for (Inventory& node : nodes) snapshot.PutNode(std::move(node));
  for (Pod& pod : pods) snapshot.PutPod(std::move(pod));
  return DrawGpus(snapshot, style);
}

// The nodes' part: everything above the line of totals, after a newline, so that an expected
// picture begins on a line of its own.
std::string NodesOf(const std::string& picture) {
  const std::size_t total = picture.rfind(" held\n");
  return "\n" + picture.substr(0, picture.rfind("\n\n", total) + 1);
}

// GPUs 2 and 3 are those that are ill.
Inventory WholeNode() {
  Inventory node{.name = "whole-1", .offers = {{.resource = "nvidia.com/gpu"}}};
  for (const GpuHealth health :
       {GpuHealth::kHealthy, GpuHealth::kHealthy, GpuHealth::kUnhealthy, GpuHealth::kCordoned}) {
    node.devices.gpus.push_back(GpuOf("A100-SXM4-80GB", 81920, binpack::WholeGpu{}, health));
  }
  return node;
}

// Two A100-40GB that an agent cuts as we say.
Inventory MigNode() {
  Inventory node{.name = "mig-1", .agent = "hami", .serves_fractions = true};
  node.devices.picker = binpack::DevicePicker::kScheduler;
  node.devices.gpus = {GpuOf("A100-SXM4-40GB", 40960, binpack::MigGpu{}),
                       GpuOf("A100-SXM4-40GB", 40960, binpack::MigGpu{})};
  return node;
}

Pod PodOnMig(const std::string& name, const std::string& profile, int gpu, int start, int size) {
  Pod pod{.uid = "uid-" + name, .name_space = "ml", .name = name, .node_name = "mig-1"};
  pod.request.fractions = {{.gpus = 1, .memory_mib = 1}};
  return PodWithRecord(std::move(pod), {{.gpu = gpu,
                                         .kind = binpack::PieceKind::kInstance,
                                         .profile = profile,
                                         .start = start,
                                         .size = size}});
}

Inventory SlotNode(const std::string& name, binpack::Sharing sharing, int gpus, int slots) {
  Inventory node{.name = name,
                 .offers = {{.resource = "nvidia.com/gpu", .kind = scheduler::OfferKind::kSlots}}};
  for (int i = 0; i < gpus; ++i) {
    node.devices.gpus.push_back(
        GpuOf("Tesla-T4", 15360, binpack::SharedGpu{.sharing = sharing, .slots = slots}));
  }
  return node;
}

Inventory FractionNode() {
  Inventory node{.name = "fractions-1", .agent = "hami", .serves_fractions = true};
  node.devices.picker = binpack::DevicePicker::kScheduler;
  node.devices.gpus = {GpuOf("V100", 32768, binpack::FractionalGpu{.sharers_max = 10}),
                       GpuOf("V100", 32768, binpack::FractionalGpu{.sharers_max = 10})};
  return node;
}

Pod PodWithFraction(const std::string& name, int memory_mib, int cores_percent) {
  Pod pod{.uid = "uid-" + name, .name_space = "ml", .name = name, .node_name = "fractions-1"};
  pod.request.fractions = {{.gpus = 1, .memory_mib = memory_mib, .cores_percent = cores_percent}};
  return PodWithRecord(std::move(pod), {{.gpu = 0,
                                         .kind = binpack::PieceKind::kFraction,
                                         .memory_mib = memory_mib,
                                         .cores_percent = cores_percent}});
}

Inventory PoolNode() {
  Inventory node{.name = "pools-1"};
  node.offers = {{"nvidia.com/gpu", scheduler::OfferKind::kWholeGpus},
                 {"nvidia.com/mig-1g.5gb", scheduler::OfferKind::kInstances, 0},
                 {"nvidia.com/mig-3g.20gb", scheduler::OfferKind::kInstances, 1}};
  node.devices.gpus = {GpuOf("A100-SXM4-40GB", 40960, binpack::WholeGpu{})};
  node.devices.pools = {{.profile = "1g.5gb", .memory_slices = 1, .units = 4, .units_unhealthy = 1},
                        {.profile = "3g.20gb", .memory_slices = 4, .replicas = 2, .units = 2}};
  node.devices.pool_product = "A100-SXM4-40GB";
  node.devices.pool_model = node.devices.gpus[0].model;
  return node;
}

// A world with a node of every kind.
std::string WholeWorld(const GpuPictureStyle& style) {
  Inventory invalid{.name = "invalid-1", .closed = scheduler::Reason::kNodeMigInvalid};
  return PictureOf(
      {WholeNode(), MigNode(), SlotNode("slots-1", binpack::Sharing::kMps, 2, 4), FractionNode(),
       PoolNode(), std::move(invalid), Inventory{.name = "cpu-1"}},
      {PodOn("whole-1", "train", "nvidia.com/gpu", 2), PodOn("slots-1", "a", "nvidia.com/gpu", 3),
       PodOn("pools-1", "b", "nvidia.com/mig-1g.5gb", 2),
       PodOn("pools-1", "too-large", "nvidia.com/gpu", 8), PodWithFraction("c", 4096, 30),
       PodOnMig("notebook", "2g.10gb", 0, 0, 2)},
      style);
}

// One of four GPUs is held: 25 %.
TEST(GpuPictureTest, DrawsWholeGpusWithTheirPodsAndTheirHealth) {
  EXPECT_EQ(NodesOf(PictureOf({WholeNode()}, {PodOn("whole-1", "train", "nvidia.com/gpu", 1)},
                              {.columns = 80})),
            R"(
whole-1  4 x A100-SXM4-80GB, whole                                   25 % held
  0  │■ train                                                                │
  1  │· free                                                                 │
  2! │· unhealthy                                                            │
  3~ │· cordoned                                                             │
)");
}

// The first GPU: 2g at 0, 1g at 6. Slice 7 is free, and out of reach: 1g.10gb may start at 6 but
// not at 7. The second: nothing. 3 of 16 slices: 18 %.
TEST(GpuPictureTest, DrawsInstancesWhereTheyStandAndSlicesThatNoProfileReaches) {
  EXPECT_EQ(NodesOf(PictureOf({MigNode()}, {PodOnMig("notebook", "2g.10gb", 0, 0, 2),
                                            PodOnMig("probe", "1g.5gb", 0, 6, 1)})),
            R"(
mig-1  2 x A100-SXM4-40GB, MIG                                                       18 % held
  0  │■ 2g.10gb notebook   │·         │·         │·         │·         │■ 1g.5gb  │×         │
  1  │·         │·         │·         │·         │·         │·         │·         │·         │
)");
}

// The kubelet gives a slot to the least used GPU: a to GPU 0, b to GPU 1, c's two to both.
TEST(GpuPictureTest, DrawsSlotsWithTheirPods) {
  EXPECT_EQ(NodesOf(PictureOf({SlotNode("slots-1", binpack::Sharing::kTimeSlicing, 2, 4)},
                              {PodOn("slots-1", "a", "nvidia.com/gpu", 1),
                               PodOn("slots-1", "b", "nvidia.com/gpu", 1),
                               PodOn("slots-1", "c", "nvidia.com/gpu", 2)})),
            R"(
slots-1  2 x Tesla-T4, time-sliced slots                                             50 % held
  0  │■ a                  │■ c                  │·                    │·                    │
  1  │■ b                  │■ c                  │·                    │·                    │
)");
}

// 87 columns cannot hold 24 cells of four columns and their borders.
TEST(GpuPictureTest, DrawsMarksWhereSlotsAreTooManyForCells) {
  EXPECT_EQ(NodesOf(PictureOf({SlotNode("slots-1", binpack::Sharing::kMps, 1, 24)},
                              {PodOn("slots-1", "a", "nvidia.com/gpu", 3)})),
            R"(
slots-1  1 x Tesla-T4, MPS slots                                                     12 % held
  0  │■■■····················· 3/24                                                          │
)");
}

// 16384 of 32768 MiB is half of 20 columns; 30 of 100 percent is 3 of 10.
TEST(GpuPictureTest, DrawsFractionsAsBarsOfMemoryAndCores) {
  EXPECT_EQ(NodesOf(PictureOf({FractionNode()}, {PodWithFraction("chat", 12288, 10),
                                                 PodWithFraction("embed", 4096, 20)})),
            R"(
fractions-1  2 x V100, fractions                                                     25 % held
  0  │memory ██████████░░░░░░░░░░ 16384/32768 MiB  cores ███░░░░░░░  30/100 %  2/10  chat, e…│
  1  │memory ░░░░░░░░░░░░░░░░░░░░     0/32768 MiB  cores ░░░░░░░░░░   0/100 %  0/10          │
)");
}

// Three of four healthy instances are in use and one is ill; an instance of 3g has two slots each.
TEST(GpuPictureTest, DrawsPoolsAsCountsAndInventsNoStart) {
  EXPECT_EQ(NodesOf(PictureOf({PoolNode()}, {PodOn("pools-1", "a", "nvidia.com/mig-1g.5gb", 1),
                                             PodOn("pools-1", "b", "nvidia.com/mig-1g.5gb", 2),
                                             PodOn("pools-1", "c", "nvidia.com/mig-3g.20gb", 1)})),
            R"(
pools-1  1 x A100-SXM4-40GB, whole; MIG instances on A100-SXM4-40GB, by count        29 % held
  0  │· free                                                                                 │
     1g.5gb              3/4  ●●●○!  a, b x2
     3g.20gb in 2 slots  1/2  ●○  c
)");
}

TEST(GpuPictureTest, SaysWhyANodeIsClosed) {
  Inventory reconfiguring = WholeNode();
  reconfiguring.closed = scheduler::Reason::kNodeReconfiguring;
  reconfiguring.devices.gpus.resize(1);
  Inventory invalid{.name = "invalid-1", .closed = scheduler::Reason::kNodeMigInvalid};
  EXPECT_EQ(NodesOf(PictureOf({reconfiguring, invalid}, {}, {.columns = 80})),
            R"(
invalid-1  no GPUs to offer
     closed: node's MIG layout is invalid (MIG-INVALID): repair its mig.config

whole-1  1 x A100-SXM4-80GB, whole                                    0 % held
     closed: node's MIG layout is being changed
  0  │· free                                                                 │
)");
}

// Two GPUs are asked of a node that has one left after `train`.
TEST(GpuPictureTest, NamesAPodThatHoldsMoreThanIsKnown) {
  Inventory node = WholeNode();
  node.devices.gpus.resize(2);
  EXPECT_EQ(
      NodesOf(PictureOf({node}, {PodOn("whole-1", "alien", "nvidia.com/gpu", 3)}, {.columns = 80})),
      R"(
whole-1  2 x A100-SXM4-80GB, whole                                  100 % held
  0  │■ alien                                                                │
  1  │■ alien                                                                │
  ?  alien holds devices, and not all of them are known
)");
}

TEST(GpuPictureTest, NamesNodesWithoutGpusInOneLineAndCountsTheLaterOnes) {
  std::vector<Inventory> nodes;
  for (int i = 10; i < 32; ++i) nodes.push_back({.name = "n" + std::to_string(i)});
  EXPECT_EQ(NodesOf(PictureOf(nodes, {}, {.columns = 140})),
            "\nwithout GPUs: n10, n11, n12, n13, n14, n15, n16, n17, n18, n19, n20, n21, n22, n23, "
            "n24, n25, n26, n27, n28, n29, and 2 more\n");
}

// One GPU of four, and 3 slots of 8: 1 + 0.375, cut to hundredths.
TEST(GpuPictureTest, TotalsCountGpusInHundredths) {
  EXPECT_THAT(PictureOf({WholeNode(), SlotNode("slots-1", binpack::Sharing::kMps, 1, 8)},
                        {PodOn("whole-1", "train", "nvidia.com/gpu", 1),
                         PodOn("slots-1", "a", "nvidia.com/gpu", 3)}),
              HasSubstr("\n2 nodes; 1.37 of 5 GPUs held\n"));
  EXPECT_THAT(PictureOf({SlotNode("slots-1", binpack::Sharing::kMps, 1, 8)}, {}),
              HasSubstr("\n1 node; 0.00 of 1 GPU held\n"));
}

TEST(GpuPictureTest, NoLineIsWiderThanTheTerminal) {
  for (int columns = kPictureColumnsMin; columns <= 140; ++columns) {
    std::istringstream lines(WholeWorld({.columns = columns}));
    for (std::string line; std::getline(lines, line);) {
      const auto width = std::ranges::count_if(
          line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
      EXPECT_LE(width, columns) << line;
      EXPECT_NE(line.empty() ? 'x' : line.back(), ' ') << line;
    }
  }
}

TEST(GpuPictureTest, ColourAddsEscapesAndNothingElse) {
  const std::string plain = WholeWorld({});
  const std::string coloured = WholeWorld({.colour = true});
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
  EXPECT_THAT(coloured, HasSubstr("\x1b[36m■ train"));
  EXPECT_EQ(std::regex_replace(coloured, std::regex("\x1b\\[[0-9]+m"), ""), plain);
}

TEST(GpuPictureTest, NoTextFromOutsideSteersTheTerminal) {
  Inventory node = WholeNode();
  node.devices.gpus.resize(1);
  node.devices.gpus[0].product = "T4\x1b[2J\xc3\xa9";
  EXPECT_EQ(NodesOf(PictureOf({node}, {}, {.columns = 80})),
            R"(
whole-1  1 x T4\u001b[2Jé, whole                                      0 % held
  0  │· free                                                                 │
)");
}

}  // namespace
}  // namespace offcut::api
