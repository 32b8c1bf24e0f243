#include "scheduler/gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::Gpus;
using ::offcut::testing::PodFromText;
using ::offcut::testing::RedAndBlueOf;
using ::offcut::testing::SharedInventory;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::WholeInventory;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Pod Gated(const std::string& text) {
  Pod pod = PodFromText(text);
  pod.has_quota_gate = true;
  return pod;
}

Pod OfGang(Pod pod, int min_count) {
  pod.gang = "g";
  pod.gang_min_count = min_count;
  return pod;
}

// red and blue are guaranteed two GPUs each, and may borrow of one another.
std::shared_ptr<const Tenancy> TwoEach() {
  return std::make_shared<const Tenancy>(RedAndBlueOf(Gpus(2), Gpus(2)));
}

std::vector<std::string> Lifted(std::vector<Pod> pods, std::size_t at_most = 100,
                                std::vector<Inventory> nodes = {WholeInventory("n", 16)}) {
  Snapshot snapshot = SnapshotOf(std::move(nodes), std::move(pods));
  snapshot.SetTenancy(TwoEach());
  return GatesToLift(snapshot, at_most);
}

TEST(GatesTest, AreLiftedForAsManyAsQuotaHasRoomFor) {
  EXPECT_THAT(Lifted({Gated("a nvidia.com/gpu=2 namespace=red created=1"),
                      Gated("b nvidia.com/gpu=2 namespace=red created=2"),
                      Gated("c nvidia.com/gpu=2 namespace=red created=3")}),
              ElementsAre("uid-a", "uid-b"));
}

// red's are older; but blue uses nothing yet, so the second turn is blue's, and so on.
TEST(GatesTest, AreLiftedForTheTenantThatHasLeast) {
  EXPECT_THAT(Lifted({Gated("r1 nvidia.com/gpu=1 namespace=red created=1"),
                      Gated("r2 nvidia.com/gpu=1 namespace=red created=2"),
                      Gated("r3 nvidia.com/gpu=1 namespace=red created=3"),
                      Gated("b1 nvidia.com/gpu=1 namespace=blue created=8"),
                      Gated("b2 nvidia.com/gpu=1 namespace=blue created=9")}),
              ElementsAre("uid-r1", "uid-r2", "uid-b1", "uid-b2"));
}

TEST(GatesTest, StayWhileThoseThatPassedWaitForDevices) {
  EXPECT_THAT(Lifted({PodFromText("a nvidia.com/gpu=3 namespace=red created=1"),
                      Gated("b nvidia.com/gpu=2 namespace=red created=2"),
                      Gated("c nvidia.com/gpu=1 namespace=red created=3")}),
              ElementsAre("uid-c"));
}

TEST(GatesTest, StayBeforeWhatCanNeverFit) {
  EXPECT_THAT(Lifted({Gated("a nvidia.com/gpu=5 namespace=red")}), IsEmpty());
}

TEST(GatesTest, AreNoUseForPodsWithoutTenant) {
  EXPECT_THAT(Lifted({Gated("a nvidia.com/gpu=16")}), ElementsAre("uid-a"));
  Snapshot snapshot = SnapshotOf({}, {Gated("a nvidia.com/gpu=1 namespace=red")});
  EXPECT_THAT(GatesToLift(snapshot, 10), ElementsAre("uid-a"));
}

TEST(GatesTest, OfOthersGoFirst) {
  Pod pod = Gated("a nvidia.com/gpu=1 namespace=red");
  pod.has_other_gates = true;
  EXPECT_THAT(Lifted({pod}), IsEmpty());
}

TEST(GatesTest, AreLiftedAtMostSoManyAtOnce) {
  std::vector<Pod> pods;
  for (int i = 0; i < 9; ++i) {
    pods.push_back(Gated("p" + std::to_string(i) + " nvidia.com/gpu=1 created=1"));
  }
  EXPECT_THAT(Lifted(pods, 4), SizeIs(4));
}

// Three of the gang must start together. Quota is there for four GPUs in all, and one is held.
TEST(GatesTest, OfAGangAreLiftedTogetherOrNot) {
  const auto members = [](int count, const std::string& gpus) {
    std::vector<Pod> pods = {PodFromText("x nvidia.com/gpu=1 node=n namespace=blue")};
    for (int i = 0; i < count; ++i) {
      pods.push_back(OfGang(Gated("g" + std::to_string(i) + " namespace=red nvidia.com/gpu=" +
                                  gpus + " created=" + std::to_string(i)),
                            3));
    }
    return pods;
  };
  EXPECT_THAT(Lifted(members(3, "1")), ElementsAre("uid-g0", "uid-g1", "uid-g2"));
  EXPECT_THAT(Lifted(members(3, "2")), IsEmpty());  // 6 GPUs
  EXPECT_THAT(Lifted(members(2, "1")), IsEmpty());  // one member does not exist yet
  EXPECT_THAT(Lifted(members(4, "1")), SizeIs(3));  // the fourth is further, and waits
}

// One member runs, one waits for devices: of the three that are needed one is lacking.
TEST(GatesTest, OfAGangThatRunsCountItsMembers) {
  EXPECT_THAT(Lifted({OfGang(PodFromText("g0 nvidia.com/gpu=1 node=n namespace=red"), 3),
                      OfGang(PodFromText("g1 nvidia.com/gpu=1 namespace=red"), 3),
                      OfGang(Gated("g2 nvidia.com/gpu=1 namespace=red"), 3)}),
              ElementsAre("uid-g2"));
}

// A slot of four is a quarter of a GPU, and a GPU is none: sixteen slots fit into four GPUs of
// quota.
TEST(GatesTest, GoByWhatTheNodesMakeOfTheRequest) {
  std::vector<Pod> pods;
  for (int i = 0; i < 20; ++i) {
    pods.push_back(Gated("p" + std::to_string(i) + " nvidia.com/gpu=1 namespace=red"));
  }
  EXPECT_THAT(Lifted(pods, 100, {SharedInventory("s", binpack::Sharing::kMps, 8, 4)}), SizeIs(16));
  EXPECT_THAT(Lifted(pods, 100, {WholeInventory("n", 16)}), SizeIs(4));
  EXPECT_THAT(Lifted(pods, 100, {}), SizeIs(4));
}

// Slots of thirds are charged 467, 467 and 466: rounding keeps nobody behind the gate.
TEST(GatesTest, RoundingOfSlotsHoldsNobodyBack) {
  std::vector<Pod> pods;
  for (int i = 0; i < 6; ++i) {
    pods.push_back(Gated("r" + std::to_string(i) + " nvidia.com/gpu=1 namespace=red"));
    pods.push_back(Gated("b" + std::to_string(i) + " nvidia.com/gpu=1 namespace=blue"));
  }
  EXPECT_THAT(Lifted(pods, 100, {SharedInventory("s", binpack::Sharing::kMps, 4, 3)}), SizeIs(12));
}

}  // namespace
}  // namespace offcut::scheduler
