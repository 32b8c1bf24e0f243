#include "binpack/mig_layouts.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binpack/mig_packing.h"
#include "test/binpack/mig_world.h"

namespace offcut::binpack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

int Profile(const GpuModel& model, const std::string& name) {
  return model.FindProfile(name).value_or(-1);
}

MigInstance At(const GpuModel& model, const std::string& name, int start) {
  const int profile = Profile(model, name);
  return {profile, {start, model.profiles[static_cast<std::size_t>(profile)].memory_slices}};
}

// Left half, slices 0 to 3: one instance of 4, or two pairs of 5 ways each ({}, 1 left, 1 right,
// both, one of 2): 26. Right half: one of 4, or 5 ways for the pair 4,5 and 3 for 6,7 (slice 7 has
// no 1g): 16. With the 7g: 26 * 16 + 1 = 417.
TEST(MigLayoutsTest, ASevenSlicePartHas417) {
  const GpuModel& model = Model("A100-80GB");
  EXPECT_THAT(BuildMigLayouts(model, {}).layouts, SizeIs(417));
}

// Two pairs of 5 ways, or one instance of all: 26; the "+me" needs profiles that know it.
TEST(MigLayoutsTest, AnA30Has26) {
  EXPECT_THAT(BuildMigLayouts(Model("A30-24GB"), {}).layouts, SizeIs(26));
  EXPECT_THAT(BuildMigLayouts(Model("RTX-PRO-6000-Blackwell-96GB"), {}).layouts, SizeIs(26));
}

// The plain ones, and one for each 1g or 2g of a plain layout that holds the accelerator instead.
// Pairs hold 0, 1, 1, 2, 1 instances: 5 * 5 layouts of two pairs hold 2 * 5 * 5 = 50. 26 + 50.
TEST(MigLayoutsTest, TheOnlyAcceleratorTellsLayoutsApart) {
  const GpuModel& model = Model("A30-24GB");
  EXPECT_THAT(BuildMigLayouts(model, AllProfiles(model)).layouts, SizeIs(76));
}

//  slice  0 1 2 3 4 5 6 7
//         4 4 4 4 . . . .     and 1 1 1 1 . . . .: one mask, two futures
TEST(MigLayoutsTest, OneMaskMayBeSeveralLayouts) {
  const GpuModel& model = Model("A100-80GB");
  const MigLayouts layouts = BuildMigLayouts(model, {});
  const int one = FindLayout(layouts, {{At(model, "4g.40gb", 0)}});
  const int four = FindLayout(layouts, {{At(model, "1g.10gb", 0), At(model, "1g.10gb", 1),
                                         At(model, "1g.10gb", 2), At(model, "1g.10gb", 3)}});
  EXPECT_NE(one, four);
  EXPECT_EQ(layouts.layouts[static_cast<std::size_t>(one)].used_slices, 0x0F);
  EXPECT_EQ(layouts.layouts[static_cast<std::size_t>(four)].used_slices, 0x0F);
  EXPECT_THAT(layouts.layouts[static_cast<std::size_t>(one)].after_exit, ElementsAre(0));
  EXPECT_THAT(layouts.layouts[static_cast<std::size_t>(four)].after_exit, SizeIs(4));
}

TEST(MigLayoutsTest, InstancesThatDifferInNameAloneAreOneLayout) {
  const GpuModel& model = Model("A100-80GB");
  const MigLayouts layouts = BuildMigLayouts(model, {});
  EXPECT_EQ(FindLayout(layouts, {{At(model, "3g.40gb", 0)}}),
            FindLayout(layouts, {{At(model, "4g.40gb", 0)}}));
  EXPECT_EQ(FindLayout(layouts, {{At(model, "1g.20gb", 2)}}),
            FindLayout(layouts, {{At(model, "2g.20gb", 2)}}));
}

TEST(MigLayoutsTest, APlainProfileStandsForOneThatIsNotKnown) {
  const GpuModel& model = Model("A100-80GB");
  const MigLayouts layouts = BuildMigLayouts(model, {});
  EXPECT_EQ(FindLayout(layouts, {{At(model, "1g.10gb+me", 3)}}),
            FindLayout(layouts, {{At(model, "1g.10gb", 3)}}));
  EXPECT_THAT(layouts.layouts.front().steps[static_cast<std::size_t>(Profile(model, "1g.10gb+me"))],
              IsEmpty());
}

// "+me.all" holds all four decoders. Three "-me" beside it, read as three 1g, would need three
// more.
TEST(MigLayoutsTest, SlicesAloneDecideWhereStandInsWouldNeedTooManyEngines) {
  const GpuModel& model = Model("RTX-PRO-6000-Blackwell-96GB");
  const MigLayouts layouts = BuildMigLayouts(model, {Profile(model, "1g.24gb+me.all")});
  const int layout =
      FindLayout(layouts, {{At(model, "1g.24gb+me.all", 0), At(model, "1g.24gb-me", 3),
                            At(model, "1g.24gb-me", 6), At(model, "1g.24gb-me", 9)}});
  EXPECT_EQ(layouts.layouts[static_cast<std::size_t>(layout)].free_slices, 0);
}

// From every legal state of every model, a step is offered iff the placement code has room for it,
// and it leads to the layout of the state that follows.
TEST(MigLayoutsTest, StepsAreExactlyThePlacementsThatFit) {
  for (const GpuModel& model : BuiltInModels()) {
    if (model.profiles.empty()) continue;
    const ProfileSet profiles = AllProfiles(model);
    const MigLayouts layouts = BuildMigLayouts(model, profiles);
    for (const MigState& state : ReachableStates(model, profiles)) {
      const MigGpu gpu{state};
      const MigRoom room = RoomOf(model, gpu);
      const MigLayout& layout = layouts.layouts[static_cast<std::size_t>(FindLayout(layouts, gpu))];
      for (const int p : profiles) {
        const MigProfile& profile = model.profiles[static_cast<std::size_t>(p)];
        std::vector<LayoutStep> expected;
        for (const int start : profile.starts) {
          if (!FitsAt(profile, start, room)) continue;
          MigGpu more = gpu;
          more.instances.push_back({p, {start, profile.memory_slices}});
          expected.push_back({start, FindLayout(layouts, more)});
        }
        ASSERT_EQ(layout.steps[static_cast<std::size_t>(p)], expected) << model.name;
      }
    }
  }
}

}  // namespace
}  // namespace offcut::binpack
