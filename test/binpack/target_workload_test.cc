#include "binpack/target_workload.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offcut::binpack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ExpectedRequest Share(std::int64_t cpu_milli, int share_units,
                      std::vector<std::string> models = {}) {
  return {.cpu_milli = cpu_milli,
          .kind = DemandKind::kShare,
          .gpus = 1,
          .share_units = share_units,
          .models = std::move(models)};
}

std::vector<ExpectedRequest> Repeated(const std::vector<std::pair<int, ExpectedRequest>>& counted) {
  std::vector<ExpectedRequest> requests;
  for (const auto& [count, request] : counted) {
    requests.insert(requests.end(), static_cast<std::size_t>(count), request);
  }
  return requests;
}

// 20 requests: 19 cover 95 %, so that the single one is left out.
TEST(TargetWorkloadTest, KeepsTheShortestPrefixThatCovers95Percent) {
  const auto workload = DeriveTargetWorkload(
      Repeated({{1, Share(9'000, 1400)}, {7, Share(2'000, 700)}, {12, Share(1'000, 280)}}));
  EXPECT_THAT(workload.classes, ElementsAre(WorkloadClass{Share(1'000, 280), 12},
                                            WorkloadClass{Share(2'000, 700), 7}));
  EXPECT_EQ(TotalCount(workload), 19);
}

// 18 of 20 are 90 %: the second class is needed, and takes the sum to 100 %.
TEST(TargetWorkloadTest, GoesBeyond95PercentWhereNoPrefixMeetsIt) {
  const auto workload =
      DeriveTargetWorkload(Repeated({{18, Share(1'000, 280)}, {2, Share(2'000, 700)}}));
  EXPECT_THAT(workload.classes, SizeIs(2));
}

TEST(TargetWorkloadTest, PutsTheLargerOfEquallyFrequentClassesFirst) {
  const std::vector<ExpectedRequest> requests = {Share(1'000, 700), Share(2'000, 280),
                                                 Share(1'000, 700, {"T4"}),
                                                 Share(1'000, 700, {"A10"}), Share(1'000, 980)};
  const auto workload = DeriveTargetWorkload(requests);
  EXPECT_THAT(workload.classes,
              ElementsAre(WorkloadClass{Share(2'000, 280), 1}, WorkloadClass{Share(1'000, 980), 1},
                          WorkloadClass{Share(1'000, 700, {"T4"}), 1},
                          WorkloadClass{Share(1'000, 700, {"A10"}), 1},
                          WorkloadClass{Share(1'000, 700), 1}));
}

TEST(TargetWorkloadTest, CountsRequestsWithoutGpusToo) {
  const std::vector<ExpectedRequest> requests = {{.cpu_milli = 4'000}, {.cpu_milli = 4'000}};
  EXPECT_THAT(DeriveTargetWorkload(requests).classes,
              ElementsAre(WorkloadClass{{.cpu_milli = 4'000}, 2}));
}

TEST(TargetWorkloadTest, HasNoClassWithoutRequests) {
  EXPECT_THAT(DeriveTargetWorkload({}).classes, IsEmpty());
  EXPECT_EQ(TotalCount({}), 0);
}

TEST(TargetWorkloadTest, HasAtMostAHundredClasses) {
  std::vector<ExpectedRequest> requests;
  for (int cpu = 1; cpu <= 1'000; ++cpu) requests.push_back(Share(cpu, 700));
  const auto workload = DeriveTargetWorkload(requests);
  EXPECT_THAT(workload.classes, SizeIs(kWorkloadClassesMax));
  EXPECT_EQ(workload.classes.front().request.cpu_milli, 1'000);
}

TEST(TargetWorkloadTest, DoesNotDependOnTheOrderOfRequests) {
  auto requests = Repeated({{3, Share(1'000, 280)}, {3, Share(2'000, 700)}, {2, Share(1, 1400)}});
  const auto workload = DeriveTargetWorkload(requests);
  std::mt19937 random(5);
  for (int i = 0; i < 20; ++i) {
    std::ranges::shuffle(requests, random);
    EXPECT_EQ(DeriveTargetWorkload(requests), workload);
  }
}

}  // namespace
}  // namespace offcut::binpack
