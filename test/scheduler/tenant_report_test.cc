#include "scheduler/tenant_report.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using ::offcut::testing::PodFromText;
using ::offcut::testing::RedAndBlue;
using ::offcut::testing::SnapshotOf;
using ::offcut::testing::TenancyOf;
using ::offcut::testing::WholeInventory;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Tenants are red and blue.
Snapshot WorldOf(std::vector<Inventory> nodes, const std::vector<std::string>& pods) {
  std::vector<Pod> all;
  for (const std::string& pod : pods) {
    all.push_back(PodFromText(pod));
    all.back().has_quota_gate = all.back().name.starts_with("gated");
  }
  Snapshot snapshot = SnapshotOf(std::move(nodes), std::move(all));
  snapshot.SetTenancy(RedAndBlue());
  return snapshot;
}

std::vector<std::string> NamesOf(const std::vector<TenantReport>& reports,
                                 const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const TenantReport& report : reports) {
    names.emplace_back(NameOf(snapshot.accounts()->tenancy(), report.tenant));
  }
  return names;
}

TEST(TenantReportTest, IsEmptyWithoutTenants) {
  EXPECT_THAT(ReportTenants(SnapshotOf({WholeInventory("n", 2)}), {}), IsEmpty());
}

//   b          a
//     b.2        a.1
//     b.1
//       b.1.1
TEST(TenantReportTest, FollowsTheTreeAndSiblingsTheirNames) {
  const Tenancy tenancy = TenancyOf({{.name = "b.1.1", .parent = "b.1"},
                                     {.name = "b"},
                                     {.name = "b.2", .parent = "b"},
                                     {.name = "a"},
                                     {.name = "b.1", .parent = "b"},
                                     {.name = "a.1", .parent = "a"}});
  std::vector<std::string_view> names;
  for (const int tenant : TenantsInOrder(*tenancy.tree)) names.push_back(NameOf(tenancy, tenant));
  EXPECT_THAT(names, ElementsAre("a", "a.1", "b", "b.1", "b.1.1", "b.2"));
}

// red uses 5: its 4, and one of blue's. Of the cells nobody named that red's memory fills is shown
// to red and to all above it, and that of the pool "*" to nobody.
TEST(TenantReportTest, TellsWhatIsUsedBorrowedAndLent) {
  const Snapshot snapshot =
      WorldOf({WholeInventory("n", 16)}, {"a nvidia.com/gpu=5 node=n namespace=red"});
  const auto reports = ReportTenants(snapshot, {});
  EXPECT_THAT(NamesOf(reports, snapshot), ElementsAre("all", "blue", "red"));
  const quota::TenantTree& tree = *snapshot.accounts()->tenancy().tree;
  const auto cells = [&](const TenantReport& report) {
    std::vector<std::string> texts;
    for (const TenantCell& each : report.cells) {
      const quota::Cell& cell = tree.cells[static_cast<std::size_t>(each.cell)];
      texts.push_back(cell.pool + "/" + cell.resource);
    }
    return texts;
  };
  EXPECT_THAT(cells(reports[0]),
              ElementsAre("default/coresPermille", "default/devices", "default/memoryMiB"));
  EXPECT_THAT(cells(reports[1]), ElementsAre("default/devices"));
  EXPECT_EQ(reports[0].depth, 0);
  EXPECT_EQ(reports[0].cells[1].own, 0);
  EXPECT_EQ(reports[0].cells[1].standing.used, 5 * 1400);
  EXPECT_EQ(reports[1].cells[0].standing.lent, 1400);
  EXPECT_EQ(reports[2].depth, 1);
  EXPECT_EQ(reports[2].cells[1].own, 5 * 1400);
  EXPECT_EQ(reports[2].cells[1].standing.borrowed, 1400);
  EXPECT_EQ(reports[2].cells[1].standing.available, 1400);
  EXPECT_EQ(quota::SharePermille(reports[2].share), 125);  // 1 of the 8 of `all`
}

// red holds all 6 that it may. One more waits, 7 never fit, and of blue 2 GPUs fit nowhere now.
TEST(TenantReportTest, SaysWhyPodsWait) {
  const Snapshot snapshot =
      WorldOf({WholeInventory("m", 8), WholeInventory("n", 2)},
              {"a nvidia.com/gpu=6 node=m namespace=red", "x nvidia.com/gpu=2 node=n",
               "y nvidia.com/gpu=1 node=m", "young nvidia.com/gpu=1 namespace=red created=9",
               "old nvidia.com/gpu=1 namespace=red created=1",
               "gated nvidia.com/gpu=1 namespace=red created=2",
               "never nvidia.com/gpu=7 namespace=red created=3",
               "two nvidia.com/gpu=2 namespace=blue", "fits nvidia.com/gpu=1 namespace=blue",
               "plain namespace=blue", "stranger nvidia.com/gpu=1"});
  const auto reports = ReportTenants(snapshot, {});
  const WaitingPods& red = reports[2].waiting;
  EXPECT_EQ(red.pods, 4);
  EXPECT_EQ(red.gated, 1);
  EXPECT_EQ(red.not_judged, 0);
  EXPECT_THAT(red.reasons,
              ElementsAre(ReasonPods{Reason::kQuotaWait, 3}, ReasonPods{Reason::kQuotaNever, 1}));
  std::vector<std::string> names;
  for (const WaitingPod& waiting : red.oldest) names.push_back(waiting.pod->name);
  EXPECT_THAT(names, ElementsAre("old", "gated", "never", "young"));
  EXPECT_EQ(red.oldest[2].reason, Reason::kQuotaNever);
  EXPECT_THAT(reports[1].waiting.reasons,
              ElementsAre(ReasonPods{Reason::kFits, 1}, ReasonPods{Reason::kGpusTaken, 1}));
  EXPECT_EQ(reports[0].waiting.pods, 0);  // own pods alone
  EXPECT_THAT(CountWaiting(snapshot), ElementsAre(0, 4, 2));
}

// A quarter of a T4 has 4,000 MiB. The pods ask for the same and differ in what they declare.
TEST(TenantReportTest, JudgesPodsApartThatDifferBesideTheirRequest) {
  std::vector<Pod> pods = {PodFromText("plain nvidia.com/gpu=1 namespace=red created=1"),
                           PodFromText("large nvidia.com/gpu=1 namespace=red created=2")};
  pods[1].declared_memory.mib = 8000;
  Snapshot snapshot =
      SnapshotOf({testing::SharedInventory("s", binpack::Sharing::kMps, 1, 4)}, std::move(pods));
  snapshot.SetTenancy(RedAndBlue());
  const auto reports = ReportTenants(snapshot, {});
  EXPECT_THAT(reports[2].waiting.reasons,
              ElementsAre(ReasonPods{Reason::kFits, 1}, ReasonPods{Reason::kSlotsMemory, 1}));
}

TEST(TenantReportTest, IsOfOneTenantWhereItIsAskedFor) {
  const Snapshot snapshot =
      WorldOf({WholeInventory("n", 1)},
              {"a nvidia.com/gpu=1 namespace=red", "b nvidia.com/gpu=1 namespace=blue"});
  const int blue = quota::FindTenant(*snapshot.accounts()->tenancy().tree, "blue");
  const auto reports = ReportTenants(snapshot, {}, blue);
  EXPECT_THAT(NamesOf(reports, snapshot), ElementsAre("blue"));
  EXPECT_EQ(reports[0].waiting.oldest[0].pod->name, "b");
}

// red's pods all ask for different CPU, blue's for the same: blue's are answered, of red's as many
// as the limit leaves.
TEST(TenantReportTest, JudgesSoManyRequestsAndEveryTenantsFirst) {
  std::vector<std::string> pods;
  for (int i = 0; i < 300; ++i) {
    const std::string number = std::to_string(i);
    pods.push_back("r" + number + " nvidia.com/gpu=1 namespace=red created=1 cpu=" + number);
    pods.push_back("b" + number + " nvidia.com/gpu=5 namespace=blue created=2");
  }
  const auto reports = ReportTenants(WorldOf({WholeInventory("n", 8)}, pods), {});
  EXPECT_THAT(reports[1].waiting.reasons, ElementsAre(ReasonPods{Reason::kQuotaNever, 300}));
  EXPECT_EQ(reports[2].waiting.not_judged, 300 - (static_cast<int>(kRequestsJudgedMax) - 1));
  EXPECT_THAT(reports[2].waiting.oldest, SizeIs(kWaitingNamedMax));
}

TEST(TenantReportTest, SaysOfAllNodesWhatHelpsMost) {
  const auto of = [](std::vector<Reason> reasons) {
    std::vector<Verdict> verdicts;
    for (const Reason reason : reasons) verdicts.push_back({reason});
    return ReasonOfAll(verdicts);
  };
  using enum Reason;
  EXPECT_EQ(of({kQuotaWait, kQuotaWait, kFits}), kFits);
  EXPECT_EQ(of({kQuotaNever, kQuotaNever, kGpusTaken}), kGpusTaken);
  EXPECT_EQ(of({kGpusTaken, kQuotaWait, kQuotaWait}), kQuotaWait);
  EXPECT_EQ(of({kExceedsNode, kExceedsNode, kQuotaNever}), kQuotaNever);
  EXPECT_EQ(of({kResourceNotOffered, kResourceNotOffered, kNodeCordoned}), kNodeCordoned);
  EXPECT_EQ(of({kResourceNotOffered}), kResourceNotOffered);
  EXPECT_EQ(of({}), kResourceNotOffered);
}

}  // namespace
}  // namespace offcut::scheduler
