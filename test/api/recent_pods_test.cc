#include "api/recent_pods.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace offcut::api {
namespace {

std::shared_ptr<const scheduler::Pod> PodOf(const std::string& uid, const std::string& name = "p") {
  scheduler::Pod pod;
  pod.uid = uid;
  pod.name = name;
  return std::make_shared<const scheduler::Pod>(std::move(pod));
}

TEST(RecentPodsTest, TheOldestGoesWhenThereAreTooMany) {
  RecentPods pods(2);
  pods.Remember(PodOf("a"));
  pods.Remember(PodOf("b"));
  pods.Remember(PodOf("c"));
  EXPECT_EQ(pods.size(), 2U);
  EXPECT_EQ(pods.Find("a"), nullptr);
  EXPECT_NE(pods.Find("b"), nullptr);
  EXPECT_NE(pods.Find("c"), nullptr);
}

TEST(RecentPodsTest, APodThatComesAgainIsReplacedAndIsTheNewest) {
  RecentPods pods(2);
  pods.Remember(PodOf("a", "old"));
  pods.Remember(PodOf("b"));
  pods.Remember(PodOf("a", "new"));
  EXPECT_EQ(pods.size(), 2U);
  EXPECT_EQ(pods.Find("a")->name, "new");
  pods.Remember(PodOf("c"));  // now "b" is the oldest
  EXPECT_EQ(pods.Find("b"), nullptr);
  EXPECT_EQ(pods.Find("a")->name, "new");
}

TEST(RecentPodsTest, KnowsWhichPodItFirstHeardOf) {
  RecentPods pods(3);
  pods.Remember(PodOf("a"));
  pods.Remember(PodOf("b"));
  pods.Remember(PodOf("a"));
  EXPECT_LT(pods.FirstRemembered("a"), pods.FirstRemembered("b"));
  EXPECT_LT(pods.FirstRemembered("unknown"), pods.FirstRemembered("a"));
}

TEST(RecentPodsTest, RemembersNoPodOfARetiredUidAgain) {
  RecentPods pods(2);
  pods.Remember(PodOf("a"));
  pods.Retire("a");
  pods.Retire("a");
  pods.Remember(PodOf("a"));
  EXPECT_EQ(pods.Find("a"), nullptr);
  EXPECT_EQ(pods.size(), 0U);
  // As many as pods; then the oldest goes.
  pods.Retire("b");
  pods.Retire("c");
  pods.Remember(PodOf("a"));
  EXPECT_NE(pods.Find("a"), nullptr);
}

TEST(RecentPodsTest, APodThatWasFoundOutlivesItsPlace) {
  RecentPods pods(1);
  pods.Remember(PodOf("a"));
  const auto found = pods.Find("a");
  pods.Remember(PodOf("b"));
  EXPECT_EQ(found->uid, "a");
}

// Each pod weighs 10 KiB and a little by its one container's name; 25 KiB hold two.
TEST(RecentPodsTest, TheOldestGoesWhenTheyTakeTooMuchMemory) {
  const auto heavy = [](const std::string& uid, std::size_t bytes) {
    scheduler::Pod pod;
    pod.uid = uid;
    pod.containers.resize(1);
    pod.containers[0].name = std::string(bytes, 'x');
    return std::make_shared<const scheduler::Pod>(std::move(pod));
  };
  RecentPods pods(100, 25 * 1024);
  for (const char* uid : {"a", "b", "c"}) pods.Remember(heavy(uid, 10 * 1024));
  EXPECT_EQ(pods.size(), 2U);
  EXPECT_EQ(pods.Find("a"), nullptr);
  pods.Remember(heavy("d", 100 * 1024));  // the newest stays, whatever it takes
  EXPECT_EQ(pods.size(), 1U);
  EXPECT_NE(pods.Find("d"), nullptr);
}

TEST(RecentPodsTest, ManyThreadsMayUseItAtOnce) {
  RecentPods pods(16);
  const auto use = [&pods](int thread) {
    for (int i = 0; i < 1000; ++i) {
      const std::string uid = std::to_string((i + thread) % 32);
      pods.Remember(PodOf(uid));
      const auto found = pods.Find(uid);  // another thread may have pushed it out again
      if (found != nullptr) {
        ASSERT_EQ(found->uid, uid);
      }
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int thread = 0; thread < 4; ++thread) threads.emplace_back(use, thread);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pods.size(), 16U);
}

}  // namespace
}  // namespace offcut::api
