#include "binpack/mig_prices.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "binpack/mig_mean_field.h"
#include "binpack/packing_model.h"
#include "binpack/strategy.h"
#include "test/binpack/mig_world.h"
#include "test/testing/worlds.h"

namespace offcut::binpack {
namespace {

using ::offcut::testing::MigNode;
using ::offcut::testing::ModelNamed;
using ::offcut::testing::PoolNode;
using ::offcut::testing::Profiles;
using ::offcut::testing::SharedNode;
using ::offcut::testing::ToText;

WorkloadClass Instances(const std::string& profile, std::int64_t count, int share_units = 0) {
  return {
      {.kind = DemandKind::kInstance, .gpus = 1, .share_units = share_units, .profile = profile},
      count};
}

// Of A100s in MIG mode, empty as yet.
Outlook OfA100s(std::vector<WorkloadClass> classes) {
  const Gpu gpu = MigNode("A100-40GB", {""}).gpus.front();
  return {.workload = {.classes = std::move(classes)},
          .capacities = {{.gpu = gpu, .count = 8, .mig_fill_permille = 0}}};
}

Choice ChoiceOn(const PackingModel& model, const NodeState& node, const RequestShape& shape) {
  const CompactNode compact = Compact(node);
  return *Choose({.model = model, .node = {node, compact}, .shape = shape});
}

// A pod that is lost asks for 1/8 or 4/8 of a GPU: 312 milli on average, by whole ones.
TEST(MigPricesTest, AreTheMeanFieldsPotentialsInPartsOfAGpu) {
  const GpuModel& model = Model("A100-40GB");
  ProfileWeights weights(model.profiles.size());
  weights[static_cast<std::size_t>(*model.FindProfile("1g.5gb"))] = 1;
  weights[static_cast<std::size_t>(*model.FindProfile("3g.20gb"))] = 1;
  const MigPrices prices = MakeMigPrices(ModelNamed("A100-40GB"), weights);
  const MigLayouts layouts =
      BuildMigLayouts(model, {*model.FindProfile("1g.5gb"), *model.FindProfile("3g.20gb")});
  const auto solved = SolveMeanField(layouts, weights);
  ASSERT_EQ(prices.levels.size(), solved.size());
  for (std::size_t l = 0; l < solved.size(); ++l) {
    for (const MigState& state : ReachableStates(model, ClassicProfiles(model))) {
      NodeState node = MigNode("A100-40GB", {""});
      node.gpus.front().state = MigGpu{state};
      const std::int64_t pods =
          solved[l].potential[static_cast<std::size_t>(FindLayout(layouts, {state}))];
      EXPECT_EQ(UnusableOf(prices.levels[l], Compact(node).gpus.front()), pods * 312 / 1000);
    }
  }
}

TEST(MigPricesTest, TakeTheLevelOfTheNearestFill) {
  const MigPrices prices{
      .levels = {{.fill_permille = 700}, {.fill_permille = 800}, {.fill_permille = 850}}};
  EXPECT_EQ(prices.At(0).fill_permille, 700);
  EXPECT_EQ(prices.At(750).fill_permille, 700);
  EXPECT_EQ(prices.At(751).fill_permille, 800);
  EXPECT_EQ(prices.At(1000).fill_permille, 850);
}

// A 7g fits on an empty GPU alone; so the small one goes where a small one is, whatever the index.
TEST(MigPricesTest, KeepAnEmptyGpuEmpty) {
  const auto model = PreparePacking("offcut", {}, {}, 0,
                                    OfA100s({Instances("1g.5gb", 8), Instances("7g.40gb", 4)}));
  EXPECT_EQ(
      ToText(MigNode("A100-40GB", {"", "1g.5gb@0"}),
             ChoiceOn(*model, MigNode("A100-40GB", {"", "1g.5gb@0"}), Profiles("1g.5gb")).placement)
          .substr(0, 2),
      "1:");
}

// With slices 0 to 3 taken a 3g needs 4 to 7: the 1g goes elsewhere, on the GPU that is broken.
TEST(MigPricesTest, KeepRoomThatAnExpectedProfileNeeds) {
  const auto model = PreparePacking("offcut", {}, {}, 0,
                                    OfA100s({Instances("1g.5gb", 8), Instances("3g.20gb", 8)}));
  const NodeState node = MigNode("A100-40GB", {"4g.20gb@0", "4g.20gb@0 1g.5gb@5"});
  EXPECT_EQ(ToText(node, ChoiceOn(*model, node, Profiles("1g.5gb")).placement).substr(0, 2), "1:");
}

TEST(MigPricesTest, AreSolvedAnewOnlyForOtherProportions) {
  const auto first = PreparePacking("offcut", {}, {}, 0,
                                    OfA100s({Instances("1g.5gb", 8), Instances("3g.20gb", 8)}));
  const auto same =
      PreparePacking("offcut", {}, {}, 0,
                     OfA100s({Instances("1g.5gb", 16), Instances("3g.20gb", 16)}), first.get());
  const auto other =
      PreparePacking("offcut", {}, {}, 0,
                     OfA100s({Instances("1g.5gb", 16), Instances("3g.20gb", 8)}), first.get());
  const auto mig_of = [](const auto& model) { return model->potential.models.front().mig; };
  ASSERT_NE(mig_of(first), nullptr);
  EXPECT_EQ(mig_of(same), mig_of(first));
  EXPECT_NE(mig_of(other), mig_of(first));
}

// Both halves of the pool are of use to the class before and after: nothing more becomes unusable.
TEST(MigPricesTest, OfAStaticPoolIsNothingWhereItServesWhatIsExpected) {
  const NodeState node = PoolNode("A100-40GB", {{"3g.20gb", 2, 0}});
  Outlook outlook{.workload = {{Instances("3g.20gb", 4, 700)}}};
  const auto model = PreparePacking("offcut", {}, {}, 0, outlook);
  RequestShape shape;
  shape.pool_units = {{.pool = 0, .count = 1}};
  EXPECT_EQ(ChoiceOn(*model, node, shape).price.cost, 0);
}

// A slot is its part of the GPU, be it a quarter or a tenth.
TEST(MigPricesTest, OfASlotAreTheSameOnGpusOfManySlotsAndOfFew) {
  Outlook outlook{.workload = {{{{.kind = DemandKind::kSlot, .gpus = 1, .share_units = 350}, 4}}}};
  const auto model = PreparePacking("offcut", {}, {}, 0, outlook);
  for (const char* slots : {"....", "X...", "..........", "XXXX......"}) {
    EXPECT_EQ(ChoiceOn(*model, SharedNode(Sharing::kMps, {slots}), {.slots = 1}).price.cost, 0)
        << slots;
  }
}

}  // namespace
}  // namespace offcut::binpack
