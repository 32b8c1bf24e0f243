#include "quota/amount.h"

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

}  // namespace
}  // namespace offcut::quota
