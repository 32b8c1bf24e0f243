#include "scheduler/evaluation_cache.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "scheduler/packing.h"
#include "scheduler/whole_nodes.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::PodFromText;
using ::offcut::testing::SharedInventory;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;
using ::testing::ElementsAreArray;

constexpr auto kPrefilter = Prefilter::kNone;

std::vector<Evaluation> EvaluateAfresh(const Snapshot& snapshot, const Pod& pod,
                                       const Policy& policy) {
  std::vector<Evaluation> evaluations;
  for (const auto& node : snapshot.nodes()) {
    evaluations.push_back(Evaluate(*node, pod, policy, *PackingOf(snapshot, policy), kPrefilter));
  }
  return evaluations;
}

Snapshot FourNodes() {
  return SnapshotOf({WholeInventory("a", 8), WholeInventory("b", 4),
                     SharedInventory("c", binpack::Sharing::kTimeSlicing, 2, 4),
                     WholeInventory("d", 2, "A30-24GB")});
}

TEST(EvaluationCacheTest, WorksOutANodeAgainOnlyAfterItHasChanged) {
  Snapshot snapshot = FourNodes();
  const Policy policy;
  EvaluationCache cache(policy, kPrefilter);
  const Pod pod = PodFromText("p nvidia.com/gpu=2");
  cache.EvaluateAll(snapshot, pod);
  EXPECT_EQ(cache.evaluated_count(), 4U);
  cache.EvaluateAll(snapshot, PodFromText("another nvidia.com/gpu=2"));
  EXPECT_EQ(cache.evaluated_count(), 4U);
  ASSERT_TRUE(Reserve(snapshot, pod, "b", policy, kPrefilter).verdict.fits());
  cache.EvaluateAll(snapshot, PodFromText("third nvidia.com/gpu=2"));
  EXPECT_EQ(cache.evaluated_count(), 5U);
}

TEST(EvaluationCacheTest, TellsRequestsApartThatDifferInAnything) {
  const Snapshot snapshot = FourNodes();
  const Policy policy;
  EvaluationCache cache(policy, kPrefilter);
  Pod restricted = PodFromText("p nvidia.com/gpu=2");
  restricted.request.constraint.models_denied = {"A30*"};
  Pod two_containers = PodFromText("p nvidia.com/gpu=1");
  two_containers.containers.push_back(two_containers.containers[0]);
  two_containers.request = EffectiveRequest(two_containers.containers, {});
  for (const Pod& pod :
       {PodFromText("p nvidia.com/gpu=2"), PodFromText("p nvidia.com/gpu=3"),
        PodFromText("p nvidia.com/gpu=2 cpu=1000"), restricted, two_containers, PodFromText("p")}) {
    cache.EvaluateAll(snapshot, pod);
  }
  EXPECT_EQ(cache.request_count(), 6U);
}

TEST(EvaluationCacheTest, ForgetsTheRequestThatWasAskedForLongestAgo) {
  const Snapshot snapshot = FourNodes();
  const Policy policy;
  EvaluationCache cache(policy, kPrefilter, {.requests = 2, .bytes = 1U << 20U});
  cache.EvaluateAll(snapshot, PodFromText("p nvidia.com/gpu=1"));
  cache.EvaluateAll(snapshot, PodFromText("p nvidia.com/gpu=2"));
  cache.EvaluateAll(snapshot, PodFromText("p nvidia.com/gpu=1"));
  cache.EvaluateAll(snapshot, PodFromText("p nvidia.com/gpu=3"));
  EXPECT_EQ(cache.request_count(), 2U);
  EXPECT_EQ(cache.evaluated_count(), 12U);
  cache.EvaluateAll(snapshot, PodFromText("p nvidia.com/gpu=1"));
  EXPECT_EQ(cache.evaluated_count(), 12U);
}

// Four nodes at 16 bytes: one request in 64 bytes, and one even where there is room for none.
TEST(EvaluationCacheTest, KeepsWithinItsBytes) {
  const Snapshot snapshot = FourNodes();
  const Policy policy;
  EXPECT_EQ(sizeof(Evaluation), 16U);
  for (const std::size_t bytes : {64U, 1U}) {
    EvaluationCache cache(policy, kPrefilter, {.requests = 100, .bytes = bytes});
    for (const char* count : {"1", "2", "3"}) {
      cache.EvaluateAll(snapshot, PodFromText(std::string("p nvidia.com/gpu=") + count));
    }
    EXPECT_EQ(cache.request_count(), 1U);
  }
}

// Two pods of one request draw anew under a strategy that draws.
TEST(EvaluationCacheTest, KeepsNoDrawForTheNextPod) {
  const Snapshot snapshot = FourNodes();
  Policy policy;
  policy.packing = binpack::PreparePacking("random");
  EvaluationCache cache(policy, kPrefilter);
  const Pod first = PodFromText("p nvidia.com/gpu=1");
  const Pod second = PodFromText("q nvidia.com/gpu=1");
  const auto all = cache.EvaluateAll(snapshot, first);
  const std::vector<Evaluation> of_first(all.begin(), all.end());
  EXPECT_THAT(of_first, ElementsAreArray(EvaluateAfresh(snapshot, first, policy)));
  EXPECT_THAT(cache.EvaluateAll(snapshot, second),
              ElementsAreArray(EvaluateAfresh(snapshot, second, policy)));
}

// Another workload, and so other costs of every request on every node.
TEST(EvaluationCacheTest, WorksEverythingOutAgainWithAnotherModel) {
  Snapshot snapshot = FourNodes();
  const Policy policy;
  EvaluationCache cache(policy, kPrefilter);
  const Pod pod = PodFromText("p nvidia.com/gpu=2");
  cache.EvaluateAll(snapshot, pod);
  snapshot.SetPacking(RenewedPacking(snapshot, policy));
  EXPECT_THAT(cache.EvaluateAll(snapshot, pod),
              ElementsAreArray(EvaluateAfresh(snapshot, pod, policy)));
  EXPECT_EQ(cache.evaluated_count(), 8U);
}

// One random edit: a pod comes or goes, a node comes, goes or changes; seldom the workload.
void Edit(std::mt19937& random, const Policy& policy, int step, Snapshot& snapshot) {
  const std::string node = std::string(1, static_cast<char>('a' + random() % 8));
  if (random() % 8 == 0) snapshot.SetPacking(RenewedPacking(snapshot, policy));
  switch (random() % 6) {
    case 0:
      snapshot.PutNode(WholeInventory(node, 1 + static_cast<int>(random() % 8)));
      break;
    case 1:
      snapshot.PutNode(SharedInventory(node, binpack::Sharing::kTimeSlicing, 2, 4));
      break;
    case 2:
      snapshot.RemoveNode(node);
      break;
    case 3:
      snapshot.RemovePod("uid-p" + std::to_string(random() % 50));
      break;
    default:
      Reserve(snapshot,
              PodFromText("p" + std::to_string(step % 50) +
                          " nvidia.com/gpu=" + std::to_string(1 + random() % 3)),
              node, policy, kPrefilter);
  }
}

TEST(EvaluationCacheTest, SaysAfterAnyEditsWhatAnEvaluationAfreshSays) {
  for (const char* strategy : {"best-fit", "spread", "clustering", "fgd", "offcut"}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(std::string(strategy) + ", seed " + std::to_string(seed));
      std::mt19937 random(seed);
      Policy policy;
      policy.packing = binpack::PreparePacking(strategy);
      Snapshot snapshot = FourNodes();
      EvaluationCache cache(policy, kPrefilter, {.requests = 3, .bytes = 1U << 20U});
      for (int step = 0; step < 60; ++step) {
        for (int edits = static_cast<int>(random() % 3); edits > 0; --edits) {
          Edit(random, policy, step, snapshot);
        }
        const Pod pod = PodFromText("asked nvidia.com/gpu=" + std::to_string(1 + random() % 4) +
                                    " cpu=" + std::to_string(random() % 2));
        ASSERT_THAT(cache.EvaluateAll(snapshot, pod),
                    ElementsAreArray(EvaluateAfresh(snapshot, pod, policy)));
        ASSERT_EQ(cache.opening_cost(), cache.model().whole_nodes.CostAt(
                                            CountFreeWhole(snapshot.nodes(), cache.model())));
      }
    }
  }
}

// The server's path and the plain one, with an expectation, an unknown name and a pod that holds.
TEST(EvaluationCacheTest, FiltersAndScoresAsWithoutACache) {
  Snapshot snapshot = FourNodes();
  const Policy policy;
  const Pod held = PodFromText("held nvidia.com/gpu=4");
  ASSERT_TRUE(Reserve(snapshot, held, "b", policy, kPrefilter).verdict.fits());
  snapshot.Claim(std::make_shared<const Pod>(PodFromText("claims nvidia.com/gpu=8")), "a");
  EvaluationCache cache(policy, kPrefilter);
  std::vector<std::string> names = {"a", "b", "c", "d", "unknown"};
  std::mt19937 random(3);
  for (int i = 0; i < 10; ++i) {
    std::ranges::shuffle(names, random);
    for (const Pod& pod : {PodFromText("p nvidia.com/gpu=1"), PodFromText("p nvidia.com/gpu=2"),
                           held, PodFromText("p")}) {
      EXPECT_EQ(Filter(snapshot, pod, names, cache),
                Filter(snapshot, pod, names, policy, kPrefilter));
      EXPECT_EQ(Score(snapshot, pod, names, cache),
                Score(snapshot, pod, names, policy, kPrefilter));
    }
  }
}

}  // namespace
}  // namespace offcut::scheduler
