// What shares a GPU is never charged more than the GPU, whatever shares it.
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "binpack/gpu_model.h"
#include "binpack/mig_states.h"
#include "quota/amount.h"
#include "test/quota/property_steps.h"

namespace offcut::quota {
namespace {

// Every legal layout of every model, by enumeration.
TEST(DeviceSumTest, InstancesOfEveryLegalLayoutStayWithinTheGpu) {
  for (const binpack::GpuModel& model : binpack::BuiltInModels()) {
    if (model.profiles.empty()) continue;
    for (const binpack::MigState& state :
         binpack::ReachableStates(model, binpack::AllProfiles(model))) {
      Amount sum;
      for (const binpack::MigInstance& instance : state) {
        const auto& profile = model.profiles.at(static_cast<std::size_t>(instance.profile));
        const Amount charge =
            ChargeInstance(profile.name, profile.memory_slices, model.memory_slices,
                           profile.compute_slices, model.compute_slices, profile.memory_mib);
        EXPECT_GT(charge.devices, 0);
        sum += charge;
      }
      ASSERT_LE(sum.devices, kWholeDevice) << model.name;
    }
  }
}

// Pods come to a GPU's slots and leave in any order. No slot is free, and all of them are charged
// the GPU but for the thousandths that rounding may lose: one a slot that is charged more than the
// rest.
TEST(DeviceSumTest, SlotsStayWithinTheGpuInWhateverOrderTheyAreTaken) {
  const std::uint64_t seed = PropertySeed();
  std::mt19937_64 random(seed);
  for (int slots = 1; slots <= 64; ++slots) {
    std::vector<std::int64_t> charges;
    std::int64_t sum = 0;
    for (int step = 0; step < 1'000; ++step) {
      const bool comes = charges.empty() || (random() % 2 == 0 && std::ssize(charges) < slots);
      if (comes) {
        charges.push_back(ChargeSlot(slots, 81'920, sum).devices);
        ASSERT_GT(charges.back(), 0) << slots << " slots, seed " << seed;
        sum += charges.back();
      } else {
        std::swap(charges[random() % charges.size()], charges.back());
        sum -= charges.back();
        charges.pop_back();
      }
      ASSERT_LE(sum, kWholeDevice) << slots << " slots, seed " << seed;
      if (std::ssize(charges) == slots) {
        ASSERT_GE(sum, kWholeDevice / slots * slots) << slots << ", seed " << seed;
      }
    }
  }
}

TEST(DeviceSumTest, FractionsThatFitAGpusMemoryStayWithinTheGpu) {
  const std::uint64_t seed = PropertySeed();
  std::mt19937_64 random(seed);
  for (int world = 0; world < 10'000; ++world) {
    const auto memory_mib = static_cast<std::int64_t>(1 + random() % 300'000);
    Amount sum;
    for (std::int64_t left = memory_mib; left > 0;) {
      const std::int64_t takes =
          1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(left));
      sum += ChargeFraction(takes, memory_mib, 10);
      left -= takes;
    }
    ASSERT_LE(sum.devices, kWholeDevice) << memory_mib << " MiB, seed " << seed;
    ASSERT_EQ(sum.memory_mib, memory_mib);
  }
}

}  // namespace
}  // namespace offcut::quota
