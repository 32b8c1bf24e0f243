#include "binpack/compact_node.h"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/testing/random_nodes.h"
#include "test/testing/worlds.h"

namespace offcut::binpack {
namespace {

using ::offcut::testing::FractionNode;
using ::offcut::testing::MigNode;
using ::offcut::testing::PoolNode;
using ::offcut::testing::RandomNode;
using ::offcut::testing::RandomShape;
using ::offcut::testing::SharedNode;
using ::offcut::testing::WholeNode;

TEST(CompactNodeTest, HasNothingFreeOnATakenOrAClosedGpu) {
  const CompactNode node = Compact(WholeNode("X.uU"));
  ASSERT_EQ(node.gpus.size(), 4U);
  EXPECT_EQ(node.gpus[0].free_units, 0);
  EXPECT_EQ(node.gpus[1].free_units, 1400);
  EXPECT_EQ(node.gpus[2].kind, GpuKind::kClosed);
  EXPECT_EQ(node.gpus[2].free_units, 0);
  EXPECT_EQ(node.free_units, 1400);
  EXPECT_EQ(node.used_units, 2 * 1400);
  EXPECT_EQ(node.total_units, 4 * 1400);
}

// 46 % of the cores are 644 of 1400 units, and 10,000 of 32,768 MiB floor(427.2) = 427: the cores
// leave less. On the second GPU 30,000 MiB, 1281 units, leave less than 10 % of the cores.
TEST(CompactNodeTest, CountsTheScarcerOfMemoryAndCores) {
  const CompactNode node = Compact(FractionNode(32'768, {{10'000, 46, 1}, {30'000, 10, 2}}));
  EXPECT_EQ(node.gpus[0].free_units, 1400 - 644);
  EXPECT_EQ(node.gpus[1].free_units, 1400 - 1281);
  EXPECT_EQ(node.gpus[1].free_sharers, 8);
}

// A 3g at 4 takes slices 4 to 7 of 8: half of the GPU. A slot of four is a quarter.
TEST(CompactNodeTest, CountsSlicesAndSlotsAsPartsOfTheirGpu) {
  const CompactNode mig = Compact(MigNode("A100-40GB", {"3g.20gb@4"}));
  EXPECT_EQ(mig.gpus[0].free_slices, 0b0000'1111);
  EXPECT_EQ(mig.gpus[0].free_units, 700);
  EXPECT_EQ(Compact(SharedNode(Sharing::kMps, {"X..."})).gpus[0].free_units, 1050);
}

// Of four 1g.5gb, an eighth of a GPU each, one is free: 175 units.
TEST(CompactNodeTest, CountsWhatPoolsHaveFree) {
  EXPECT_EQ(Compact(PoolNode("A100-40GB", {{"1g.5gb", 4, 3}})).free_units, 175);
  EXPECT_EQ(PoolUnitsTaken(PoolNode("A100-40GB", {{"1g.5gb", 4, 2}}),
                           {{{.kind = PieceKind::kInstance, .pool = 0}}}),
            175);
}

TEST(CompactNodeTest, TellsAPartOfAGpuFromOneAndFromSeveral) {
  const Piece whole{.kind = PieceKind::kWhole, .gpu = 0};
  EXPECT_EQ(RequestKindOf({{{.kind = PieceKind::kFraction, .gpu = 0, .cores_percent = 50}}}), 0);
  EXPECT_EQ(RequestKindOf({{{.kind = PieceKind::kFraction, .gpu = 0, .cores_percent = 100}}}), 1);
  EXPECT_EQ(RequestKindOf({{whole}}), 1);
  EXPECT_EQ(RequestKindOf({std::vector<Piece>(8, whole)}), 8);
  EXPECT_EQ(RequestKindOf({std::vector<Piece>(100, whole)}), 31);
}

// Compact(state with the placement) equals the compact state with its pieces, GPU by GPU.
TEST(CompactNodeTest, TakesAPieceAsTheStateTakesIt) {
  int checked = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const NodeState before = RandomNode(random);
    const auto placement = FindPlacement(before, RandomShape(random, before));
    if (!placement) continue;
    NodeState after = before;
    Occupy(after, *placement);
    CompactNode compact = Compact(before);
    for (const Piece& piece : placement->pieces) {
      if (piece.gpu < 0) continue;
      CompactGpu& gpu = compact.gpus[static_cast<std::size_t>(piece.gpu)];
      gpu = WithPiece(gpu, piece);
    }
    EXPECT_EQ(compact.gpus, Compact(after).gpus);
    ++checked;
  }
  EXPECT_GT(checked, 100);
}

}  // namespace
}  // namespace offcut::binpack
