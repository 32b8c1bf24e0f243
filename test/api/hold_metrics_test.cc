#include "api/hold_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::PodFromText;
using testing::SnapshotOf;
using testing::WholeInventory;

// Two places with a date, of two and three GPUs.
TEST(HoldMetricsTest, CountPlacesAndTheirGpusByCause) {
  scheduler::Snapshot snapshot = SnapshotOf({WholeInventory("m", 8), WholeInventory("n", 8)});
  for (const auto& [text, node] :
       {std::pair("two nvidia.com/gpu=2", "m"), std::pair("three nvidia.com/gpu=3", "n")}) {
    scheduler::Pod pod = PodFromText(text);
    pod.hold = scheduler::Hold{.pod_uid = pod.uid,
                               .node = node,
                               .cause = scheduler::HoldCause::kDate,
                               .until_s = 160,
                               .expected_s = 100};
    snapshot.PutPod(pod);
  }
  EXPECT_THAT(PrintHoldMetrics(snapshot),
              AllOf(HasSubstr("offcut_holds{cause=\"date\"} 2\n"),
                    HasSubstr("offcut_held_devices{cause=\"date\"} 5\n"),
                    HasSubstr("offcut_holds{cause=\"reclaim\"} 0\n")));
  snapshot.LapseHold("uid-two");
  EXPECT_THAT(PrintHoldMetrics(snapshot),
              AllOf(HasSubstr("offcut_holds{cause=\"date\"} 1\n"),
                    HasSubstr("offcut_held_devices{cause=\"date\"} 3\n")));
}

}  // namespace
}  // namespace offcut::api
