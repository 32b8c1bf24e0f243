#include "scheduler/lifetimes.h"

#include <gtest/gtest.h>

#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::PodFromText;

Pod OfOwner(std::string owner_uid, std::int64_t started_s) {
  Pod pod = PodFromText("p nvidia.com/gpu=1 node=n");
  pod.owner_uid = std::move(owner_uid);
  pod.started_s = started_s;
  return pod;
}

// Pods that ran so long, all from 100 s on.
Lifetimes Learnt(const std::vector<std::int64_t>& run_s) {
  Lifetimes lifetimes;
  for (const std::int64_t each : run_s) lifetimes.NoteEnd(OfOwner("job", 100), 100 + each);
  return lifetimes;
}

TEST(LifetimesTest, IsTheLongestOfTheLastEight) {
  EXPECT_EQ(Learnt({30, 50, 40}).EstimateOf("job"), 50);
  // 90 was the first of nine.
  EXPECT_EQ(Learnt({90, 30, 50, 40, 10, 10, 10, 10, 10}).EstimateOf("job"), 50);
}

TEST(LifetimesTest, SaysNothingByFewerThanThreePods) {
  EXPECT_EQ(Learnt({30, 50}).EstimateOf("job"), std::nullopt);
  EXPECT_EQ(Learnt({30, 50, 40}).EstimateOf("other"), std::nullopt);
}

TEST(LifetimesTest, LearnsNothingOfPodsThatDidNotEndByThemselvesOrHaveNoOwner) {
  Lifetimes lifetimes = Learnt({30, 50});
  Pod deleted = OfOwner("job", 100);
  deleted.is_terminating = true;
  lifetimes.NoteEnd(deleted, 140);
  lifetimes.NoteEnd(OfOwner("job", 0), 140);    // it had not started
  lifetimes.NoteEnd(OfOwner("job", 200), 140);  // clocks differ
  EXPECT_EQ(lifetimes.EstimateOf("job"), std::nullopt);
  for (int i = 0; i < 3; ++i) lifetimes.NoteEnd(OfOwner("", 100), 140);
  EXPECT_EQ(lifetimes.EstimateOf(""), std::nullopt);
}

TEST(LifetimesTest, ForgetsTheOwnerWhosePodsHaveNotEndedForLongest) {
  Lifetimes lifetimes(2);
  for (const char* owner : {"a", "a", "a", "b", "b", "b", "a", "c", "c", "c"}) {
    lifetimes.NoteEnd(OfOwner(owner, 100), 140);
  }
  EXPECT_EQ(lifetimes.EstimateOf("a"), 40);
  EXPECT_EQ(lifetimes.EstimateOf("b"), std::nullopt);
  EXPECT_EQ(lifetimes.EstimateOf("c"), 40);
}

// Started at 100, runs for 50 by its owner's pods: it ends at 150, or earlier by its deadline.
TEST(ExpectedEndTest, IsTheEarlierOfDeadlineAndLifetime) {
  const Lifetimes lifetimes = Learnt({30, 50, 40});
  Pod pod = OfOwner("job", 100);
  EXPECT_EQ(ExpectedEnd(pod, lifetimes, 120), 150);
  pod.run_s_max = 60;
  EXPECT_EQ(ExpectedEnd(pod, lifetimes, 120), 150);
  pod.run_s_max = 40;
  EXPECT_EQ(ExpectedEnd(pod, lifetimes, 120), 140);
  EXPECT_EQ(ExpectedEnd(pod, Lifetimes(), 120), 140);
}

TEST(ExpectedEndTest, IsNotKnownOfAPodThatHasOutlivedItsEstimate) {
  const Lifetimes lifetimes = Learnt({30, 50, 40});
  Pod pod = OfOwner("job", 100);
  EXPECT_EQ(ExpectedEnd(pod, lifetimes, 150), 150);
  EXPECT_EQ(ExpectedEnd(pod, lifetimes, 151), std::nullopt);
  pod.run_s_max = 80;
  EXPECT_EQ(ExpectedEnd(pod, lifetimes, 151), 180) << "the deadline stands";
}

TEST(ExpectedEndTest, IsNowForPodsThatAreDeletedOrPastTheirDeadline) {
  Pod pod = OfOwner("job", 100);
  EXPECT_EQ(ExpectedEnd(pod, Lifetimes(), 500), std::nullopt);
  pod.run_s_max = 60;
  EXPECT_EQ(ExpectedEnd(pod, Lifetimes(), 500), 500);
  pod.run_s_max = 0;
  pod.is_terminating = true;
  EXPECT_EQ(ExpectedEnd(pod, Lifetimes(), 500), 500);
}

// It has 60 s from its start, which is to come.
TEST(ExpectedEndTest, BeginsNowForAPodThatHasNotStarted) {
  Pod pod = OfOwner("job", 0);
  pod.run_s_max = 60;
  EXPECT_EQ(ExpectedEnd(pod, Lifetimes(), 500), 560);
}

}  // namespace
}  // namespace offcut::scheduler
