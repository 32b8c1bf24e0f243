#include "scheduler/capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using binpack::Sharing;
using quota::Amount;
using ::testing::IsEmpty;
using testing::TenancyOf;

Inventory Named(std::string name, binpack::NodeState devices) {
  return {.name = std::move(name), .devices = std::move(devices)};
}

Snapshot Cluster(std::vector<Inventory> nodes) {
  Snapshot snapshot;
  for (Inventory& node : nodes) snapshot.PutNode(std::move(node));
  return snapshot;
}

TEST(CapacityTest, GpuIs1400DevicesItsMemoryAnd1000CoresInWhateverIsMadeOfIt) {
  const Snapshot snapshot = Cluster({Named("fractions", testing::FractionNode(24'000, {{}, {}})),
                                     Named("slots", testing::SharedNode(Sharing::kMps, {"...."}))});
  const auto capacity = CapacityByPool(snapshot, TenancyOf({}));
  ASSERT_EQ(capacity.size(), 1U);
  EXPECT_EQ(capacity.at("default"), (Amount{.devices = std::int64_t{3} * 1400,
                                            .memory_mib = 24'000 + 24'000 + 16'000,
                                            .cores_permille = 3000}));
}

TEST(CapacityTest, PoolHasTheGpusOfItsModelsAndDefaultTheRest) {
  const Snapshot snapshot = Cluster({testing::WholeInventory("a", 8, "A100-80GB"),
                                     testing::WholeInventory("b", 4, "H100-80GB-SXM"),
                                     testing::WholeInventory("c", 2, "A100-40GB")});
  const auto capacity =
      CapacityByPool(snapshot, TenancyOf({}, {{"large", {"A100*"}}, {"absent", {"B200*"}}}));
  ASSERT_EQ(capacity.size(), 2U);
  EXPECT_EQ(capacity.at("large").devices, 10 * 1400);
  EXPECT_EQ(capacity.at("default").devices, 4 * 1400);
}

TEST(CapacityTest, UnhealthyGpusCount) {
  const auto capacity =
      CapacityByPool(Cluster({Named("n", testing::WholeNode(".uU"))}), TenancyOf({}));
  EXPECT_EQ(capacity.at("default").devices, 3 * 1400);
}

// A100-40GB: 1g.5gb is 1 of 8 memory slices (175 of 1400) and 1 of 7 compute slices (142 of 1000),
// 3g.20gb 4 of 8 and 3 of 7 (428).
TEST(CapacityTest, StaticInstancesAreWhatTheyAreCharged) {
  const Snapshot snapshot =
      Cluster({Named("n", testing::PoolNode("A100-40GB", {{"1g.5gb", 4, 0}, {"3g.20gb", 2, 0}}))});
  const Amount amount = CapacityByPool(snapshot, TenancyOf({})).at("default");
  EXPECT_EQ(amount.devices, 4 * 175 + 2 * 700);
  EXPECT_EQ(amount.cores_permille, 4 * 142 + 2 * 428);
  EXPECT_THAT(amount.instances,
              ::testing::ElementsAre(std::pair("1g.5gb", 4), std::pair("3g.20gb", 2)));
}

TEST(CapacityTest, ReplicasOfOneInstanceAreOneInstance) {
  binpack::NodeState devices = testing::PoolNode("A100-40GB", {{"1g.5gb", 8, 0}});
  devices.pools[0].replicas = 4;
  const Amount amount = CapacityByPool(Cluster({Named("n", devices)}), TenancyOf({})).at("default");
  EXPECT_EQ(amount.instances.at("1g.5gb"), 2);
  EXPECT_EQ(amount.devices, 2 * 175);
}

TEST(CapacityTest, GpuThatIsCutOnDemandHasAsManyOfEachProfileAsFitAlone) {
  const Snapshot snapshot = Cluster({Named("n", testing::MigNode("A100-40GB", {"", ""}))});
  const Amount amount = CapacityByPool(snapshot, TenancyOf({})).at("default");
  EXPECT_EQ(amount.devices, 2 * 1400);
  EXPECT_EQ(amount.instances.at("1g.5gb"), 14);
  EXPECT_EQ(amount.instances.at("7g.40gb"), 2);
}

TEST(CapacityTest, InstancesOfAnUnknownModelAreCountedAlone) {
  binpack::NodeState devices;
  devices.pools.push_back({.profile = "1g.99gb", .memory_slices = 1, .units = 3});
  const Amount amount = CapacityByPool(Cluster({Named("n", devices)}), TenancyOf({})).at("default");
  EXPECT_EQ(amount, (Amount{.instances = {{"1g.99gb", 3}}}));
}

TEST(CapacityTest, ClusterWithoutDevicesHasNoPools) {
  EXPECT_THAT(CapacityByPool(Cluster({Named("cpu", {})}), TenancyOf({})), IsEmpty());
}

// Two GPUs stay, four may be taken back; of T4s there are none but such.
TEST(CapacityTest, NothingIsGuaranteedBySpotNodes) {
  Inventory spot = testing::WholeInventory("spot", 4);
  Inventory spot_t4 = testing::SharedInventory("t4", binpack::Sharing::kMps, 1, 4);
  spot.is_spot = true;
  spot_t4.is_spot = true;
  const Snapshot snapshot =
      testing::SnapshotOf({testing::WholeInventory("stays", 2), spot, spot_t4});
  const Tenancy tenancy = testing::TenancyOf({}, {{.name = "t4", .models = {"Tesla-T4"}}});
  const auto capacity = CapacityByPool(snapshot, tenancy);
  ASSERT_TRUE(capacity.contains("default"));
  EXPECT_EQ(capacity.at("default").devices, 2 * 1400);
  ASSERT_TRUE(capacity.contains("t4"));
  EXPECT_EQ(capacity.at("t4").devices, 0);
}

}  // namespace
}  // namespace offcut::scheduler
