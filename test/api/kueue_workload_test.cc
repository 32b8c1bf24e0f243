#include "api/kueue_workload.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace offcut::api {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

// As Kueue 0.17 writes it, shortened.
json Admitted() {
  return json::parse(R"({
    "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
    "metadata": {"name": "pod-train-1", "namespace": "ml",
                 "ownerReferences": [{"kind": "Pod", "name": "train-1", "uid": "u1"}]},
    "status": {"admission": {"clusterQueue": "red-cq",
                             "podSetAssignments": [{"name": "driver", "count": 1},
                                                   {"name": "workers", "count": 4}]},
               "conditions": [{"type": "QuotaReserved", "status": "True"},
                              {"type": "Admitted", "status": "True"}]}})");
}

TEST(KueueWorkloadTest, AdmittedOneNamesItsQueueAndOwner) {
  const auto workload = ParseKueueWorkload(Admitted());
  ASSERT_TRUE(workload);
  EXPECT_TRUE(workload->is_admitted);
  EXPECT_EQ(workload->admission.queue, "red-cq");
  EXPECT_EQ(workload->admission.name_space, "ml");
  EXPECT_EQ(workload->admission.workload, "pod-train-1");
  EXPECT_THAT(workload->admission.owner_uids, ElementsAre("u1"));
  EXPECT_EQ(workload->admission.pods, 5);
}

TEST(KueueWorkloadTest, PodsWhoseQuotaWasGivenBackAreNotCharged) {
  json object = Admitted();
  object["status"]["reclaimablePods"] = {{{"name", "workers"}, {"count", 3}},
                                         {{"name", "driver"}, {"count", 9}}};
  EXPECT_EQ(ParseKueueWorkload(object)->admission.pods, 1);
}

// Workloads from before assignments had counts.
TEST(KueueWorkloadTest, AnAssignmentThatSaysNoCountIsForAllThatWasAskedFor) {
  json object = Admitted();
  object["status"]["admission"]["podSetAssignments"][1].erase("count");
  object["spec"]["podSets"] = {{{"name", "driver"}, {"count", 7}},
                               {{"name", "workers"}, {"count", 2}}};
  EXPECT_EQ(ParseKueueWorkload(object)->admission.pods, 3);
}

TEST(KueueWorkloadTest, CountsThatMakeNoSenseAreForNoPodAndLargeOnesAreBounded) {
  json object = Admitted();
  json& assignments = object["status"]["admission"]["podSetAssignments"];
  assignments = {{{"name", "a"}, {"count", -1}}, {{"name", "b"}, {"count", "7"}}, 3};
  EXPECT_EQ(ParseKueueWorkload(object)->admission.pods, 0);
  assignments = {{{"name", "a"}, {"count", std::numeric_limits<std::uint64_t>::max() / 4}}};
  EXPECT_EQ(ParseKueueWorkload(object)->admission.pods, kPodSetPodsMax);
  assignments = "all";
  EXPECT_EQ(ParseKueueWorkload(object)->admission.pods, 0);
}

// Two phases: quota is reserved, and admission checks are open.
TEST(KueueWorkloadTest, ReservedQuotaIsNoAdmissionYet) {
  json object = Admitted();
  object["status"]["conditions"][1]["status"] = "False";
  EXPECT_FALSE(ParseKueueWorkload(object)->is_admitted);
}

TEST(KueueWorkloadTest, EvictedAndFinishedOnesAreNotAdmittedAnyMore) {
  for (const char* type : {"Evicted", "Finished"}) {
    json object = Admitted();
    object["status"]["conditions"].push_back({{"type", type}, {"status", "True"}});
    EXPECT_FALSE(ParseKueueWorkload(object)->is_admitted) << type;
    object["status"]["conditions"].back()["status"] = "False";
    EXPECT_TRUE(ParseKueueWorkload(object)->is_admitted) << type;
  }
}

TEST(KueueWorkloadTest, WhatIsMissingMakesItNotAdmitted) {
  for (const char* text : {R"({"metadata": {"name": "w", "namespace": "n"}})",
                           R"({"metadata": {"name": "w", "namespace": "n"}, "status": null})",
                           R"({"metadata": {"name": "w", "namespace": "n", "ownerReferences": 7},
            "status": {"admission": [], "conditions": {"type": "Admitted"}}})"}) {
    const auto workload = ParseKueueWorkload(json::parse(text));
    ASSERT_TRUE(workload) << text;
    EXPECT_FALSE(workload->is_admitted) << text;
  }
}

TEST(KueueWorkloadTest, OneWithoutANameIsRefused) {
  EXPECT_FALSE(ParseKueueWorkload(json::parse(R"({"metadata": {"name": "w"}})")));
  EXPECT_FALSE(ParseKueueWorkload(json::parse("[]")));
}

}  // namespace
}  // namespace offcut::api
