#include "binpack/mig_mean_field.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/binpack/mig_world.h"

namespace offcut::binpack {
namespace {

using ::testing::SizeIs;

ProfileWeights WeightsOf(const GpuModel& model, const std::vector<std::string>& names) {
  ProfileWeights weights(model.profiles.size());
  for (const std::string& name : names) {
    weights[static_cast<std::size_t>(model.FindProfile(name).value_or(0))] = 1;
  }
  return weights;
}

std::int64_t Of(const MigLayouts& layouts, const MeanFieldLevel& level, const std::string& profile,
                int start) {
  const int index = layouts.model->FindProfile(profile).value_or(-1);
  const int slices = layouts.model->profiles[static_cast<std::size_t>(index)].memory_slices;
  const int layout = FindLayout(layouts, {{{index, {start, slices}}}});
  return level.potential[static_cast<std::size_t>(layout)];
}

// One profile that fills a GPU: 0.85, 1 and 1.1 arrivals a life for each, so some are always lost.
TEST(SolveMeanFieldTest, IsFullerAtHigherLoads) {
  const GpuModel& model = Model("A30-24GB");
  const MigLayouts layouts = BuildMigLayouts(model, {});
  const auto levels = SolveMeanField(layouts, WeightsOf(model, {"4g.24gb"}));
  ASSERT_THAT(levels, SizeIs(3));
  EXPECT_LT(levels[0].fill_permille, levels[1].fill_permille);
  EXPECT_LT(levels[1].fill_permille, levels[2].fill_permille);
  EXPECT_LT(levels[2].fill_permille, 1000);
}

// One profile that fills a GPU costs c = h(empty) - h(full) everywhere, so taking a pod spares only
// when no other GPU could: at some rate r, and then 1 - c. h(empty) = r (1 - c), 2 h(full) =
// h(empty), so c = h(empty) / 2 = r / (2 + r): between nothing and the pod itself.
TEST(SolveMeanFieldTest, AnEmptyGpuIsWorthLessThanThePodsItSaves) {
  const GpuModel& model = Model("A30-24GB");
  const MigLayouts layouts = BuildMigLayouts(model, {});
  for (const auto& level : SolveMeanField(layouts, WeightsOf(model, {"4g.24gb"}))) {
    EXPECT_EQ(level.potential.front(), 0);
    EXPECT_GT(Of(layouts, level, "4g.24gb", 0), 0);
    EXPECT_LT(Of(layouts, level, "4g.24gb", 0), 1'000'000);
  }
}

//  slice  0 1 2 3 4 5 6 7
//         3 3 3 3 . . . .     the 4g has lost its only start
//         . . . . 3 3 3 3
TEST(SolveMeanFieldTest, A3gCostsLessOnTheRight) {
  const GpuModel& model = Model("A100-40GB");
  const MigLayouts layouts = BuildMigLayouts(model, {});
  const auto weights =
      WeightsOf(model, {"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"});
  for (const auto& level : SolveMeanField(layouts, weights)) {
    EXPECT_LT(Of(layouts, level, "3g.20gb", 4), Of(layouts, level, "3g.20gb", 0));
  }
}

TEST(SolveMeanFieldTest, DependsOnSharesAloneNotOnTheirScale) {
  const GpuModel& model = Model("A30-24GB");
  const MigLayouts layouts = BuildMigLayouts(model, {});
  ProfileWeights weights = WeightsOf(model, {"1g.6gb", "2g.12gb", "4g.24gb"});
  const auto once = SolveMeanField(layouts, weights);
  for (std::int64_t& weight : weights) weight *= 1024;
  const auto again = SolveMeanField(layouts, weights);
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].potential, again[i].potential);
    EXPECT_EQ(once[i].fill_permille, again[i].fill_permille);
  }
}

// The "+me" of an A30 needs the only accelerator. Where half of the pods ask for it, the second
// instance beside one that holds it offers less than beside one that does not.
TEST(SolveMeanFieldTest, PricesTheOnlyAccelerator) {
  const GpuModel& model = Model("A30-24GB");
  const MigLayouts layouts = BuildMigLayouts(model, AllProfiles(model));
  for (const auto& level : SolveMeanField(layouts, WeightsOf(model, {"1g.6gb", "1g.6gb+me"}))) {
    EXPECT_GT(Of(layouts, level, "1g.6gb+me", 0), Of(layouts, level, "1g.6gb", 0));
  }
}

}  // namespace
}  // namespace offcut::binpack
