#include "binpack/placement.h"

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/testing/random_nodes.h"
#include "test/testing/worlds.h"

namespace offcut::binpack {
namespace {

using ::offcut::testing::AllPlacements;
using ::offcut::testing::FractionNode;
using ::offcut::testing::MigNode;
using ::offcut::testing::PoolNode;
using ::offcut::testing::Profiles;
using ::offcut::testing::SharedNode;
using ::offcut::testing::ToText;
using ::offcut::testing::WholeNode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// 01234567   1g.10gb may start at slices 0 to 6: the eighth slice is out of its reach.
// XXXXXXX.
TEST(PlacementTest, Refuses1gWhenOnlyTheEighthSliceIsFree) {
  const NodeState node = MigNode("H100-80GB-SXM", {"4g.40gb@0 2g.20gb@4 1g.10gb@6"});
  EXPECT_THAT(AllPlacements(node, Profiles("1g.10gb")), IsEmpty());
  EXPECT_EQ(FindObstacle(node, Profiles("1g.10gb")), Obstacle::kFragmented);
}

// A 3g may start at 0 or 4, a 4g at 0 alone: put at 0 first, the 3g would shut the 4g out.
TEST(PlacementTest, Places3gBesideA4gWhereGreedyOrderFails) {
  const NodeState node = MigNode("A100-40GB", {""});
  EXPECT_THAT(AllPlacements(node, Profiles("3g.20gb, 4g.20gb")),
              ElementsAre("0:3g.20gb@4 0:4g.20gb@0"));
  EXPECT_EQ(ToText(node, *FindPlacement(node, Profiles("3g.20gb, 4g.20gb"))),
            "0:4g.20gb@0 0:3g.20gb@4");
}

// 4 doubles take all four aligned pairs, {0,1} {2,3} {4,5} {6,7}: 7 compute slices would suffice
// for 4 + 3, and no slice is left to stand on.
TEST(PlacementTest, RefusesFourDoublesAndThreeSinglesOnOneGpu) {
  const NodeState node = MigNode("A100-40GB", {""});
  EXPECT_THAT(AllPlacements(node, Profiles("4 x 1g.10gb, 3 x 1g.5gb")), IsEmpty());
  EXPECT_EQ(FindPlacement(node, Profiles("4 x 1g.10gb, 3 x 1g.5gb")), std::nullopt);
  EXPECT_EQ(FindObstacle(node, Profiles("4 x 1g.10gb, 3 x 1g.5gb")), Obstacle::kNeverFits);
}

// all-balanced is 2 x 1g, 2g, 3g. The 3g stands at 4 in both; the left half is 2g|1g|1g or
// 1g|1g|2g.
TEST(PlacementTest, FindsBothLayoutsOfAllBalanced) {
  const NodeState node = MigNode("A100-40GB", {""});
  EXPECT_THAT(AllPlacements(node, Profiles("3g.20gb, 2g.10gb, 2 x 1g.5gb")),
              ElementsAre("0:3g.20gb@4 0:2g.10gb@0 0:1g.5gb@2 0:1g.5gb@3",
                          "0:3g.20gb@4 0:2g.10gb@2 0:1g.5gb@0 0:1g.5gb@1"));
}

// Each needs the one optical flow accelerator of the GPU.
TEST(PlacementTest, RefusesASecondMediaInstance) {
  const NodeState node = MigNode("A100-40GB", {"1g.5gb+me@0"});
  EXPECT_EQ(FindObstacle(node, Profiles("1g.5gb+me")), Obstacle::kFragmented);
  EXPECT_EQ(FindObstacle(node, Profiles("2 x 1g.5gb+me")), Obstacle::kNeverFits);
  EXPECT_EQ(FindObstacle(node, Profiles("1g.5gb")), Obstacle::kNone);
}

// 8 GPUs x 7: 32 doubles fill every pair of every GPU; one 1g more finds no slice. A search that
// tried the orders one by one would not end.
TEST(PlacementTest, SeesThatAFullNodeOfDoublesHasNoRoomForOneSingle) {
  const NodeState node = MigNode("A100-40GB", std::vector<std::string>(8, ""));
  EXPECT_EQ(FindObstacle(node, Profiles("32 x 1g.10gb")), Obstacle::kNone);
  EXPECT_EQ(FindObstacle(node, Profiles("32 x 1g.10gb, 1g.5gb")), Obstacle::kNeverFits);
  EXPECT_EQ(FindObstacle(node, Profiles("8 x 3g.20gb, 8 x 4g.20gb")), Obstacle::kNone);
  EXPECT_EQ(FindObstacle(node, Profiles("9 x 3g.20gb, 8 x 4g.20gb")), Obstacle::kNeverFits);
}

TEST(PlacementTest, CountsPlacementsThatDifferByEqualGpusOnce) {
  // On one GPU: 3g@0, 3g@4. The second GPU is equal, so it adds nothing.
  EXPECT_THAT(AllPlacements(MigNode("A100-40GB", {"", ""}), Profiles("3g.20gb")),
              ElementsAre("0:3g.20gb@0", "0:3g.20gb@4"));
  // The second GPU differs: its right half is taken.
  EXPECT_THAT(AllPlacements(MigNode("A100-40GB", {"", "3g.20gb@4"}), Profiles("3g.20gb")),
              ElementsAre("0:3g.20gb@0", "0:3g.20gb@4", "1:3g.20gb@0"));
}

TEST(PlacementTest, TellsAMissingProfileFromATakenOne) {
  EXPECT_EQ(FindObstacle(MigNode("A100-40GB", {""}), Profiles("1g.20gb")), Obstacle::kProfile);
  EXPECT_EQ(FindObstacle(MigNode("A100-40GB", {"7g.40gb@0"}), Profiles("1g.5gb")),
            Obstacle::kInstancesTaken);
}

// "1g.10gb" is one slice of an 80 GB part (seven fit) and two of a 40 GB part (four fit).
TEST(PlacementTest, ReadsAProfileNameAsTheModelMeansIt) {
  EXPECT_EQ(FindObstacle(MigNode("A100-80GB", {""}), Profiles("7 x 1g.10gb")), Obstacle::kNone);
  EXPECT_EQ(FindObstacle(MigNode("A100-40GB", {""}), Profiles("4 x 1g.10gb")), Obstacle::kNone);
  EXPECT_EQ(FindObstacle(MigNode("A100-40GB", {""}), Profiles("5 x 1g.10gb")),
            Obstacle::kNeverFits);
}

TEST(PlacementTest, GivesWholeGpusAllOrNothing) {
  const NodeState node = WholeNode("X.X.X...");
  EXPECT_EQ(ToText(node, *FindPlacement(node, {.whole_gpus = 5})), "1 3 5 6 7");
  EXPECT_EQ(FindPlacement(node, {.whole_gpus = 6}), std::nullopt);
  EXPECT_EQ(FindObstacle(node, {.whole_gpus = 6}), Obstacle::kWholeGpusTaken);
  EXPECT_EQ(FindObstacle(node, {.whole_gpus = 9}), Obstacle::kNeverFits);
}

TEST(PlacementTest, GivesNoUnhealthyGpuAndSaysSo) {
  EXPECT_EQ(FindObstacle(WholeNode(".u"), {.whole_gpus = 2}), Obstacle::kUnhealthy);
  EXPECT_EQ(FindObstacle(WholeNode("Xu"), {.whole_gpus = 1}), Obstacle::kUnhealthy);
  // One healthy GPU is enough for the request, and it is taken; so is the unhealthy one.
  EXPECT_EQ(FindObstacle(WholeNode("XU"), {.whole_gpus = 1}), Obstacle::kWholeGpusTaken);
}

// Used slots 2, 0, 1: the plugin takes GPU 1, then GPU 1 or 2 at one used each: the lower.
TEST(PlacementTest, PutsSlotsOnTheLeastUsedGpuFirst) {
  const NodeState node = SharedNode(Sharing::kTimeSlicing, {"XX..", "....", "X..."});
  EXPECT_EQ(ToText(node, *KubeletPlacement(node, {.slots = 1})), "1");
  EXPECT_EQ(ToText(node, *KubeletPlacement(node, {.slots = 3})), "1 1 2");
  EXPECT_EQ(FindObstacle(node, {.slots = 9}), Obstacle::kNone);
  EXPECT_EQ(FindObstacle(node, {.slots = 10}), Obstacle::kSlotsTaken);
  EXPECT_EQ(FindObstacle(node, {.slots = 13}), Obstacle::kNeverFits);
}

TEST(PlacementTest, DecidesPoolsByCountAndTellsNoStarts) {
  const NodeState node = PoolNode("A100-40GB", {{"1g.5gb", 4, 3}, {"3g.20gb", 2, 0}});
  const RequestShape one_each{.pool_units = {{0, 1}, {1, 1}}};
  EXPECT_EQ(ToText(node, *KubeletPlacement(node, one_each)), "pool0 pool1");
  EXPECT_EQ(FindObstacle(node, {.pool_units = {{0, 2}}}), Obstacle::kInstancesTaken);
  EXPECT_EQ(FindObstacle(node, {.pool_units = {{1, 3}}}), Obstacle::kNeverFits);
}

// 32,768 MiB each: GPU 0 has 8,000 free, GPU 1 20,000, GPU 2 all.
TEST(PlacementTest, PutsAFractionOnDistinctGpusThatHaveTheMemory) {
  const NodeState node = FractionNode(32'768, {{24'768, 0, 1}, {12'768, 0, 1}, {}});
  EXPECT_THAT(AllPlacements(node, {.fractions = {{.gpus = 1, .memory_mib = 20'000}}}),
              ElementsAre("1", "2"));
  EXPECT_THAT(AllPlacements(node, {.fractions = {{.gpus = 2, .memory_mib = 8'000}}}),
              ElementsAre("0 1", "0 2", "1 2"));
  EXPECT_EQ(FindObstacle(node, {.fractions = {{.gpus = 3, .memory_mib = 8'001}}}),
            Obstacle::kMemoryTaken);
  EXPECT_EQ(FindObstacle(node, {.fractions = {{.gpus = 4, .memory_mib = 1}}}),
            Obstacle::kNeverFits);
}

TEST(PlacementTest, TellsTakenCoresFromTakenMemoryAndSharers) {
  const NodeState node = FractionNode(32'768, {{1'000, 80, 1}});
  EXPECT_EQ(FindObstacle(node, {.fractions = {{.gpus = 1, .memory_mib = 1, .cores_percent = 30}}}),
            Obstacle::kCoresTaken);
  EXPECT_EQ(FindObstacle(FractionNode(32'768, {{1'000, 0, 10}}),
                         {.fractions = {{.gpus = 1, .memory_mib = 1}}}),
            Obstacle::kSharersTaken);
}

// Greedy order would put the 10 GiB on the 20 GiB GPU and leave the 20 GiB without a place.
TEST(PlacementTest, PlacesFractionsOfSeveralContainersJointly) {
  const NodeState node = FractionNode(20'480, {{}, {10'240, 0, 1}});
  const RequestShape shape{
      .fractions = {{.gpus = 1, .memory_mib = 10'240}, {.gpus = 1, .memory_mib = 20'480}}};
  EXPECT_EQ(ToText(node, *FindPlacement(node, shape)), "1 0");
}

TEST(PlacementTest, HonoursModelAndUuidLists) {
  NodeState node = FractionNode(32'768, {{}, {}});
  RequestShape shape{.fractions = {{.gpus = 1, .memory_mib = 1}}};
  shape.accepted = Accept(node, {.models_allowed = {"*v100*"}, .uuids_denied = {"GPU-0"}});
  EXPECT_THAT(AllPlacements(node, shape), ElementsAre("1"));
  shape.accepted = Accept(node, {.models_denied = {"Tesla-V100-SXM2-32GB"}});
  EXPECT_EQ(FindObstacle(node, shape), Obstacle::kModel);
  shape.accepted = Accept(node, {.uuids_allowed = {"GPU-7"}});
  EXPECT_EQ(FindObstacle(node, shape), Obstacle::kUuid);
  // Nobody knows the UUIDs of this node's GPUs, so no promise about them can be kept.
  node = WholeNode("..");
  const RequestShape denies{.whole_gpus = 1, .accepted = Accept(node, {.uuids_denied = {"GPU-0"}})};
  EXPECT_EQ(FindObstacle(node, denies), Obstacle::kUuid);
}

// GPUs 0 and 2 are of the one product, 1 of the other; the pools of a third.
TEST(PlacementTest, DecidesAConstraintForEachProductOfTheNode) {
  NodeState node = WholeNode("...");
  node.gpus[0].product = node.gpus[2].product = "A100-SXM4-80GB";
  node.gpus[1].product = "FOO-9000";
  node.gpus[1].model = nullptr;
  node.pools = {{.profile = "1g.24gb", .units = 4}};
  node.pool_product = "RTX-PRO-6000";
  using enum Acceptance;
  EXPECT_EQ(Accept(node, {}), AcceptedGpus{});
  EXPECT_EQ(Accept(node, {.models_denied = {"*foo*"}}),
            (AcceptedGpus{.by_gpu = {kAccepted, kModelRefused, kAccepted}}));
  EXPECT_EQ(
      Accept(node, {.models_allowed = {"a100-80gb"}}),
      (AcceptedGpus{.by_gpu = {kAccepted, kModelRefused, kAccepted}, .pools = kModelRefused}));
  EXPECT_EQ(Accept(node, {.models_allowed = {"nvidia-*0"}}),
            (AcceptedGpus{.by_gpu = {kModelRefused, kAccepted, kModelRefused}}));
  EXPECT_EQ(Accept(node, {.models_allowed = {"*A100*"}, .uuids_allowed = {"GPU-1"}}),
            (AcceptedGpus{.by_gpu = {kUuidRefused, kModelRefused, kUuidRefused},
                          .pools = kModelRefused}));
}

TEST(MatchesGlobTest, AStarTakesAnyRunAndCaseIsIgnored) {
  EXPECT_TRUE(MatchesGlob("A100-SXM4-80GB", "a100*80gb"));
  EXPECT_TRUE(MatchesGlob("A100", "**A*1**"));
  EXPECT_TRUE(MatchesGlob("", "*"));
  EXPECT_FALSE(MatchesGlob("A100", "A10"));
  EXPECT_FALSE(MatchesGlob("A100", "*200"));
}

TEST(PlacementTest, ChecksHostResourcesBeforeDevices) {
  NodeState node = WholeNode("XX");
  node.allocatable = {.cpu_milli = 4'000, .memory_bytes = 1'000, .pods = 2};
  node.used = {.cpu_milli = 3'000, .memory_bytes = 600, .pods = 1};
  const auto obstacle = [&](HostResources host) {
    return FindObstacle(node, {.host = host, .whole_gpus = 1});
  };
  EXPECT_EQ(obstacle({1'001, 400, 1}), Obstacle::kHostCpu);
  EXPECT_EQ(obstacle({1'000, 401, 1}), Obstacle::kHostMemory);
  EXPECT_EQ(obstacle({1'000, 400, 2}), Obstacle::kHostPods);
  EXPECT_EQ(obstacle({1'000, 400, 1}), Obstacle::kWholeGpusTaken);
}

TEST(PlacementTest, BoundsWhatItEnumerates) {
  const NodeState node = MigNode("A100-40GB", std::vector<std::string>(16, "1g.5gb@0"));
  int visited = 0;
  ForEachPlacement(node, Profiles("20 x 1g.5gb, 10 x 1g.10gb"), [&](const Placement&) {
    ++visited;
    return true;
  });
  EXPECT_LE(visited, kPlacementsMax);
}

// Sixteen slices, and 40 profiles of one each: one of each of sixteen could stand in 16! orders.
// What is given up does not fit; what is asked for in earnest does.
TEST(PlacementTest, EndsWhereANodeReportsMoreProfilesThanCanBeArranged) {
  GpuModel model{.name = "odd", .compute_slices = 16, .memory_slices = 16};
  RequestShape all;
  for (int i = 0; i < 40; ++i) {
    MigProfile profile{.name = "p" + std::to_string(i), .compute_slices = 1, .memory_slices = 1};
    for (int start = 0; start < 16; ++start) profile.starts.push_back(start);
    all.profiles.push_back({profile.name, 16});
    model.profiles.push_back(std::move(profile));
  }
  NodeState node = MigNode("A100-40GB", {"", ""});
  const auto shared = std::make_shared<const GpuModel>(std::move(model));
  for (Gpu& gpu : node.gpus) gpu.model = shared;
  EXPECT_EQ(FindObstacle(node, all), Obstacle::kNeverFits);
  EXPECT_EQ(FindObstacle(node, Profiles("16 x p0, 8 x p1")), Obstacle::kNone);
  EXPECT_EQ(FindObstacle(node, Profiles("30 x p0, 3 x p1")), Obstacle::kNeverFits);
}

// -- Properties -----------------------------------------------------------------------------------

// Every way to place the profiles, one instance after the other, without any pruning.
void BruteForce(const NodeState& node, const std::vector<std::string>& wanted, std::size_t next,
                Placement& placement, std::set<std::string>& found) {
  if (next == wanted.size()) {
    Placement sorted = placement;  // equal profiles exchanged are one placement
    std::ranges::sort(sorted.pieces, {}, [](const Piece& piece) {
      return std::tuple(piece.profile, piece.gpu, piece.slices.start);
    });
    found.insert(ToText(node, sorted));
    return;
  }
  for (std::size_t g = 0; g < node.gpus.size(); ++g) {
    const GpuModel& model = *node.gpus[g].model;
    const int profile = *model.FindProfile(wanted[next]);
    const auto& geometry = model.profiles[static_cast<std::size_t>(profile)];
    for (const int start : geometry.starts) {
      const Placement one{{{.kind = PieceKind::kInstance,
                            .gpu = static_cast<int>(g),
                            .profile = profile,
                            .slices = {start, geometry.memory_slices}}}};
      if (!IsFree(node, one)) continue;
      NodeState with = node;
      Occupy(with, one);
      placement.pieces.push_back(one.pieces[0]);
      BruteForce(with, wanted, next + 1, placement, found);
      placement.pieces.pop_back();
    }
  }
}

// Requires: `wanted` is sorted.
RequestShape ShapeOf(const std::vector<std::string>& wanted) {
  RequestShape shape;
  for (const std::string& profile : wanted) {
    if (!shape.profiles.empty() && shape.profiles.back().profile == profile) {
      ++shape.profiles.back().count;
    } else {
      shape.profiles.push_back({profile, 1});
    }
  }
  return shape;
}

class RandomMigWorlds : public ::testing::TestWithParam<unsigned> {};

// GPUs that are not interchangeable (each has its own first instance), so that brute force and the
// search must find the very same set.
TEST_P(RandomMigWorlds, EnumerationAndFeasibilityAgreeWithBruteForce) {
  std::mt19937 random(GetParam());
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  const std::vector<std::string> starts = {"1g.5gb@0",  "1g.5gb@3",  "1g.5gb@6",
                                           "2g.10gb@2", "1g.10gb@6", "3g.20gb@4"};
  const std::vector<std::string> profiles = {"1g.5gb",  "1g.10gb", "2g.10gb",
                                             "3g.20gb", "4g.20gb", "1g.5gb+me"};
  std::vector<std::string> gpus = {starts[random() % starts.size()]};
  if (random() % 2 == 0) {
    std::string other = starts[random() % starts.size()];
    if (other != gpus[0]) gpus.push_back(std::move(other));
  }
  const NodeState node = MigNode("A100-40GB", gpus);
  std::vector<std::string> wanted;
  for (std::size_t i = 0; i < 1 + random() % 4; ++i) {
    wanted.push_back(profiles[random() % profiles.size()]);
  }
  std::ranges::sort(wanted);
  const RequestShape shape = ShapeOf(wanted);
  std::set<std::string> expected;
  Placement placement;
  BruteForce(node, wanted, 0, placement, expected);
  std::set<std::string> found;
  ForEachPlacement(node, shape, [&](Placement one) {
    std::ranges::sort(one.pieces, {}, [](const Piece& piece) {
      return std::tuple(piece.profile, piece.gpu, piece.slices.start);
    });
    EXPECT_TRUE(found.insert(ToText(node, one)).second) << "met twice";
    return true;
  });
  EXPECT_EQ(found, expected);
  EXPECT_EQ(FindPlacement(node, shape).has_value(), !expected.empty());
  EXPECT_EQ(FindObstacle(node, shape) == Obstacle::kNone, !expected.empty());
}

// The pieces of each GPU, as text, in an order that forgets which GPU it was.
std::string WithoutGpuNumbers(const NodeState& node, const std::string& placement) {
  std::vector<std::string> of_gpu(node.gpus.size());
  std::istringstream words(placement);
  for (std::string word; words >> word;) {
    const auto colon = word.find(':');
    of_gpu[std::stoul(word.substr(0, colon))] += word.substr(colon) + " ";
  }
  std::ranges::sort(of_gpu);
  std::string text;
  for (const std::string& pieces : of_gpu) text += "[" + pieces + "]";
  return text;
}

// Three equal GPUs: of brute force's placements, one of each class under exchanging GPUs is met.
TEST_P(RandomMigWorlds, EnumerationMeetsEachClassOfEqualGpusOnce) {
  std::mt19937 random(GetParam());
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  const std::vector<std::string> profiles = {"1g.6gb", "1g.6gb+me", "2g.12gb", "4g.24gb"};
  const NodeState node = MigNode("A30-24GB", {"", "", ""});
  std::vector<std::string> wanted;
  for (std::size_t i = 0; i < 1 + random() % 4; ++i) {
    wanted.push_back(profiles[random() % profiles.size()]);
  }
  std::ranges::sort(wanted);
  const RequestShape shape = ShapeOf(wanted);
  std::set<std::string> all;
  Placement placement;
  BruteForce(node, wanted, 0, placement, all);
  std::set<std::string> classes;
  for (const std::string& one : all) classes.insert(WithoutGpuNumbers(node, one));
  std::set<std::string> met;
  for (const std::string& one : AllPlacements(node, shape)) {
    met.insert(WithoutGpuNumbers(node, one));
  }
  EXPECT_EQ(met, classes);
}

// Whatever is taken and given back leaves the node as it was, and no slice ever has two instances.
TEST_P(RandomMigWorlds, OccupyAndReleaseUndoEachOther) {
  std::mt19937 random(GetParam());
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  NodeState node = MigNode("H100-80GB-SXM", {"", "1g.10gb@0"});
  const std::vector<std::string> profiles = {"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb"};
  std::vector<Placement> held;
  for (int step = 0; step < 60; ++step) {
    if (!held.empty() && random() % 3 == 0) {
      const auto victim = held.begin() + static_cast<long>(random() % held.size());
      Release(node, *victim);
      EXPECT_TRUE(IsFree(node, *victim));
      held.erase(victim);
      continue;
    }
    const auto placement = FindPlacement(node, Profiles(profiles[random() % profiles.size()]));
    if (!placement) continue;
    EXPECT_TRUE(IsFree(node, *placement));
    Occupy(node, *placement);
    EXPECT_FALSE(IsFree(node, *placement));
    held.push_back(*placement);
    for (const Gpu& gpu : node.gpus) {
      std::uint16_t seen = 0;
      for (const MigInstance& instance : std::get<MigGpu>(gpu.state).instances) {
        EXPECT_EQ(seen & SliceMask(instance.slices), 0);
        seen = static_cast<std::uint16_t>(seen | SliceMask(instance.slices));
      }
    }
  }
  for (const Placement& placement : held) Release(node, placement);
  EXPECT_EQ(UsedUnits(node), 175);  // the 1g.10gb that was there: one slice of eight
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMigWorlds, ::testing::Range(1U, 61U));

// One fraction is decided by counting. Beside a second one that asks for nothing it is decided by
// search: both must say the same, whatever the node.
TEST(PlacementTest, DecidesOneFractionByCountingAsBySearch) {
  int refused = 0;
  for (unsigned seed = 0; seed < 2'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const NodeState node = ::offcut::testing::RandomNode(random);
    RequestShape shape = ::offcut::testing::RandomShape(random, node);
    shape.host = {};
    if (shape.fractions.size() != 1) continue;
    const Obstacle counted = FindObstacle(node, shape);
    shape.fractions.push_back({.gpus = 0});
    EXPECT_EQ(counted, FindObstacle(node, shape));
    refused += counted != Obstacle::kNone && counted != Obstacle::kNoDevices;
  }
  EXPECT_GT(refused, 50);
}

// A shape fits where there is no obstacle; and one of equal pieces where all GPUs together have
// room for as many, each counted for itself.
TEST(PlacementTest, FitsWhereNothingIsInTheWayAndWhereGpusHaveRoomForAllPieces) {
  int counted = 0;
  int fitting = 0;
  for (unsigned seed = 0; seed < 4'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const NodeState node = ::offcut::testing::RandomNode(random);
    RequestShape shape = ::offcut::testing::RandomShape(random, node);
    EXPECT_EQ(Fits(node, shape), FindObstacle(node, shape) == Obstacle::kNone);
    shape.host = {};
    const bool fits = FindObstacle(node, shape) == Obstacle::kNone;
    EXPECT_EQ(Fits(node, shape), fits);
    const std::optional<int> pieces = EqualPiecesOf(shape);
    if (!pieces) continue;
    int room = 0;
    for (std::size_t g = 0; g < node.gpus.size(); ++g) room += RoomForPieces(node, g, shape);
    EXPECT_EQ(room >= *pieces, fits);
    ++counted;
    fitting += fits ? 1 : 0;
  }
  EXPECT_GT(counted, 1'000);
  EXPECT_GT(fitting, 200);
}

// slice 0 1 2 3 4 5 6 7   A 2g may start at 0, 2 and 4: two are free, and all three when a is gone.
//       a . . . . . . .
TEST(PlacementTest, CountsHowManyInstancesOneGpuHasRoomFor) {
  const NodeState node = ::offcut::testing::MigNode("A100-40GB", {"1g.5gb@0", ""});
  const RequestShape shape = ::offcut::testing::Profiles("2 x 2g.10gb");
  EXPECT_EQ(EqualPiecesOf(shape), 2);
  EXPECT_EQ(RoomForPieces(node, 0, shape), 2);
  EXPECT_EQ(RoomForPieces(node, 1, shape), 3);
  EXPECT_EQ(EqualPiecesOf(::offcut::testing::Profiles("2g.10gb, 1g.5gb")), std::nullopt);
}

}  // namespace
}  // namespace offcut::binpack
