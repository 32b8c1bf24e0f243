// Values worked out by hand from NVIDIA's printed placements of the 7-slice parts.
#include "binpack/mig_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binpack/mig_packing.h"
#include "test/binpack/mig_world.h"

namespace offcut::binpack {
namespace {

using ::testing::SizeIs;

// What the table offers for a profile on a GPU in that state.
std::optional<MigOffer> Offer(const MigTable& table, const MigState& state,
                              const std::string& profile) {
  const int index = SevenSlices().model->FindProfile(profile).value_or(-1);
  return table.offers[static_cast<std::size_t>(Layout(state))][static_cast<std::size_t>(index)];
}

// 1g@6: 1g@6 itself (1 slice), doubled 1g@6 (2), 3g@4 (4): 7. Doubled 1g@6: 1g@6 (1), itself (2),
// 3g@4 (4): 7. 2g@4: 1g@4 and @5 (2), doubled @4 (2), itself (2), 3g@4 (4): 10. 3g@4: 1g@4, @5, @6
// (3), doubled @4, @6 (4), 2g@4 (2), itself (4): 13; at 0: four 1g (4), two doubled (4), two 2g
// (4), 3g@0 (4), 4g@0 (4): 20. 4g@0: the same 20. 7g: nothing fits beside it, and a full GPU counts
// 0.
TEST(MfiTest, PlacesTheFirstInstanceOfAnEmptyGpu) {
  const MigTable table = TableOf(SevenSlices(), MfiPotential(SevenSlices()));
  const auto cost_and_start = [&](const std::string& profile) {
    const auto offer = Offer(table, {}, profile);
    return offer ? std::pair(offer->cost, offer->start) : std::pair(std::int64_t{-1}, -1);
  };
  EXPECT_EQ(cost_and_start("1g.5gb"), std::pair(std::int64_t{7}, 6));
  EXPECT_EQ(cost_and_start("1g.10gb"), std::pair(std::int64_t{7}, 6));
  EXPECT_EQ(cost_and_start("2g.10gb"), std::pair(std::int64_t{10}, 4));
  EXPECT_EQ(cost_and_start("3g.20gb"), std::pair(std::int64_t{13}, 4));
  EXPECT_EQ(cost_and_start("4g.20gb"), std::pair(std::int64_t{20}, 0));
  EXPECT_EQ(cost_and_start("7g.40gb"), std::pair(std::int64_t{0}, 0));
  EXPECT_EQ(Of(MfiPotential(SevenSlices()), {At("3g.20gb", 0)}), 20);
}

TEST(FirstFitTableTest, TakesTheLowestStart) {
  EXPECT_EQ(Offer(FirstFitTable(SevenSlices()), {}, "3g.20gb")->start, 0);
  EXPECT_EQ(Offer(FirstFitTable(SevenSlices()), {At("1g.5gb", 0)}, "1g.5gb")->start, 1);
}

TEST(BestFitTableTest, CostsWhatIsFreeAndTakesTheHighestStart) {
  const MigTable table = BestFitTable(SevenSlices());
  EXPECT_EQ(Offer(table, {}, "3g.20gb")->start, 4);
  EXPECT_EQ(Offer(table, {}, "3g.20gb")->cost, 8);
  EXPECT_EQ(Offer(table, {At("3g.20gb", 4)}, "4g.20gb")->cost, 4);
  EXPECT_EQ(Offer(table, {At("3g.20gb", 0)}, "4g.20gb"), std::nullopt);
}

TEST(PickGpuTest, TakesTheFullerOfEqualCostsThenTheLowerIndex) {
  const int profile = SevenSlices().model->FindProfile("7g.40gb").value_or(-1);
  const MigTable table = TableOf(SevenSlices(), LayoutPotential(SevenSlices().layouts.size()));
  EXPECT_EQ(PickGpu(SevenSlices(), table, std::vector{0, 0}, profile)->gpu, 0);
  const int small = SevenSlices().model->FindProfile("1g.5gb").value_or(-1);
  const int used = Layout({At("3g.20gb", 4)});
  EXPECT_EQ(PickGpu(SevenSlices(), table, std::vector{0, used, used}, small)->gpu, 1);
  EXPECT_EQ(PickGpu(SevenSlices(), table, std::vector{used, used}, profile), std::nullopt);
}

TEST(TableAtTest, TakesTheNearestFillAndTheLowerOfTwo) {
  MigStrategy strategy{.name = "offcut", .levels = {}};
  for (const int fill : {800, 900}) strategy.levels.push_back({.fill_permille = fill, .table = {}});
  const auto* low = &strategy.levels[0].table;
  const auto* high = &strategy.levels[1].table;
  EXPECT_EQ(&TableAt(strategy, 0, 100), low);
  EXPECT_EQ(&TableAt(strategy, 85, 100), low);
  EXPECT_EQ(&TableAt(strategy, 86, 100), high);
  EXPECT_EQ(&TableAt(strategy, 100, 100), high);
}

TEST(MakeMigStrategyTest, KnowsItsNamesAndNoOther) {
  const ProfileWeights weights = EqualWeights(SevenSlices());
  for (const std::string_view name : MigStrategyNames()) {
    const auto strategy = MakeMigStrategy(name, SevenSlices(), weights);
    ASSERT_TRUE(strategy.has_value()) << name;
    EXPECT_EQ(strategy->name, name);
    EXPECT_THAT(strategy->levels, SizeIs(name == "offcut" ? 3 : 1));
  }
  EXPECT_EQ(MakeMigStrategy("best", SevenSlices(), weights), std::nullopt);
}

// Fills GPUs at random and by each strategy in turn, engines included: whoever picks, picks a place
// that the placement code has room for, and picks one whenever there is one.
TEST(MigStrategyPropertyTest, PicksLegalPlacesAndRefusesNothingThatFits) {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  for (const char* name : {"A100-40GB", "A30-24GB", "RTX-PRO-6000-Blackwell-96GB"}) {
    const GpuModel& model = Model(name);
    const MigLayouts layouts = BuildMigLayouts(model, AllProfiles(model));
    for (const std::string_view strategy_name : MigStrategyNames()) {
      const auto strategy = MakeMigStrategy(strategy_name, layouts, EqualWeights(layouts));
      std::vector<MigGpu> gpus(3);
      std::vector<int> numbers(gpus.size());
      for (int i = 0; i < 300; ++i) {
        const auto p = static_cast<int>(random() % model.profiles.size());
        const MigProfile& profile = model.profiles[static_cast<std::size_t>(p)];
        const bool is_feasible = std::ranges::any_of(gpus, [&](const MigGpu& gpu) {
          return std::ranges::any_of(profile.starts, [&](int start) {
            return FitsAt(profile, start, RoomOf(model, gpu));
          });
        });
        const auto pick = PickGpu(layouts, strategy->levels.back().table, numbers, p);
        ASSERT_EQ(pick.has_value(), is_feasible) << name << " " << strategy_name;
        if (pick) {
          MigGpu& gpu = gpus[static_cast<std::size_t>(pick->gpu)];
          ASSERT_TRUE(FitsAt(profile, pick->offer.start, RoomOf(model, gpu)));
          gpu.instances.push_back({p, {pick->offer.start, profile.memory_slices}});
          ASSERT_EQ(FindLayout(layouts, gpu), pick->offer.layout_after);
        }
        const std::size_t g = random() % gpus.size();
        if (!gpus[g].instances.empty() && random() % 2 == 0) gpus[g].instances.pop_back();
        for (std::size_t k = 0; k < gpus.size(); ++k) numbers[k] = FindLayout(layouts, gpus[k]);
      }
    }
  }
}

// The cost does not depend on how the GPUs are numbered; which of equal GPUs it is, does.
TEST(MigStrategyPropertyTest, TheOrderOfGpusDoesNotMatter) {
  const std::uint64_t seed = std::random_device{}();
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 random(seed);
  const auto count = SevenSlices().layouts.size();
  for (const std::string_view name : {"mfi", "fgd-mask", "cap-mask", "offcut"}) {
    const auto strategy = MakeMigStrategy(name, SevenSlices(), EqualWeights(SevenSlices()));
    const MigTable& table = strategy->levels.front().table;
    for (int i = 0; i < 200; ++i) {
      std::vector<int> gpus(6);
      for (int& gpu : gpus) gpu = static_cast<int>(random() % count);
      const int profile = SevenSlices().profiles[random() % SevenSlices().profiles.size()];
      const auto pick = PickGpu(SevenSlices(), table, gpus, profile);
      std::ranges::shuffle(gpus, random);
      const auto again = PickGpu(SevenSlices(), table, gpus, profile);
      ASSERT_EQ(pick.has_value(), again.has_value());
      if (!pick) continue;
      ASSERT_EQ(pick->offer.cost, again->offer.cost);
    }
  }
}

}  // namespace
}  // namespace offcut::binpack
