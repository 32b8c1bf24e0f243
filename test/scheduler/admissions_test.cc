#include "scheduler/admissions.h"

#include <gtest/gtest.h>

#include "scheduler/decision.h"
#include "test/testing/tenancies.h"
#include "test/testing/worlds.h"

namespace offcut::scheduler {
namespace {

using testing::PodFromText;
using testing::SnapshotOf;
using testing::TenancyOf;
using testing::WholeInventory;

Admission Of(std::string workload, std::string queue, std::vector<std::string> owner_uids) {
  return {.name_space = "default",
          .workload = std::move(workload),
          .queue = std::move(queue),
          .owner_uids = std::move(owner_uids)};
}

Pod PodOfJob(const std::string& owner_uid) {
  Pod pod = PodFromText("p nvidia.com/gpu=1");
  pod.owner_uid = owner_uid;
  return pod;
}

TEST(AdmissionsTest, ArePodsThatOwnAWorkloadAndPodsOfJobsThatDo) {
  Admissions admissions;
  admissions.Put(Of("w1", "red-cq", {"uid-p"}));
  admissions.Put(Of("w2", "blue-cq", {"job-1"}));
  EXPECT_EQ(admissions.QueueOf(PodFromText("p nvidia.com/gpu=1")), "red-cq");
  EXPECT_EQ(admissions.QueueOf(PodFromText("q nvidia.com/gpu=1")), "");
  Pod of_job = PodOfJob("job-1");
  of_job.uid = "uid-r";
  EXPECT_EQ(admissions.QueueOf(of_job), "blue-cq");
  of_job.name_space = "other";
  EXPECT_EQ(admissions.QueueOf(of_job), "");
}

// The pods of a JobSet's job: neither they nor their owner own the Workload.
TEST(AdmissionsTest, AreProvenByAnnotationAndLabelTogether) {
  Admissions admissions;
  admissions.Put(Of("w", "red-cq", {"jobset-1"}));
  Pod pod = PodOfJob("job-of-jobset-1");
  pod.kueue_workload = "w";
  EXPECT_EQ(admissions.QueueOf(pod), "");
  pod.kueue_queue = "blue-cq";
  EXPECT_EQ(admissions.QueueOf(pod), "");
  pod.kueue_queue = "red-cq";
  EXPECT_EQ(admissions.QueueOf(pod), "red-cq");
}

TEST(AdmissionsTest, EndWithTheirWorkload) {
  Admissions admissions;
  admissions.Put(Of("w", "red-cq", {"uid-p"}));
  admissions.Remove("default", "w");
  EXPECT_EQ(admissions.QueueOf(PodFromText("p nvidia.com/gpu=1")), "");
  EXPECT_EQ(admissions, Admissions());
}

TEST(AdmissionsTest, OfAnOwnerThatGotAnotherWorkloadStay) {
  Admissions admissions;
  admissions.Put(Of("old", "red-cq", {"uid-p"}));
  admissions.Put(Of("new", "blue-cq", {"uid-p"}));
  admissions.Remove("default", "old");
  EXPECT_EQ(admissions.QueueOf(PodFromText("p nvidia.com/gpu=1")), "blue-cq");
}

// red may use one GPU by namespace or queue. Kueue has lent it three: we count them and refuse
// nothing.
class AdmittedPods : public ::testing::Test {
 protected:
  AdmittedPods() : snapshot_(SnapshotOf({WholeInventory("n", 8)})) {
    Tenancy tenancy = TenancyOf({{.name = "red",
                                  .quotas = {{.pool = "default",
                                              .resource = "devices",
                                              .guarantee = 1400,
                                              .borrowing_limit = 0}}}});
    tenancy.source = TenantSource::kKueue;
    tenancy.by_namespace = {{"default", 0}};
    tenancy.by_queue = {{"red-cq", 0}};
    snapshot_.SetTenancy(std::make_shared<const Tenancy>(std::move(tenancy)));
  }

  void Admit(const std::string& uid) {
    Admissions admissions =
        snapshot_.admissions() == nullptr ? Admissions() : *snapshot_.admissions();
    admissions.Put(Of("w-" + uid, "red-cq", {uid}));
    snapshot_.SetAdmissions(std::make_shared<const Admissions>(std::move(admissions)));
  }

  Reason Filtered(const std::string& pod) const {
    const std::vector<std::string> names = {"n"};
    return Filter(snapshot_, PodFromText(pod), names, {}, Prefilter::kByKubeScheduler)[0].reason;
  }

  std::int64_t Used() const {
    const auto& ledger = snapshot_.accounts()->charged();
    return ledger.Own(0, quota::FindCell(ledger.tree(), "default", "devices")) / 1400;
  }

  Snapshot snapshot_;
};

TEST_F(AdmittedPods, AreCountedOnceAndNeverRefusedForQuota) {
  EXPECT_EQ(Filtered("a nvidia.com/gpu=3"), Reason::kQuotaNever);
  Admit("uid-a");
  EXPECT_EQ(Filtered("a nvidia.com/gpu=3"), Reason::kFits);
  EXPECT_TRUE(
      Reserve(snapshot_, PodFromText("a nvidia.com/gpu=3"), "n", {}, Prefilter::kByKubeScheduler)
          .verdict.fits());
  EXPECT_EQ(Used(), 3);
  EXPECT_EQ(Filtered("b nvidia.com/gpu=1"), Reason::kQuotaWait);  // nobody admitted it
}

TEST_F(AdmittedPods, OfAQueueThatIsNobodysAreChargedToNobody) {
  Admissions admissions;
  admissions.Put(Of("w", "green-cq", {"uid-a"}));
  snapshot_.SetAdmissions(std::make_shared<const Admissions>(std::move(admissions)));
  snapshot_.PutPod(PodFromText("a nvidia.com/gpu=3 node=n"));
  EXPECT_EQ(Used(), 0);
  snapshot_.SetAdmissions(nullptr);
  EXPECT_EQ(Used(), 3);
}

TEST_F(AdmittedPods, AreNothingSpecialWhereTenantsGoByNamespace) {
  Tenancy tenancy = snapshot_.accounts()->tenancy();
  tenancy.source = TenantSource::kNamespace;
  snapshot_.SetTenancy(std::make_shared<const Tenancy>(std::move(tenancy)));
  Admit("uid-a");
  EXPECT_EQ(Filtered("a nvidia.com/gpu=3"), Reason::kQuotaNever);
}

}  // namespace
}  // namespace offcut::scheduler
