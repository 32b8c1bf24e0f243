// Check values: counts that were worked out apart from this code, by enumerating NVIDIA's printed
// placements, and the layouts that people report from their machines.
#include "binpack/mig_states.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/binpack/mig_world.h"

namespace offcut::binpack {

// What the enumeration gives for one set of profiles; the columns of the check values.
struct Survey {
  std::size_t states = 0;
  std::size_t maximal = 0;            // states that nothing can be added to
  std::size_t maximal_multisets = 0;  // those, by profile counts alone
  std::size_t multisets = 0;          // all states, by profile counts alone
  std::size_t largest_multisets = 0;  // of those, the ones within no other
  std::size_t maximal_and_full = 0;   // maximal states without a free memory slice
  bool operator==(const Survey&) const = default;
};

void PrintTo(const Survey& survey, std::ostream* out) {
  *out << survey.states << " states, " << survey.maximal << " maximal, " << survey.maximal_multisets
       << " multisets of those, " << survey.multisets << " multisets, " << survey.largest_multisets
       << " within no other, " << survey.maximal_and_full << " maximal and full";
}

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const MigProfile& ProfileOf(const GpuModel& model, const MigInstance& instance) {
  return model.profiles.at(static_cast<std::size_t>(instance.profile));
}

// A100-80GB: 1g.10gb, 1g.10gb+me, 1g.20gb (double), 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb.
const GpuModel& SevenSlicePart() { return Model("A100-80GB"); }

std::vector<const GpuModel*> SevenSliceParts() {
  std::vector<const GpuModel*> models;
  for (const GpuModel& model : BuiltInModels()) {
    if (model.compute_slices == 7) models.push_back(&model);
  }
  return models;
}

unsigned Occupied(const MigState& state) {
  unsigned mask = 0;
  for (const MigInstance& instance : state) mask |= SliceMask(instance.slices);
  return mask;
}

int FreeSlices(const GpuModel& model, const MigState& state) {
  return model.memory_slices - std::popcount(Occupied(state));
}

int ComputeSlices(const GpuModel& model, const MigState& state) {
  int slices = 0;
  for (const MigInstance& instance : state) slices += ProfileOf(model, instance).compute_slices;
  return slices;
}

// "3g.40gb@0 1g.20gb@4"
std::string Text(const GpuModel& model, const MigState& state) {
  std::string text;
  for (const MigInstance& instance : state) {
    text += (text.empty() ? "" : " ") + ProfileOf(model, instance).name + "@" +
            std::to_string(instance.slices.start);
  }
  return text;
}

int ProfileIndex(const GpuModel& model, const std::string& name) {
  const std::optional<int> index = model.FindProfile(name);
  EXPECT_TRUE(index.has_value()) << model.name << " has no " << name;
  return index.value_or(0);
}

// The instance of that profile at that start.
MigInstance At(const GpuModel& model, const std::string& name, int start) {
  const int profile = ProfileIndex(model, name);
  return {profile, {start, model.profiles.at(static_cast<std::size_t>(profile)).memory_slices}};
}

bool Fits(const GpuModel& model, const MigState& state, const std::string& name) {
  return !IsMaximal(model, {ProfileIndex(model, name)}, state);
}

std::vector<MigState> MaximalStates(const GpuModel& model, const ProfileSet& profiles) {
  std::vector<MigState> maximal = ReachableStates(model, profiles);
  std::erase_if(maximal, [&](const MigState& state) { return !IsMaximal(model, profiles, state); });
  return maximal;
}

using Multisets = std::set<std::vector<int>>;

Multisets MultisetsOf(const GpuModel& model, const std::vector<MigState>& states) {
  Multisets multisets;
  for (const MigState& state : states) multisets.insert(ProfileCounts(model, state));
  return multisets;
}

bool IsWithin(const std::vector<int>& inner, const std::vector<int>& outer) {
  return std::ranges::equal(inner, outer, std::less_equal{});
}

bool IsWithinNoOther(const std::vector<int>& counts, const Multisets& multisets) {
  return std::ranges::none_of(multisets, [&](const std::vector<int>& other) {
    return other != counts && IsWithin(counts, other);
  });
}

Survey SurveyOf(const GpuModel& model, const ProfileSet& profiles) {
  const std::vector<MigState> states = ReachableStates(model, profiles);
  const std::vector<MigState> maximal = MaximalStates(model, profiles);
  const Multisets multisets = MultisetsOf(model, states);
  const auto within_no_other = std::ranges::count_if(
      multisets, [&](const auto& counts) { return IsWithinNoOther(counts, multisets); });
  const auto full = std::ranges::count_if(
      maximal, [&](const MigState& state) { return FreeSlices(model, state) == 0; });
  return {.states = states.size(),
          .maximal = maximal.size(),
          .maximal_multisets = MultisetsOf(model, maximal).size(),
          .multisets = multisets.size(),
          .largest_multisets = static_cast<std::size_t>(within_no_other),
          .maximal_and_full = static_cast<std::size_t>(full)};
}

// Whether one GPU can hold these instances together, wherever they stand.
bool CanHold(const GpuModel& model, const std::vector<std::string>& names) {
  std::vector<int> counts(model.profiles.size());
  for (const std::string& name : names) {
    ++counts.at(static_cast<std::size_t>(ProfileIndex(model, name)));
  }
  return MultisetsOf(model, ReachableStates(model, AllProfiles(model))).contains(counts);
}

std::size_t StateCountWithoutEngineLimits(const GpuModel& model) {
  return ReachableStates(model, AllProfiles(model), EngineLimits::kIgnored).size();
}

// Every subset of the placements that is legal by the rule itself: 2^placements candidates.
std::set<std::string> StatesByBruteForce(const GpuModel& model, const ProfileSet& profiles) {
  MigState all;
  for (int start = 0; start < model.memory_slices; ++start) {
    for (const int index : profiles) {
      const MigProfile& profile = model.profiles.at(static_cast<std::size_t>(index));
      if (std::ranges::count(profile.starts, start) == 0) continue;
      all.push_back({index, {start, profile.memory_slices}});
    }
  }
  std::set<std::string> legal;
  for (std::uint32_t subset = 0; subset < (1U << all.size()); ++subset) {
    MigState state;
    EngineCounts engines;
    int slices = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (((subset >> i) & 1U) == 0) continue;
      state.push_back(all[i]);
      engines += ProfileOf(model, all[i]).engines;
      slices += all[i].slices.size;
    }
    const bool disjoint = std::popcount(Occupied(state)) == slices;
    if (disjoint && engines.FitsIn(model.engines)) legal.insert(Text(model, state));
  }
  return legal;
}

void ExpectBruteForceAgrees(const GpuModel& model, const ProfileSet& profiles) {
  SCOPED_TRACE(model.name);
  const std::vector<MigState> states = ReachableStates(model, profiles);
  std::set<std::string> texts;
  for (const MigState& state : states) texts.insert(Text(model, state));
  EXPECT_EQ(texts.size(), states.size()) << "a state came twice";
  EXPECT_EQ(texts, StatesByBruteForce(model, profiles));
}

TEST(SliceMaskTest, SetsOneBitForEachSlice) {
  EXPECT_EQ(SliceMask({0, 1}), 0b0000'0001);
  EXPECT_EQ(SliceMask({4, 4}), 0b1111'0000);
  EXPECT_EQ(SliceMask({6, 2}), 0b1100'0000);
  EXPECT_EQ(SliceMask({0, 16}), 0xFFFF);
  EXPECT_EQ(SliceMask({15, 1}), 0x8000);
  EXPECT_EQ(SliceMask({3, 0}), 0);
}

// A100-80GB:              0:1g 1:1g+me 2:1g double 3:2g 4:3g 5:4g 6:7g
TEST(ProfileSetTest, ClassicLeavesOutSuffixesAndDoubledMemory) {
  EXPECT_THAT(AllProfiles(SevenSlicePart()), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(BaseProfiles(SevenSlicePart()), ElementsAre(0, 2, 3, 4, 5, 6));
  EXPECT_THAT(ClassicProfiles(SevenSlicePart()), ElementsAre(0, 3, 4, 5, 6));
}

// An A30 doubles nothing; of an RTX PRO 6000's eleven, 1g, 2g and 4g have no suffix.
TEST(ProfileSetTest, ClassicIsBaseWhereNothingIsDoubled) {
  const GpuModel& rtx = Model("RTX-PRO-6000-Blackwell-96GB");
  EXPECT_THAT(BaseProfiles(Model("A30-24GB")), ElementsAre(0, 2, 4));
  EXPECT_THAT(ClassicProfiles(Model("A30-24GB")), ElementsAre(0, 2, 4));
  EXPECT_THAT(BaseProfiles(rtx), ElementsAre(0, 5, 9));
  EXPECT_THAT(ClassicProfiles(rtx), ElementsAre(0, 5, 9));
}

// But for the 7g the halves are independent. Left, slices 0 to 3: two pairs, each of them empty, a
// 2g, or 1g in three ways: 5 * 5; and the 3g and the 4g: 27. Right: the pair 4, 5 and slice 6, with
// or without a 1g: 5 * 2; and the 3g: 11. 27 * 11 and the 7g: 298.
TEST(ReachableStatesTest, Counts298ClassicStatesOnEvery7SlicePart) {
  const Survey expected = {.states = 298,
                           .maximal = 19,
                           .maximal_multisets = 14,
                           .multisets = 38,
                           .largest_multisets = 12,
                           .maximal_and_full = 7};
  ASSERT_EQ(SevenSliceParts().size(), 17U);
  for (const GpuModel* model : SevenSliceParts()) {
    EXPECT_EQ(SurveyOf(*model, ClassicProfiles(*model)), expected) << model->name;
  }
}

// A pair may hold a doubled 1g too, and slices 6 and 7 are now a pair that only this one fills:
// left 6 * 6 + 2 = 38, right 6 * 3 + 1 = 19; 38 * 19 + 1 = 723.
TEST(ReachableStatesTest, Counts723StatesWithDoubledMemory) {
  const Survey expected = {.states = 723,
                           .maximal = 78,
                           .maximal_multisets = 38,
                           .multisets = 78,
                           .largest_multisets = 28,
                           .maximal_and_full = 45};
  for (const GpuModel* model : SevenSliceParts()) {
    EXPECT_EQ(SurveyOf(*model, BaseProfiles(*model)), expected) << model->name;
  }
}

// One "+me" may stand in for one 1g: 723 states, and 1596 1g instances in all of them.
TEST(ReachableStatesTest, Counts2319StatesWithOneMediaProfile) {
  const Survey expected = {.states = 2319,
                           .maximal = 239,
                           .maximal_multisets = 64,
                           .multisets = 128,
                           .largest_multisets = 44,
                           .maximal_and_full = 115};
  for (const GpuModel* model : SevenSliceParts()) {
    EXPECT_EQ(SurveyOf(*model, AllProfiles(*model)), expected) << model->name;
  }
}

// Each half is empty, a 2g, or 1g in three ways: 5 * 5; and the 4g: 26.
TEST(ReachableStatesTest, Counts26BaseStatesOnFourSliceParts) {
  const Survey expected = {.states = 26,
                           .maximal = 5,
                           .maximal_multisets = 4,
                           .multisets = 10,
                           .largest_multisets = 4,
                           .maximal_and_full = 5};
  const GpuModel& a30 = Model("A30-24GB");
  const GpuModel& rtx = Model("RTX-PRO-6000-Blackwell-96GB");
  EXPECT_EQ(SurveyOf(a30, BaseProfiles(a30)), expected);
  EXPECT_EQ(SurveyOf(rtx, BaseProfiles(rtx)), expected);
}

TEST(ReachableStatesTest, CountsAllStatesOfAnA30) {
  const GpuModel& model = Model("A30-24GB");
  EXPECT_EQ(SurveyOf(model, AllProfiles(model)), (Survey{.states = 76,
                                                         .maximal = 17,
                                                         .maximal_multisets = 8,
                                                         .multisets = 20,
                                                         .largest_multisets = 8,
                                                         .maximal_and_full = 17}));
}

TEST(ReachableStatesTest, CountsAllStatesOfAnRtxPro6000) {
  const GpuModel& model = Model("RTX-PRO-6000-Blackwell-96GB");
  EXPECT_EQ(SurveyOf(model, AllProfiles(model)), (Survey{.states = 717,
                                                         .maximal = 302,
                                                         .maximal_multisets = 64,
                                                         .multisets = 115,
                                                         .largest_multisets = 64,
                                                         .maximal_and_full = 302}));
}

TEST(ReachableStatesTest, CountsAllStatesOfAnRtxPro5000) {
  const GpuModel& model = Model("RTX-PRO-5000-Blackwell-48GB");
  EXPECT_EQ(SurveyOf(model, AllProfiles(model)), (Survey{.states = 30,
                                                         .maximal = 19,
                                                         .maximal_multisets = 12,
                                                         .multisets = 18,
                                                         .largest_multisets = 12,
                                                         .maximal_and_full = 19}));
}

TEST(ReachableStatesTest, CountsAllStatesOfAnRtxPro4500) {
  const GpuModel& model = Model("RTX-PRO-4500-Blackwell-32GB");
  EXPECT_EQ(SurveyOf(model, AllProfiles(model)), (Survey{.states = 22,
                                                         .maximal = 13,
                                                         .maximal_multisets = 9,
                                                         .multisets = 14,
                                                         .largest_multisets = 9,
                                                         .maximal_and_full = 13}));
}

// By disjointness alone: what the engine rule is worth. Two halves of five, five kinds of 1g:
// (1 + 5)^2 + 2 = 38 on an RTX PRO 5000; four kinds on a 4500: (1 + 4)^2 + 2 = 27.
TEST(ReachableStatesTest, WithoutEngineLimitsCountsTooMany) {
  for (const GpuModel* model : SevenSliceParts()) {
    EXPECT_EQ(StateCountWithoutEngineLimits(*model), 5536U) << model->name;
  }
  EXPECT_EQ(StateCountWithoutEngineLimits(Model("A30-24GB")), 122U);
  EXPECT_EQ(StateCountWithoutEngineLimits(Model("RTX-PRO-6000-Blackwell-96GB")), 1602U);
  EXPECT_EQ(StateCountWithoutEngineLimits(Model("RTX-PRO-5000-Blackwell-48GB")), 38U);
  EXPECT_EQ(StateCountWithoutEngineLimits(Model("RTX-PRO-4500-Blackwell-32GB")), 27U);
}

// No profile without a suffix is ever refused for want of an engine.
TEST(ReachableStatesTest, EnginesNeverBindWithoutSuffixes) {
  for (const GpuModel& model : BuiltInModels()) {
    const ProfileSet base = BaseProfiles(model);
    EXPECT_EQ(ReachableStates(model, base), ReachableStates(model, base, EngineLimits::kIgnored))
        << model.name;
  }
}

// 14, 13, 16 and 12 placements: at most 2^16 subsets.
TEST(ReachableStatesTest, AgreesWithTryingEverySubset) {
  ExpectBruteForceAgrees(SevenSlicePart(), ClassicProfiles(SevenSlicePart()));
  ExpectBruteForceAgrees(Model("A30-24GB"), AllProfiles(Model("A30-24GB")));
  const GpuModel& rtx = Model("RTX-PRO-6000-Blackwell-96GB");
  // 1g+me.all, 1g-me, 2g, 2g+me.all, 2g-me, 4g, 4g+gfx: where engines decide most.
  ExpectBruteForceAgrees(rtx, {3, 4, 5, 7, 8, 9, 10});
  ExpectBruteForceAgrees(Model("RTX-PRO-5000-Blackwell-48GB"),
                         AllProfiles(Model("RTX-PRO-5000-Blackwell-48GB")));
}

// Of two at start 0, the 3g stands first in the set of profiles.
TEST(ReachableStatesTest, OrdersByInstancesThenStartThenProfile) {
  const GpuModel& model = SevenSlicePart();
  const ProfileSet profiles = {ProfileIndex(model, "3g.40gb"), ProfileIndex(model, "4g.40gb")};
  std::vector<std::string> texts;
  for (const MigState& state : ReachableStates(model, profiles)) {
    texts.push_back(Text(model, state));
  }
  EXPECT_THAT(texts, ElementsAre("", "3g.40gb@0", "4g.40gb@0", "3g.40gb@4", "3g.40gb@0 3g.40gb@4",
                                 "4g.40gb@0 3g.40gb@4"));
}

TEST(ReachableStatesTest, OnlyTheEmptyGpuNeedsNoProfile) {
  EXPECT_THAT(ReachableStates(SevenSlicePart(), {}), ElementsAre(IsEmpty()));
}

// What the two rules imply on every model: nobody has to check these limits as well. The limit of
// instances is not only kept but reached.
TEST(ReachableStatesTest, LimitsOfComputeAndInstancesFollow) {
  for (const GpuModel& model : BuiltInModels()) {
    std::vector<int> most(model.profiles.size());
    for (const MigState& state : ReachableStates(model, AllProfiles(model))) {
      ASSERT_LE(ComputeSlices(model, state), model.compute_slices) << Text(model, state);
      std::ranges::transform(most, ProfileCounts(model, state), most.begin(), std::ranges::max);
    }
    for (std::size_t i = 0; i < most.size(); ++i) {
      EXPECT_EQ(most[i], model.profiles[i].instances_max)
          << model.name << " " << model.profiles[i].name;
    }
  }
}

// Where they are known: an A100 shares 98 multiprocessors, the whole of its 7g, and never more.
TEST(ReachableStatesTest, MultiprocessorsNeverExceedTheWholeGpus) {
  int checked = 0;
  for (const GpuModel& model : BuiltInModels()) {
    if (std::ranges::any_of(model.profiles, [](const auto& p) { return p.multiprocessors == 0; })) {
      continue;
    }
    ++checked;
    const int whole =
        std::ranges::max(model.profiles, {}, &MigProfile::memory_slices).multiprocessors;
    for (const MigState& state : ReachableStates(model, AllProfiles(model))) {
      int taken = 0;
      for (const MigInstance& instance : state) taken += ProfileOf(model, instance).multiprocessors;
      ASSERT_LE(taken, whole) << model.name << " " << Text(model, state);
    }
  }
  EXPECT_EQ(checked, 14);
}

// The layouts of NVIDIA's diagram by compute slices, largest first.
TEST(MaximalStatesTest, TheClassicOnesAreTheFourteenKnownMixes) {
  const GpuModel& model = SevenSlicePart();
  std::set<std::string> mixes;
  for (const MigState& state : MaximalStates(model, ClassicProfiles(model))) {
    std::string mix;
    for (const MigInstance& instance : state) {
      mix += std::to_string(ProfileOf(model, instance).compute_slices);
    }
    std::ranges::sort(mix, std::greater{});
    mixes.insert(mix);
  }
  EXPECT_THAT(mixes, UnorderedElementsAre("7", "43", "421", "4111", "33", "322", "3211", "31111",
                                          "321", "3111", "2221", "22111", "211111", "1111111"));
}

//  slice  0 1 2 3 4 5 6 7
//         3 3 3 3 3 3 3 3     the seventh compute slice has no memory left
//         3 3 3 3 2 2 1 .     a 3g on the left strands the fourth compute slice there
//         3 3 3 3 1 1 1 .
TEST(MaximalStatesTest, A3gOnTheLeftStrandsAComputeSlice) {
  const GpuModel& model = SevenSlicePart();
  int idle_last_slice = 0;
  std::vector<std::string> short_of_compute;
  for (const MigState& state : MaximalStates(model, ClassicProfiles(model))) {
    if ((Occupied(state) & SliceMask({7, 1})) == 0) ++idle_last_slice;
    if (ComputeSlices(model, state) == 7) continue;
    EXPECT_EQ(ComputeSlices(model, state), 6);
    short_of_compute.push_back(Text(model, state));
  }
  EXPECT_EQ(idle_last_slice, 12);
  EXPECT_THAT(short_of_compute,
              UnorderedElementsAre("3g.40gb@0 3g.40gb@4", "3g.40gb@0 2g.20gb@4 1g.10gb@6",
                                   "3g.40gb@0 1g.10gb@4 1g.10gb@5 1g.10gb@6"));
}

TEST(ReachableStatesTest, SixteenBaseStatesUseTheWholeGpu) {
  const GpuModel& model = SevenSlicePart();
  const std::vector<MigState> states = ReachableStates(model, BaseProfiles(model));
  EXPECT_EQ(std::ranges::count_if(states,
                                  [&](const MigState& state) {
                                    return ComputeSlices(model, state) == 7 &&
                                           FreeSlices(model, state) == 0;
                                  }),
            16);
}

std::size_t DistinctMasks(const std::vector<MigState>& states) {
  std::set<unsigned> masks;
  for (const MigState& state : states) masks.insert(Occupied(state));
  return masks.size();
}

// 1g take slices 0 to 6 in any combination: 128. Slice 7 comes only with 4 to 6, beside 16 left
// halves: 144. With doubled memory it comes with slice 6, beside 2^6 of slices 0 to 5: 128 + 64.
TEST(ReachableStatesTest, OccupiesSlicesIn144WaysOr192WithDoubledMemory) {
  const GpuModel& model = SevenSlicePart();
  EXPECT_EQ(DistinctMasks(ReachableStates(model, ClassicProfiles(model))), 144U);
  EXPECT_EQ(DistinctMasks(ReachableStates(model, BaseProfiles(model))), 192U);
}

// How the classic states take one more instance of a profile.
struct Room {
  int fits = 0;
  int blocked = 0;               // as many slices are free, but not where the profile may start
  int blocked_with_compute = 0;  // and as many compute slices are free as well
  bool operator==(const Room&) const = default;
};

void PrintTo(const Room& room, std::ostream* out) {
  *out << room.fits << " fit, " << room.blocked << " blocked, " << room.blocked_with_compute
       << " with compute";
}

Room RoomFor(const GpuModel& model, const ProfileSet& profiles, const std::string& name) {
  const MigProfile& profile =
      model.profiles.at(static_cast<std::size_t>(ProfileIndex(model, name)));
  Room room;
  for (const MigState& state : ReachableStates(model, profiles)) {
    if (Fits(model, state, name)) {
      ++room.fits;
    } else if (FreeSlices(model, state) >= profile.memory_slices) {
      ++room.blocked;
      const int free_compute = model.compute_slices - ComputeSlices(model, state);
      if (free_compute >= profile.compute_slices) ++room.blocked_with_compute;
    }
  }
  return room;
}

// 1g: 298 states less 19 without a free slice among 0 to 6; 12 of the 19 have slice 7 free.
// 3g: left half empty, 11 right ones; right half empty, 27 left ones; the empty GPU is in both.
// 4g: left half empty, 11 right ones. 7g: the empty GPU alone.
TEST(IsMaximalTest, EnoughFreeSlicesAreNotEnough) {
  const GpuModel& model = SevenSlicePart();
  const ProfileSet classic = ClassicProfiles(model);
  EXPECT_EQ(RoomFor(model, classic, "1g.10gb"), (Room{279, 12, 2}));
  EXPECT_EQ(RoomFor(model, classic, "2g.20gb"), (Room{135, 136, 100}));
  EXPECT_EQ(RoomFor(model, classic, "3g.40gb"), (Room{37, 116, 116}));
  EXPECT_EQ(RoomFor(model, classic, "4g.40gb"), (Room{11, 142, 73}));
  EXPECT_EQ(RoomFor(model, classic, "7g.80gb"), (Room{1, 0, 0}));
}

// One small instance in each half: 2 * 2 ways.
TEST(IsMaximalTest, TwoSmallInstancesCanBlockBothHalves) {
  const GpuModel& a30 = Model("A30-24GB");
  const GpuModel& rtx = Model("RTX-PRO-6000-Blackwell-96GB");
  EXPECT_EQ(RoomFor(a30, BaseProfiles(a30), "2g.12gb").blocked, 4);
  EXPECT_EQ(RoomFor(rtx, BaseProfiles(rtx), "2g.48gb").blocked, 4);
}

//  slice  0 1 2 3 4 5 6 7 8 9 10 11
//         . . . 1 1 1 1 1 1 . .  .     half the slices are free, no half is
//         1 1 1 1 1 1 . . . . .  .     the right half is
TEST(IsMaximalTest, RtxPro6000HasNoHalfLeftBetweenTwoSmallInstances) {
  const GpuModel& model = Model("RTX-PRO-6000-Blackwell-96GB");
  EXPECT_FALSE(Fits(model, {At(model, "1g.24gb", 3), At(model, "1g.24gb", 6)}, "2g.48gb"));
  EXPECT_TRUE(Fits(model, {At(model, "1g.24gb", 0), At(model, "1g.24gb", 3)}, "2g.48gb"));
}

//  slice  0 1 2 3 4 5 6 7
//         3 3 3 3 . . . .     4g starts at 0 alone
//         . . . . 3 3 3 3
TEST(IsMaximalTest, A3gAtZeroLeavesNoPlaceForA4g) {
  const GpuModel& model = SevenSlicePart();
  EXPECT_FALSE(Fits(model, {At(model, "3g.40gb", 0)}, "4g.40gb"));
  EXPECT_TRUE(Fits(model, {At(model, "3g.40gb", 4)}, "4g.40gb"));
}

// The single optical flow accelerator is what "+me" needs.
TEST(IsMaximalTest, EnginesCountOnlyWhereLimitsApply) {
  const GpuModel& model = SevenSlicePart();
  const ProfileSet media = {ProfileIndex(model, "1g.10gb+me")};
  const MigState state = {At(model, "1g.10gb+me", 0)};
  EXPECT_TRUE(IsMaximal(model, media, state));
  EXPECT_FALSE(IsMaximal(model, media, state, EngineLimits::kIgnored));
}

TEST(IsMaximalTest, AsksOnlyForTheGivenProfiles) {
  const GpuModel& model = SevenSlicePart();
  EXPECT_TRUE(IsMaximal(model, {}, {}));
  EXPECT_FALSE(IsMaximal(model, AllProfiles(model), {}));
}

// Four doubled 1g take all 8 slices, and so do two 3g, though both leave compute slices (7 - 4 and
// 7 - 6). Two 4g would both start at 0; a fourth 2g would start at slice 6, which it may not.
TEST(MultisetTest, RefusesMixesThatHaveNoPlace) {
  const GpuModel& model = SevenSlicePart();
  EXPECT_FALSE(CanHold(
      model, {"1g.20gb", "1g.20gb", "1g.20gb", "1g.20gb", "1g.10gb", "1g.10gb", "1g.10gb"}));
  EXPECT_FALSE(CanHold(model, {"3g.40gb", "3g.40gb", "1g.10gb"}));
  EXPECT_FALSE(CanHold(model, {"4g.40gb", "4g.40gb"}));
  EXPECT_FALSE(CanHold(model, {"2g.20gb", "2g.20gb", "2g.20gb", "2g.20gb"}));
}

TEST(MultisetTest, TheLargestMixesFit) {
  const GpuModel& model = SevenSlicePart();
  EXPECT_TRUE(CanHold(model, {"1g.20gb", "1g.20gb", "1g.20gb", "1g.20gb"}));
  EXPECT_TRUE(CanHold(model, {"3g.40gb", "3g.40gb"}));
  EXPECT_TRUE(CanHold(model, {"3g.40gb", "4g.40gb"}));
  EXPECT_TRUE(CanHold(model, {"2g.20gb", "2g.20gb", "2g.20gb", "1g.20gb"}));
}

TEST(MultisetTest, OneGpuHoldsOneMediaProfile) {
  EXPECT_FALSE(CanHold(SevenSlicePart(), {"1g.10gb+me", "1g.10gb+me"}));
  EXPECT_TRUE(CanHold(SevenSlicePart(), {"1g.10gb+me", "1g.10gb"}));
  EXPECT_FALSE(CanHold(Model("A30-24GB"), {"1g.6gb+me", "2g.12gb+me"}));
  EXPECT_TRUE(CanHold(Model("A30-24GB"), {"1g.6gb+me", "2g.12gb"}));
}

// "+me.all" leaves no decoder to others; "-me" asks for none.
TEST(MultisetTest, OnlyProfilesWithoutMediaStandBesideAllMedia) {
  const GpuModel& model = Model("RTX-PRO-6000-Blackwell-96GB");
  EXPECT_FALSE(CanHold(model, {"1g.24gb+me.all", "1g.24gb"}));
  EXPECT_FALSE(CanHold(model, {"1g.24gb+me.all", "1g.24gb+gfx"}));
  EXPECT_FALSE(CanHold(model, {"1g.24gb+me.all", "2g.48gb+me.all"}));
  EXPECT_TRUE(CanHold(model, {"1g.24gb+me.all", "1g.24gb-me", "1g.24gb-me", "1g.24gb-me"}));
  EXPECT_TRUE(CanHold(model, {"1g.24gb+me.all", "1g.24gb-me", "2g.48gb-me"}));
}

// Seen on an H20, a GH200, and a GB300 (profile ids 9, 19, 19, 19).
TEST(MultisetTest, LayoutsReportedFromTheFieldFit) {
  EXPECT_TRUE(CanHold(Model("H20-96GB"), {"3g.48gb", "1g.24gb", "1g.12gb", "1g.12gb"}));
  EXPECT_TRUE(CanHold(Model("H100-96GB / GH200-96GB"), {"3g.48gb", "2g.24gb", "1g.24gb"}));
  EXPECT_TRUE(CanHold(Model("GB300"), {"3g.139gb", "1g.35gb", "1g.35gb", "1g.35gb"}));
}

// A DCGM user's all-balanced node, 1g x2 + 2g + 3g: the 3g must take the right half.
TEST(MultisetTest, AllBalancedHasTwoFullLayouts) {
  const GpuModel& model = SevenSlicePart();
  std::vector<std::string> layouts;
  for (const MigState& state : MaximalStates(model, ClassicProfiles(model))) {
    if (ProfileCounts(model, state) == std::vector<int>{2, 0, 0, 1, 1, 0, 0}) {
      layouts.push_back(Text(model, state));
    }
  }
  EXPECT_THAT(layouts, UnorderedElementsAre("2g.20gb@0 1g.10gb@2 1g.10gb@3 3g.40gb@4",
                                            "1g.10gb@0 1g.10gb@1 2g.20gb@2 3g.40gb@4"));
}

TEST(ProfileCountsTest, CountsEachProfileOfTheModel) {
  const GpuModel& model = SevenSlicePart();
  EXPECT_THAT(ProfileCounts(model, {}), ElementsAre(0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(ProfileCounts(model, {At(model, "1g.10gb", 0), At(model, "1g.10gb", 1),
                                    At(model, "3g.40gb", 4)}),
              ElementsAre(2, 0, 0, 0, 1, 0, 0));
}

}  // namespace
}  // namespace offcut::binpack
