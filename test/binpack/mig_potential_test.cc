// Values worked out by hand from NVIDIA's printed placements of the 7-slice parts.
#include "binpack/mig_potential.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "test/binpack/mig_world.h"

namespace offcut::binpack {
namespace {

// 1g@6: it blocks one start of seven 1g (1 slice each), 6 of the doubled 1g's (2), none of the
// 2g's {0,2,4}, 4 of the 3g's (4), none of the 4g's; a 7g (8) no longer fits in 7 free slices.
// 1 + 2 + 4 = 7.
TEST(MfiTest, CountsBlockedStartsTimesSlices) {
  const LayoutPotential mfi = MfiPotential(SevenSlices());
  EXPECT_EQ(Of(mfi, {}), 0);
  EXPECT_EQ(Of(mfi, {At("1g.5gb", 6)}), 7);
  EXPECT_EQ(Of(mfi, {At("7g.40gb", 0)}), 0);
}

// 1g@0 leaves 7 slices. Of six profiles of weight 1, the 4g (starts at 0) and the 7g do not fit:
// 2 * 7. 3g@4: only the 7g does not fit in the 4 free slices: 4.
TEST(FgdMaskTest, CountsFreeSlicesForEachProfileWithoutRoom) {
  const LayoutPotential fgd = FgdPotential(SevenSlices(), EqualWeights(SevenSlices()));
  EXPECT_EQ(Of(fgd, {}), 0);
  EXPECT_EQ(Of(fgd, {At("1g.5gb", 0)}), 14);
  EXPECT_EQ(Of(fgd, {At("3g.20gb", 4)}), 4);
}

// Empty GPU: 8 free, and 7 1g leave 1, 4 doubled 0, 3 2g 2, 2 3g 0, one 4g 4, one 7g 0: 7.
// 3g@4, 4 free: 4 1g leave 0, 2 doubled 0, 2 2g 0, one 3g 0, one 4g 0, no 7g 4: 4.
TEST(CapMaskTest, CountsWhatTheMostCopiesLeave) {
  const LayoutPotential cap = CapPotential(SevenSlices(), EqualWeights(SevenSlices()));
  EXPECT_EQ(Of(cap, {}), 7);
  EXPECT_EQ(Of(cap, {At("3g.20gb", 4)}), 4);
}

TEST(CopiesThatFitTest, CountsTheMostInstances) {
  const auto copies = [](const MigState& state, const std::string& profile) {
    return CopiesThatFit(SevenSlices(), Layout(state),
                         SevenSlices().model->FindProfile(profile).value_or(-1));
  };
  EXPECT_EQ(copies({}, "1g.5gb"), 7);
  EXPECT_EQ(copies({}, "1g.10gb"), 4);
  EXPECT_EQ(copies({}, "2g.10gb"), 3);
  EXPECT_EQ(copies({At("1g.5gb", 3)}, "2g.10gb"), 2);
  EXPECT_EQ(copies({At("1g.5gb", 3)}, "4g.20gb"), 0);
}

}  // namespace
}  // namespace offcut::binpack
