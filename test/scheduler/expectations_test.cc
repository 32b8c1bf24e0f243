#include "scheduler/expectations.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::PodFromText;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;

std::shared_ptr<const Pod> Shared(std::string_view text) {
  return std::make_shared<const Pod>(PodFromText(text));
}

bool Fits(const Snapshot& snapshot, std::string_view pod) {
  const std::vector<std::string> names = {"n"};
  return Filter(snapshot, PodFromText(pod), names, {}, Prefilter::kByKubeScheduler)[0].fits();
}

// n has two GPUs; both are meant for a preemptor of priority 5.
TEST(NominationTest, HoldsAgainstLowerAndEqualPriority) {
  const Snapshot snapshot = SnapshotOf(
      {WholeInventory("n", 2)}, {PodFromText("boss nvidia.com/gpu=2 priority=5 nominated=n")});
  EXPECT_FALSE(Fits(snapshot, "p nvidia.com/gpu=1 priority=4"));
  EXPECT_FALSE(Fits(snapshot, "p nvidia.com/gpu=1 priority=5"));
  EXPECT_TRUE(Fits(snapshot, "p nvidia.com/gpu=1 priority=6"));
  EXPECT_TRUE(Fits(snapshot, "boss nvidia.com/gpu=2 priority=5"));
}

// One GPU. Each would wait for the other, and both for ever.
TEST(NominationTest, OfEqualsNominatedToOneNodeTheEarlierGoesFirst) {
  Snapshot snapshot =
      SnapshotOf({WholeInventory("n", 1)},
                 {PodFromText("old nvidia.com/gpu=1 priority=5 nominated=n created=1"),
                  PodFromText("a nvidia.com/gpu=1 priority=5 nominated=n created=2"),
                  PodFromText("b nvidia.com/gpu=1 priority=5 nominated=n created=2")});
  EXPECT_TRUE(Fits(snapshot, "old nvidia.com/gpu=1 priority=5 nominated=n created=1"));
  EXPECT_FALSE(Fits(snapshot, "a nvidia.com/gpu=1 priority=5 nominated=n created=2"));
  EXPECT_FALSE(Fits(snapshot, "other nvidia.com/gpu=1 priority=5 created=0"));
  snapshot.RemovePod("uid-old");
  EXPECT_TRUE(Fits(snapshot, "a nvidia.com/gpu=1 priority=5 nominated=n created=2"));
  EXPECT_FALSE(Fits(snapshot, "b nvidia.com/gpu=1 priority=5 nominated=n created=2"));
  // A nomination that has lapsed blocks nobody, and gives no precedence either.
  snapshot.LapseNomination("uid-a");
  EXPECT_FALSE(Fits(snapshot, "a nvidia.com/gpu=1 priority=5 nominated=n created=2"));
  EXPECT_TRUE(Fits(snapshot, "b nvidia.com/gpu=1 priority=5 nominated=n created=2"));
}

TEST(NominationTest, EndsWhenItLapsesUntilThePodIsNominatedElsewhere) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2), WholeInventory("m", 2)});
  snapshot.PutPod(PodFromText("boss nvidia.com/gpu=2 priority=5 nominated=n"));
  snapshot.LapseNomination("uid-boss");
  EXPECT_TRUE(Fits(snapshot, "p nvidia.com/gpu=1"));
  snapshot.PutPod(PodFromText("boss nvidia.com/gpu=2 priority=5 nominated=n"));
  EXPECT_TRUE(Fits(snapshot, "p nvidia.com/gpu=1"));
  snapshot.PutPod(PodFromText("boss nvidia.com/gpu=2 priority=5 nominated=m"));
  snapshot.PutPod(PodFromText("boss nvidia.com/gpu=2 priority=5 nominated=n"));
  EXPECT_FALSE(Fits(snapshot, "p nvidia.com/gpu=1"));
}

// Nobody else is expected anywhere, and yet what is kept of the pod must go.
TEST(NominationTest, ThatHasLapsedIsForgottenWithIt) {
  const Pod nominated = PodFromText("boss nvidia.com/gpu=2 priority=5 nominated=n");
  const Pod waits = PodFromText("boss nvidia.com/gpu=2 priority=5");
  const Pod bound = PodFromText("boss nvidia.com/gpu=2 priority=5 node=m");
  const auto lapsed = [&] {
    Snapshot snapshot = SnapshotOf({WholeInventory("n", 2), WholeInventory("m", 2)}, {nominated});
    snapshot.LapseNomination("uid-boss");
    EXPECT_TRUE(snapshot.IsNominationLapsed("uid-boss", "n"));
    return snapshot;
  };
  Snapshot snapshot = lapsed();
  snapshot.RemovePod("uid-boss");
  EXPECT_FALSE(snapshot.IsNominationLapsed("uid-boss", "n"));
  snapshot = lapsed();
  snapshot.PutPod(bound);
  EXPECT_FALSE(snapshot.IsNominationLapsed("uid-boss", "n"));
  snapshot = lapsed();
  snapshot.PutPod(waits);
  EXPECT_FALSE(snapshot.IsNominationLapsed("uid-boss", "n"));
  snapshot.PutPod(nominated);  // anew
  EXPECT_FALSE(Fits(snapshot, "p nvidia.com/gpu=1"));
}

TEST(NominationTest, EndsWithThePod) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2)},
                                 {PodFromText("boss nvidia.com/gpu=2 priority=5 nominated=n")});
  snapshot.RemovePod("uid-boss");
  EXPECT_TRUE(Fits(snapshot, "p nvidia.com/gpu=2"));
}

TEST(NominationTest, EndsWhenThePodIsBound) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2), WholeInventory("m", 2)},
                                 {PodFromText("boss nvidia.com/gpu=2 priority=5 nominated=n")});
  snapshot.PutPod(PodFromText("boss nvidia.com/gpu=2 priority=5 nominated=n node=m"));
  EXPECT_TRUE(Fits(snapshot, "p nvidia.com/gpu=2"));
}

// Whoever is claimed for is assumed there, whatever its priority.
TEST(ClaimTest, CountsAgainstEveryOtherPod) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2)});
  snapshot.Claim(Shared("a nvidia.com/gpu=1"), "n");
  EXPECT_TRUE(Fits(snapshot, "b nvidia.com/gpu=1 priority=9"));
  snapshot.Claim(Shared("b nvidia.com/gpu=1"), "n");
  EXPECT_FALSE(Fits(snapshot, "c nvidia.com/gpu=1 priority=9"));
  EXPECT_TRUE(Fits(snapshot, "a nvidia.com/gpu=1"));
}

TEST(ClaimTest, IsOnePodsOnOneNode) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 1), WholeInventory("m", 1)});
  snapshot.Claim(Shared("a nvidia.com/gpu=1"), "n");
  snapshot.Claim(Shared("a nvidia.com/gpu=1"), "m");
  EXPECT_TRUE(Fits(snapshot, "b nvidia.com/gpu=1"));
}

TEST(ClaimTest, NeverMakesABindFail) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 1)});
  snapshot.Claim(Shared("a nvidia.com/gpu=1"), "n");
  EXPECT_TRUE(
      Reserve(snapshot, PodFromText("b nvidia.com/gpu=1"), "n", {}, Prefilter::kByKubeScheduler)
          .verdict.fits());
}

TEST(ClaimTest, EndsAtTheBindAndCountsOnce) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 2)});
  snapshot.Claim(Shared("a nvidia.com/gpu=1"), "n");
  Reserve(snapshot, PodFromText("a nvidia.com/gpu=1"), "n", {}, Prefilter::kByKubeScheduler);
  EXPECT_TRUE(snapshot.ExpectedOn("n").empty());
  EXPECT_TRUE(Fits(snapshot, "b nvidia.com/gpu=1"));
  snapshot.Claim(Shared("a nvidia.com/gpu=1"), "n");  // it holds devices: nothing to claim
  EXPECT_TRUE(snapshot.ExpectedOn("n").empty());
}

TEST(ClaimTest, EndsWhenItIsDroppedOrThePodIsDeletedUnseen) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 1)});
  snapshot.Claim(Shared("a nvidia.com/gpu=1"), "n");
  snapshot.DropClaim("uid-a");
  EXPECT_TRUE(Fits(snapshot, "b nvidia.com/gpu=1"));
  snapshot.Claim(Shared("a nvidia.com/gpu=1"), "n");
  snapshot.RemovePod("uid-a");
  EXPECT_TRUE(Fits(snapshot, "b nvidia.com/gpu=1"));
}

// Six members of two GPUs each for 8 + 4 GPUs, asked one after the other before any is bound, each
// claimed where it scores best: the six answers are consistent, and a seventh is refused.
TEST(ClaimTest, Case37MembersOfAGangAreAnsweredConsistentlyBeforeAnyIsBound) {
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 8), WholeInventory("m", 4)});
  const std::vector<std::string> names = {"n", "m"};
  std::vector<std::pair<Pod, std::string>> answers;
  for (int i = 0; i < 6; ++i) {
    const Pod pod = PodFromText("member-" + std::to_string(i) + " nvidia.com/gpu=2");
    const auto scores = Score(snapshot, pod, names, {}, Prefilter::kByKubeScheduler);
    const std::string best = scores[0] > scores[1] ? "n" : "m";
    ASSERT_EQ(scores[0] + scores[1], kScoreMax);
    snapshot.Claim(std::make_shared<const Pod>(pod), best);
    answers.emplace_back(pod, best);
  }
  const auto seventh = Filter(snapshot, PodFromText("member-6 nvidia.com/gpu=2"), names, {},
                              Prefilter::kByKubeScheduler);
  EXPECT_FALSE(seventh[0].fits());
  EXPECT_FALSE(seventh[1].fits());
  for (const auto& [pod, node] : answers) {
    EXPECT_TRUE(Reserve(snapshot, pod, node, {}, Prefilter::kByKubeScheduler).verdict.fits());
  }
}

}  // namespace
}  // namespace offcut::scheduler
