#include "scheduler/admissions.h"

#include <algorithm>
#include <map>
#include <random>

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

Admission Of(std::string workload, std::string queue, std::vector<std::string> owner_uids,
             std::int64_t pods = 1) {
  return {.name_space = "default",
          .workload = std::move(workload),
          .queue = std::move(queue),
          .owner_uids = std::move(owner_uids),
          .pods = pods};
}

// Of the Workload that the pod is of; empty: of none.
std::string QueueOf(const Admissions& admissions, const Pod& pod) {
  const Admission* admission = admissions.Find(pod);
  return admission == nullptr ? "" : admission->queue;
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
  EXPECT_EQ(QueueOf(admissions, PodFromText("p nvidia.com/gpu=1")), "red-cq");
  EXPECT_EQ(QueueOf(admissions, PodFromText("q nvidia.com/gpu=1")), "");
  Pod of_job = PodOfJob("job-1");
  of_job.uid = "uid-r";
  EXPECT_EQ(QueueOf(admissions, of_job), "blue-cq");
  of_job.name_space = "other";
  EXPECT_EQ(QueueOf(admissions, of_job), "");
}

// The pods of a JobSet's job: neither they nor their owner own the Workload.
TEST(AdmissionsTest, AreProvenByAnnotationAndLabelTogether) {
  Admissions admissions;
  admissions.Put(Of("w", "red-cq", {"jobset-1"}));
  Pod pod = PodOfJob("job-of-jobset-1");
  pod.kueue_workload = "w";
  EXPECT_EQ(QueueOf(admissions, pod), "");
  pod.kueue_queue = "blue-cq";
  EXPECT_EQ(QueueOf(admissions, pod), "");
  pod.kueue_queue = "red-cq";
  EXPECT_EQ(QueueOf(admissions, pod), "red-cq");
}

TEST(AdmissionsTest, EndWithTheirWorkload) {
  Admissions admissions;
  admissions.Put(Of("w", "red-cq", {"uid-p"}));
  admissions.Remove("default", "w");
  EXPECT_EQ(QueueOf(admissions, PodFromText("p nvidia.com/gpu=1")), "");
  EXPECT_EQ(admissions, Admissions());
}

// Whatever order they came in. Nor does a Workload of another namespace hide the owner's.
TEST(AdmissionsTest, OfOneOwnerTheFirstByNameCounts) {
  const Admission first = Of("a", "red-cq", {"uid-p"});
  const Admission second = Of("b", "blue-cq", {"uid-p"});
  Admission elsewhere = Of("0", "green-cq", {"uid-p"});
  elsewhere.name_space = "a-namespace";
  std::vector<Admission> all = {first, second, elsewhere};
  for (int i = 0; i < 6; ++i) {
    Admissions admissions;
    for (const Admission& each : all) admissions.Put(each);
    EXPECT_EQ(QueueOf(admissions, PodFromText("p nvidia.com/gpu=1")), "red-cq") << i;
    std::ranges::next_permutation(all, {}, &Admission::workload);
  }
}

TEST(AdmissionsTest, OfAnOwnerThatGotAnotherWorkloadStay) {
  Admissions admissions;
  admissions.Put(Of("old", "red-cq", {"uid-p"}));
  admissions.Put(Of("new", "blue-cq", {"uid-p"}));
  admissions.Remove("default", "old");
  EXPECT_EQ(QueueOf(admissions, PodFromText("p nvidia.com/gpu=1")), "blue-cq");
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

// The job's Workload was charged for two pods; its owner makes three, and may have one more GPU by
// itself. The oldest two are Kueue's.
TEST_F(AdmittedPods, AreNoMoreThanTheWorkloadWasChargedFor) {
  Admissions admissions;
  admissions.Put(Of("w", "red-cq", {"job"}, 2));
  snapshot_.SetAdmissions(std::make_shared<const Admissions>(std::move(admissions)));
  const auto member = [](const std::string& text) {
    Pod pod = PodFromText(text);
    pod.owner_uid = "job";
    return pod;
  };
  const auto filtered = [&](const std::string& text) {
    const std::vector<std::string> names = {"n"};
    return Filter(snapshot_, member(text), names, {}, Prefilter::kByKubeScheduler)[0].reason;
  };
  snapshot_.PutPod(member("a nvidia.com/gpu=2 node=n created=1"));
  snapshot_.PutPod(member("b nvidia.com/gpu=2 node=n created=3"));
  EXPECT_EQ(filtered("c nvidia.com/gpu=1 created=4"), Reason::kQuotaWait);
  EXPECT_EQ(filtered("c nvidia.com/gpu=1 created=2"), Reason::kFits);  // known or not
  Pod finished = member("a nvidia.com/gpu=2 node=n created=1");
  finished.is_finished = true;
  snapshot_.PutPod(finished);
  EXPECT_EQ(filtered("c nvidia.com/gpu=1 created=4"), Reason::kFits);
}

// The Workload is charged for one pod, and red may have one GPU. Pods that are older than those on
// the node are made the Workload's own, one after the other: c puts d beyond it, and red has a GPU
// for that one. With c red is beyond its limit, so that b must pay, and cannot.
TEST_F(AdmittedPods, ThatJoinLaterPushNobodyPastTheQuota) {
  Admissions admissions;
  admissions.Put(Of("w", "red-cq", {"job"}, 1));
  snapshot_.SetAdmissions(std::make_shared<const Admissions>(std::move(admissions)));
  int bound = 0;
  for (const char* text : {"d nvidia.com/gpu=1 created=4", "c nvidia.com/gpu=1 created=3",
                           "b nvidia.com/gpu=1 created=2", "a nvidia.com/gpu=1 created=1"}) {
    Pod pod = PodFromText(text);
    pod.owner_uid = "job";
    snapshot_.PutPod(pod);
    const std::vector<std::string> names = {"n"};
    const auto wire = Prefilter::kByKubeScheduler;
    const bool fits = Filter(snapshot_, pod, names, {}, wire)[0].fits();
    EXPECT_EQ(Reserve(snapshot_, pod, "n", {}, wire).verdict.fits(), fits) << text;
    if (fits) ++bound;
  }
  EXPECT_EQ(bound, 2);
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

// The pod is on its way to n and need not be known yet.
TEST_F(AdmittedPods, TakeTheirClaimsToTheQueuesTenant) {
  Tenancy tenancy = TenancyOf({{.name = "red"}, {.name = "blue"}});
  tenancy.source = TenantSource::kKueue;
  tenancy.by_namespace = {{"default", 0}};
  tenancy.by_label_in = {{"default", {1}}};
  tenancy.by_queue = {{"blue-cq", 1}};
  snapshot_.SetTenancy(std::make_shared<const Tenancy>(std::move(tenancy)));
  const auto expected = [&](int tenant) {
    const quota::Ledger ledger = snapshot_.accounts()->ExpectedBut("");
    return ledger.Own(tenant, quota::FindCell(ledger.tree(), "default", "devices")) / 1400;
  };
  const Pod pod = PodFromText("a nvidia.com/gpu=2");
  snapshot_.Claim(std::make_shared<const Pod>(pod), "n");
  Admissions admissions;
  admissions.Put(Of("w", "blue-cq", {"uid-a"}));
  for (const bool is_known : {false, true}) {
    if (is_known) snapshot_.PutPod(pod);
    EXPECT_EQ(std::pair(expected(0), expected(1)), std::pair(2L, 0L));
    snapshot_.SetAdmissions(std::make_shared<const Admissions>(admissions));
    EXPECT_EQ(std::pair(expected(0), expected(1)), std::pair(0L, 2L));
    snapshot_.SetAdmissions(nullptr);
  }
  snapshot_.PutPod(PodFromText("a nvidia.com/gpu=2 label=blue"));
  EXPECT_EQ(std::pair(expected(0), expected(1)), std::pair(0L, 2L));
}

TEST_F(AdmittedPods, AreNothingSpecialWhereTenantsGoByNamespace) {
  Tenancy tenancy = snapshot_.accounts()->tenancy();
  tenancy.source = TenantSource::kNamespace;
  snapshot_.SetTenancy(std::make_shared<const Tenancy>(std::move(tenancy)));
  Admit("uid-a");
  EXPECT_EQ(Filtered("a nvidia.com/gpu=3"), Reason::kQuotaNever);
}

// Pods of jobs and Workloads of them come, change and go in any order: which pods are charged by
// which queue follows from those that are there, and so do the accounts.
class AdmissionOrders : public ::testing::TestWithParam<unsigned> {};

std::string QueuesIn(const Snapshot& snapshot) {
  std::map<std::string, std::string> queues;
  snapshot.ForEachPod([&](const PodEntry& entry) {
    EXPECT_EQ(entry.pod->admitted_queue, snapshot.QueueOf(*entry.pod));
    queues[entry.pod->name] = entry.pod->admitted_queue;
  });
  return ::testing::PrintToString(queues);
}

TEST_P(AdmissionOrders, EndEqualToARebuild) {
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  std::mt19937 random(GetParam());
  Tenancy tenancy = TenancyOf({{.name = "red"}, {.name = "blue"}, {.name = "green"}});
  tenancy.source = TenantSource::kKueue;
  tenancy.by_namespace = {{"default", 0}};
  tenancy.by_queue = {{"blue-cq", 1}, {"green-cq", 2}};
  const auto shared = std::make_shared<const Tenancy>(std::move(tenancy));
  std::map<std::string, Pod> pods;
  std::map<std::string, Admission> workloads;
  Snapshot snapshot = SnapshotOf({WholeInventory("n", 16)});
  snapshot.SetTenancy(shared);
  const auto some = [&](const char* prefix, unsigned n) {
    return prefix + std::to_string(random() % n);
  };
  const auto admissions = [&] {
    Admissions all;
    for (const auto& [name, workload] : workloads) all.Put(workload);
    return std::make_shared<const Admissions>(std::move(all));
  };
  for (int i = 0; i < 150; ++i) {
    const std::string name = some("p", 10);
    const std::string workload = some("w", 4);
    const bool is_blue = random() % 2 == 0;
    switch (random() % 7) {
      case 0:
        snapshot.RemovePod("uid-" + name);
        pods.erase(name);
        break;
      case 1:
        workloads.erase(workload);
        snapshot.SetAdmissions(admissions());
        break;
      case 2:
        workloads[workload] = Of(workload, is_blue ? "blue-cq" : "green-cq",
                                 {some("job", 3), some("uid-p", 10)}, random() % 4);
        snapshot.SetAdmissions(admissions());
        break;
      case 3: {  // asked about before it is known, or after
        Pod pod = PodFromText(name + " nvidia.com/gpu=1 created=1");
        pod.owner_uid = some("job", 3);
        if (const PodEntry* known = snapshot.FindPod(pod.uid)) pod = *known->pod;
        snapshot.Claim(std::make_shared<const Pod>(std::move(pod)), "n");
        break;
      }
      default: {
        Pod pod = PodFromText(name + " nvidia.com/gpu=1 created=" + std::to_string(random() % 3) +
                              (random() % 2 == 0 ? " node=n" : ""));
        if (pods.contains(name)) pod.node_name = pods[name].node_name;
        if (random() % 3 > 0) pod.owner_uid = some("job", 3);
        if (random() % 3 == 0) pod.kueue_workload = workload;
        pod.kueue_queue = is_blue ? "blue-cq" : "green-cq";
        snapshot.PutPod(pod);
        pods[name] = pod;
        break;
      }
    }
    std::vector<Pod> left;
    for (const auto& [key, pod] : pods) left.push_back(pod);
    std::ranges::shuffle(left, random);
    Snapshot rebuilt = SnapshotOf({WholeInventory("n", 16)});
    const bool is_pods_first = random() % 2 == 0;
    if (!is_pods_first) rebuilt.SetAdmissions(admissions());
    for (const Pod& pod : left) rebuilt.PutPod(pod);
    if (is_pods_first) rebuilt.SetAdmissions(admissions());
    rebuilt.SetTenancy(shared);
    ASSERT_EQ(QueuesIn(snapshot), QueuesIn(rebuilt)) << "event " << i;
    ASSERT_EQ(snapshot.accounts()->charged(), rebuilt.accounts()->charged()) << "event " << i;
    rebuilt = snapshot;
    rebuilt.SetTenancy(shared);
    ASSERT_EQ(snapshot.accounts()->ExpectedBut(""), rebuilt.accounts()->ExpectedBut(""))
        << "event " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, AdmissionOrders, ::testing::Range(1U, 31U));

}  // namespace
}  // namespace offcut::scheduler
