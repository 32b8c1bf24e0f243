#include "quota/amount.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace offcut::quota {
namespace {

// 7 x 1g on 8 slices: 7 x 1400/8 = 7 x 175 = 1225. 4g + 3g: 4/8 + 4/8 = 700 + 700.
TEST(AmountTest, InstancesOfOneGpuNeverAddUpToMoreThanTheGpu) {
  Amount seven;
  for (int i = 0; i < 7; ++i) seven += ChargeInstance("1g.5gb", 1, 8, 1, 7, 4'864);
  EXPECT_EQ(seven.devices, 1225);
  EXPECT_EQ(seven.instances.at("1g.5gb"), 7);
  Amount halves = ChargeInstance("4g.20gb", 4, 8, 4, 7, 19'968);
  halves += ChargeInstance("3g.20gb", 4, 8, 3, 7, 19'968);
  EXPECT_EQ(halves.devices, kWholeDevice);
  EXPECT_EQ(halves.cores_permille, 571 + 428);
}

// ceil(1400 / 3) = 467.
TEST(AmountTest, ChargesASlotItsShareRoundedUp) {
  EXPECT_EQ(ChargeSlot(3, 15'360).devices, 467);
  EXPECT_EQ(ChargeSlot(4, 15'360).devices, 350);
  EXPECT_EQ(ChargeSlot(4, 15'360).memory_mib, 3'840);
}

// 467 + 467 + 466 = 1400: the third slot gets what is left.
TEST(AmountTest, ChargesTheLastSlotWhatTheOthersLeaveOfTheGpu) {
  EXPECT_EQ(ChargeSlot(3, 15'360, 0).devices, 467);
  EXPECT_EQ(ChargeSlot(3, 15'360, 467).devices, 467);
  EXPECT_EQ(ChargeSlot(3, 15'360, 934).devices, 466);
  EXPECT_EQ(ChargeSlot(3, 15'360, 1'400).devices, 0);
}

// 1g of 8 is 175; in two slots 88 + 87.
TEST(AmountTest, ChargesSlotsOfAnInstanceNoMoreThanTheInstance) {
  const Amount instance = ChargeInstance("1g.5gb", 1, 8, 1, 7, 4'864);
  EXPECT_EQ(ChargeSlotOf(instance, 2).devices, 88);
  EXPECT_EQ(
      ChargeSlotOf(instance, 2, 88),
      (Amount{
          .devices = 87, .memory_mib = 2'432, .cores_permille = 71, .instances = {{"1g.5gb", 1}}}));
}

// 1400 x 10,240 / 32,768 = 437.5: rounded down.
TEST(AmountTest, ChargesAFractionByItsMemoryRoundedDown) {
  const Amount amount = ChargeFraction(10'240, 32'768, 30);
  EXPECT_EQ(amount.devices, 437);
  EXPECT_EQ(amount.cores_permille, 300);
}

TEST(AmountTest, ReleasesExactlyWhatItCharged) {
  Amount sum = ChargeWholeGpu(81'920);
  const Amount before = sum;
  const Amount slice = ChargeInstance("2g.10gb", 2, 8, 2, 7, 9'856);
  sum += slice;
  sum -= slice;
  EXPECT_EQ(sum, before);
  EXPECT_TRUE(sum.instances.empty());
}

Amount Devices(std::int64_t devices) { return {.devices = devices}; }

// init 30, then app 4 (HAMi pull 1773), and a second app of 5. At bind it is not known how long the
// init container runs: 30 for as long as the pod is bound. Overhead comes on top.
TEST(AmountTest, ChargesAPodTheMostThatItsContainersHoldAtAnyTime) {
  const std::vector<ContainerCharge> containers = {{ContainerKind::kInit, Devices(30)},
                                                   {ContainerKind::kInit, Devices(20)},
                                                   {ContainerKind::kApp, Devices(4)},
                                                   {ContainerKind::kApp, Devices(5)}};
  EXPECT_EQ(ChargeOfPod(containers, {}).devices, 30);
  EXPECT_EQ(ChargeOfPod(containers, Devices(2)).devices, 32);
}

// The sidecar starts after the first init container and before the second: max(30, 6 + 26, 6 + 4).
TEST(AmountTest, ChargesASidecarBesideWhatStartsAfterIt) {
  const std::vector<ContainerCharge> containers = {{ContainerKind::kInit, Devices(30)},
                                                   {ContainerKind::kSidecar, Devices(6)},
                                                   {ContainerKind::kInit, Devices(26)},
                                                   {ContainerKind::kApp, Devices(4)}};
  EXPECT_EQ(ChargeOfPod(containers, {}).devices, 32);
}

// Member by member: the init container holds more memory, the apps more instances.
TEST(AmountTest, ComparesMembersApart) {
  const std::vector<ContainerCharge> containers = {
      {ContainerKind::kInit, {.memory_mib = 9, .instances = {{"1g.5gb", 1}}}},
      {ContainerKind::kApp, {.memory_mib = 4, .instances = {{"1g.5gb", 2}, {"2g.10gb", 1}}}}};
  EXPECT_EQ(ChargeOfPod(containers, {}),
            (Amount{.memory_mib = 9, .instances = {{"1g.5gb", 2}, {"2g.10gb", 1}}}));
}

TEST(AmountTest, ReadsQuotasOfPartsOfAGpu) {
  EXPECT_EQ(DevicesOf(1, 7), 200);
  EXPECT_EQ(DevicesOf(3, 8), 525);
  EXPECT_EQ(DevicesOf(1, 3), ChargeSlot(3, 15'360).devices);
  EXPECT_EQ(DevicesOf(5, 1), 7'000);
  EXPECT_EQ(DevicesOf(std::numeric_limits<std::int64_t>::max(), 1),
            std::numeric_limits<std::int64_t>::max());
}

TEST(AmountTest, StopsAtTheEndOfTheIntegers) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  Amount sum = Devices(most);
  sum += Devices(1'400);
  EXPECT_EQ(sum.devices, most);
}

}  // namespace
}  // namespace offcut::quota
