#include "api/pod_json.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "test/api/object_text.h"
#include "test/testing/worlds.h"

namespace offcut::api {
namespace {

using offcut::testing::SnapshotOf;
using offcut::testing::WholeInventory;
using testing::JsonString;
using testing::PodFromText;

using scheduler::ContainerKind;
using Counts = std::vector<scheduler::ResourceCount>;

constexpr std::string_view kRecordOfP =
    R"({"version":1,"podUID":"u","node":"n1","agent":"nvidia","certainty":"assumed",)"
    R"("devices":[{"gpu":0,"kind":"whole"}]})";

// A pod "p" of UID "u" with one container that has these resources.
std::string PodWithResources(const std::string& resources) {
  return R"({"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [{"name": "main", )"
         R"("resources": )" +
         resources + "}]}}";
}

std::string PodWithLimits(const std::string& limits) {
  return PodWithResources(R"({"limits": )" + limits + "}");
}

std::string PodWithAnnotations(const std::string& annotations, const std::string& spec = "{}") {
  return R"({"metadata": {"name": "p", "uid": "u", "annotations": )" + annotations +
         R"(}, "spec": )" + spec + "}";
}

scheduler::Pod MustParse(const std::string& json) {
  const auto parsed = PodFromText(json);
  EXPECT_TRUE(parsed) << parsed.error().message << "\n" << json;
  return parsed ? parsed->pod : scheduler::Pod{};
}

std::string ErrorOf(const std::string& json) {
  const auto parsed = PodFromText(json);
  return parsed ? "" : parsed.error().message;
}

TEST(PodJsonTest, ReadsWhoThePodIs) {
  const scheduler::Pod pod = MustParse(R"({
      "metadata": {"name": "p", "namespace": "team-a", "uid": "u",
                   "creationTimestamp": "1970-01-02T00:00:01Z"},
      "spec": {"nodeName": "n1", "priority": -5},
      "status": {"nominatedNodeName": "n2", "phase": "Running"}})");
  EXPECT_EQ(pod.name, "p");
  EXPECT_EQ(pod.name_space, "team-a");
  EXPECT_EQ(pod.uid, "u");
  EXPECT_EQ(pod.node_name, "n1");
  EXPECT_EQ(pod.nominated_node_name, "n2");
  EXPECT_EQ(pod.priority, -5);
  EXPECT_EQ(pod.created_s, 86401);
  EXPECT_FALSE(pod.is_terminating);
  EXPECT_FALSE(pod.is_finished);
}

TEST(PodJsonTest, TakesDefaultsForWhatIsAbsentOrNull) {
  const scheduler::Pod pod = MustParse(
      R"({"metadata": {"name": "p", "uid": "u", "creationTimestamp": null, "annotations": null},
          "spec": {"containers": null, "priority": null}})");
  EXPECT_EQ(pod.name_space, "default");
  EXPECT_EQ(pod.priority, 0);
  EXPECT_EQ(pod.created_s, 0);
  EXPECT_TRUE(pod.request.empty());
  EXPECT_EQ(pod.host, (binpack::HostResources{.pods = 1}));
}

TEST(PodJsonTest, RefusesAPodWithoutNameOrUid) {
  EXPECT_EQ(ErrorOf(R"({"metadata": {"uid": "u"}})"), "metadata.name: is missing");
  EXPECT_EQ(ErrorOf(R"({"metadata": {"name": "p"}})"), "metadata.uid: is missing");
  EXPECT_EQ(ErrorOf("null"), "metadata.name: is missing");
  EXPECT_EQ(ErrorOf("[]"), "must be an object");
}

TEST(PodJsonTest, ReadsMembersInAnyCase) {
  const scheduler::Pod pod = MustParse(R"({"Metadata": {"NAME": "p", "UID": "u"},
      "SPEC": {"nodename": "n1", "Containers": [{"Resources": {"LIMITS": {"nvidia.com/gpu": 2}}}]}})");
  EXPECT_EQ(pod.node_name, "n1");
  EXPECT_EQ(pod.request.devices, (Counts{{"nvidia.com/gpu", 2}}));
}

TEST(PodJsonTest, TellsTerminatingAndFinishedPods) {
  EXPECT_TRUE(MustParse(R"({"metadata": {"name": "p", "uid": "u",
      "deletionTimestamp": "2026-11-29T19:24:15Z"}})")
                  .is_terminating);
  for (const std::string phase : {"Succeeded", "Failed"}) {
    EXPECT_TRUE(MustParse(R"({"metadata": {"name": "p", "uid": "u"}, "status": {"phase": ")" +
                          phase + "\"}}")
                    .is_finished);
  }
}

TEST(PodJsonTest, ReadsTheTenantThatALabelNames) {
  EXPECT_EQ(MustParse(R"({"metadata": {"name": "p", "uid": "u",
                          "labels": {"app": "x", "offcut.dev/tenant": "red"}}})")
                .tenant_label,
            "red");
}

TEST(PodJsonTest, TellsOurGateFromThoseOfOthers) {
  const auto gated = [](const std::string& gates) {
    return MustParse(R"({"metadata": {"name": "p", "uid": "u"}, "spec": {"schedulingGates": [)" +
                     gates + "]}}");
  };
  EXPECT_TRUE(gated(R"({"name": "offcut.dev/quota"})").has_quota_gate);
  EXPECT_FALSE(gated(R"({"name": "offcut.dev/quota"})").has_other_gates);
  EXPECT_TRUE(gated(R"({"name": "a.b/c"}, {"name": "offcut.dev/quota"})").has_quota_gate);
  EXPECT_TRUE(gated(R"({"name": "a.b/c"}, {"name": "offcut.dev/quota"})").has_other_gates);
  EXPECT_FALSE(gated("").has_quota_gate);
}

TEST(PodJsonTest, ReadsTheGangByAnyOfItsNames) {
  const auto gang = [](const std::string& metadata, const std::string& spec = "") {
    return MustParse(R"({"metadata": {"name": "p", "uid": "u", )" + metadata + R"(}, "spec": {)" +
                     spec + "}}");
  };
  EXPECT_EQ(gang(R"("labels": {"scheduling.x-k8s.io/pod-group": "g"})").gang, "g");
  EXPECT_EQ(gang(R"("labels": {})", R"("schedulingGroup": {"podGroupName": "g"})").gang, "g");
  const auto own = gang(R"("annotations": {"offcut.dev/gang": "g",
                                           "offcut.dev/gang-min-count": "4"})");
  EXPECT_EQ(own.gang, "g");
  EXPECT_EQ(own.gang_min_count, 4);
}

TEST(PodJsonTest, RefusesAGangOfNoNumber) {
  for (const char* count : {"0", "-1", "four", "10001", "4 "}) {
    EXPECT_NE(ErrorOf(PodWithAnnotations(R"({"offcut.dev/gang-min-count": ")" + std::string(count) +
                                         R"("})")),
              "")
        << count;
  }
}

TEST(PodJsonTest, CountsLimitsWhereRequestsLackTheName) {
  EXPECT_EQ(MustParse(PodWithLimits(R"({"nvidia.com/gpu": "2", "cpu": "1", "memory": "1Ki"})"))
                .request.devices,
            (Counts{{"nvidia.com/gpu", 2}}));
  const scheduler::Pod pod = MustParse(PodWithResources(
      R"({"requests": {"cpu": "250m"}, "limits": {"cpu": "4", "memory": "2Ki", "nvidia.com/gpu": 1}})"));
  EXPECT_EQ(pod.host, (binpack::HostResources{.cpu_milli = 250, .memory_bytes = 2048, .pods = 1}));
  EXPECT_EQ(pod.request.devices, (Counts{{"nvidia.com/gpu", 1}}));
}

TEST(PodJsonTest, ReadsOurResourcesByExactNameAndLeavesOthers) {
  const scheduler::Pod pod = MustParse(PodWithLimits(R"({
      "nvidia.com/gpu.shared": 1, "nvidia.com/mig-1g.5gb": 2, "nvidia.com/mig-1g.5gb.me": 3,
      "nvidia.com/mig-2g.10gb.shared": 4, "nvidia.com/gpux": 5, "nvidia.com/gpu.sharedx": 6,
      "nvidia.com/mig-": 7, "xnvidia.com/gpu": 8, "amd.com/gpu": 9, "example.com/x": "nonsense"})"));
  EXPECT_EQ(pod.request.devices, (Counts{{"nvidia.com/gpu.shared", 1},
                                         {"nvidia.com/mig-1g.5gb", 2},
                                         {"nvidia.com/mig-1g.5gb.me", 3},
                                         {"nvidia.com/mig-2g.10gb.shared", 4}}));
}

TEST(PodJsonTest, TakesTheLastOfTwoAmountsOfOneResource) {
  EXPECT_EQ(
      MustParse(PodWithLimits(R"({"nvidia.com/gpu": "1", "nvidia.com/gpu": "8"})")).request.devices,
      (Counts{{"nvidia.com/gpu", 8}}));
}

TEST(PodJsonTest, DropsZeroCounts) {
  const scheduler::Pod pod =
      MustParse(PodWithLimits(R"({"nvidia.com/gpu": "0", "nvidia.com/gpumem": "0"})"));
  EXPECT_TRUE(pod.request.empty());
}

TEST(PodJsonTest, ReadsAFractionOfAsManyGpusAsAreNamed) {
  const scheduler::Pod pod = MustParse(PodWithLimits(
      R"({"nvidia.com/gpu": "2", "nvidia.com/gpumem": "8k", "nvidia.com/gpucores": 30})"));
  EXPECT_TRUE(pod.request.devices.empty());
  EXPECT_EQ(pod.request.fractions,
            (std::vector<binpack::Fraction>{{.gpus = 2, .memory_mib = 8000, .cores_percent = 30}}));
}

TEST(PodJsonTest, ReadsAFractionOfOneGpuWhereNoneIsNamed) {
  EXPECT_EQ(MustParse(PodWithLimits(R"({"nvidia.com/gpumem-percentage": "50"})")).request.fractions,
            (std::vector<binpack::Fraction>{{.gpus = 1, .memory_percent = 50}}));
  EXPECT_EQ(MustParse(PodWithLimits(R"({"nvidia.com/gpucores": "10"})")).request.fractions,
            (std::vector<binpack::Fraction>{{.gpus = 1, .cores_percent = 10}}));
}

TEST(PodJsonTest, ReadsNoFractionOfZeroGpus) {
  EXPECT_TRUE(MustParse(PodWithLimits(R"({"nvidia.com/gpu": 0, "nvidia.com/gpumem": 100})"))
                  .request.empty());
}

TEST(PodJsonTest, LetsMibWinOverAPercentage) {
  EXPECT_EQ(
      MustParse(PodWithLimits(R"({"nvidia.com/gpumem": 100, "nvidia.com/gpumem-percentage": 50})"))
          .request.fractions,
      (std::vector<binpack::Fraction>{{.gpus = 1, .memory_mib = 100}}));
}

TEST(PodJsonTest, RefusesAmountsThatCannotBeMeant) {
  const std::string at = "spec.containers[0].resources.limits";
  EXPECT_EQ(ErrorOf(PodWithLimits(R"({"nvidia.com/gpu": "-1"})")),
            at + "[\"nvidia.com/gpu\"]: must not be negative");
  EXPECT_EQ(ErrorOf(PodWithLimits(R"({"nvidia.com/gpu": "1500m"})")),
            at + "[\"nvidia.com/gpu\"]: must be a whole number");
  EXPECT_EQ(ErrorOf(PodWithLimits(R"({"nvidia.com/gpucores": "101"})")),
            at + "[\"nvidia.com/gpucores\"]: must be at most 100");
  EXPECT_EQ(ErrorOf(PodWithLimits(R"({"nvidia.com/gpumem-percentage": 101})")),
            at + "[\"nvidia.com/gpumem-percentage\"]: must be at most 100");
  // 4Gi of MiB is 2^32.
  EXPECT_EQ(ErrorOf(PodWithLimits(R"({"nvidia.com/gpumem": "4Gi"})")),
            at + "[\"nvidia.com/gpumem\"]: must be at most 2147483647");
  EXPECT_EQ(ErrorOf(PodWithLimits(R"({"cpu": "many"})")), at + ".cpu: \"many\" is no quantity");
  EXPECT_EQ(ErrorOf(PodWithLimits(R"({"memory": "-1"})")), at + ".memory: must not be negative");
}

// sidecar 1, then init 2 beside it: 3. The app container's fraction stays.
TEST(PodJsonTest, TellsInitContainersFromSidecars) {
  const scheduler::Pod pod = MustParse(R"({"metadata": {"name": "p", "uid": "u"}, "spec": {
      "initContainers": [
        {"name": "proxy", "restartPolicy": "Always", "resources": {"limits": {"nvidia.com/gpu": 1}}},
        {"name": "prepare", "resources": {"limits": {"nvidia.com/gpu": 2}}}],
      "containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpumem": 100}}}]}})");
  ASSERT_EQ(pod.containers.size(), 3U);
  EXPECT_EQ(pod.containers[0].name, "proxy");
  EXPECT_EQ(pod.containers[0].kind, ContainerKind::kSidecar);
  EXPECT_EQ(pod.containers[1].kind, ContainerKind::kInit);
  EXPECT_EQ(pod.containers[2].kind, ContainerKind::kApp);
  EXPECT_EQ(pod.request.devices, (Counts{{"nvidia.com/gpu", 3}}));
  EXPECT_EQ(pod.request.fractions.size(), 1U);
}

TEST(PodJsonTest, IgnoresTheRestartPolicyOfAppContainers) {
  EXPECT_EQ(MustParse(R"({"metadata": {"name": "p", "uid": "u"},
      "spec": {"containers": [{"name": "c", "restartPolicy": "Always"}]}})")
                .containers[0]
                .kind,
            ContainerKind::kApp);
}

// CPU: the pod-level 2 wins over the containers' 1; memory: the containers' 1Ki. Overhead on top.
TEST(PodJsonTest, AddsOverheadToPodLevelResources) {
  EXPECT_EQ(MustParse(R"({"metadata": {"name": "p", "uid": "u"}, "spec": {
      "resources": {"requests": {"cpu": "2"}},
      "overhead": {"cpu": "100m", "memory": "1"},
      "containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Ki"}}}]}})")
                .host,
            (binpack::HostResources{.cpu_milli = 2100, .memory_bytes = 1025, .pods = 1}));
}

TEST(PodJsonTest, ReadsListsOfModelsAndUuids) {
  const scheduler::Pod pod = MustParse(PodWithAnnotations(
      R"({"offcut.dev/gpu-models": " A100-* , !A100-PCIE* ,, ! ", "offcut.dev/gpu-uuids": "GPU-1,!GPU-2"})"));
  EXPECT_EQ(pod.request.constraint, (binpack::GpuConstraint{.models_allowed = {"A100-*"},
                                                            .models_denied = {"A100-PCIE*"},
                                                            .uuids_allowed = {"GPU-1"},
                                                            .uuids_denied = {"GPU-2"}}));
}

TEST(PodJsonTest, ReadsHamisListsAsSubstringsOfTypesAndWholeUuids) {
  const scheduler::Pod pod = MustParse(PodWithAnnotations(
      R"({"nvidia.com/use-gputype": "A100,V100", "nvidia.com/nouse-gputype": "T4",
          "nvidia.com/use-gpuuuid": " GPU-a-3 ", "nvidia.com/nouse-gpuuuid": "GPU-b"})"));
  EXPECT_EQ(pod.request.constraint, (binpack::GpuConstraint{.models_allowed = {"*A100*", "*V100*"},
                                                            .models_denied = {"*T4*"},
                                                            .uuids_allowed = {"GPU-a-3"},
                                                            .uuids_denied = {"GPU-b"}}));
}

// Read as nobody's, it would let the pod go where its owner said it must not.
TEST(PodJsonTest, RefusesAMisspeltConstraintAndLeavesOtherKeysAlone) {
  EXPECT_EQ(ErrorOf(PodWithAnnotations(R"({"offcut.dev/gpu-model": "H200*"})")),
            "metadata.annotations[\"offcut.dev/gpu-model\"]: is not known; did you mean "
            "offcut.dev/gpu-models?");
  EXPECT_EQ(ErrorOf(PodWithAnnotations(R"({"offcut.dev/GPU-UUIDS": "GPU-1"})")),
            "metadata.annotations[\"offcut.dev/GPU-UUIDS\"]: is not known; did you mean "
            "offcut.dev/gpu-uuids?");
  EXPECT_EQ(ErrorOf(PodWithAnnotations(R"({"offcut.dev/nudge": "1", "offcut.dev/team-note": "x",
                                           "other.dev/gpu-model": "H200*"})")),
            "");
}

TEST(PodJsonTest, TakesAnEmptyListForNoConstraint) {
  EXPECT_EQ(MustParse(PodWithAnnotations(R"({"nvidia.com/use-gputype": "",
                                             "offcut.dev/gpu-models": " "})"))
                .request.constraint,
            binpack::GpuConstraint{});
}

TEST(PodJsonTest, RefusesAListAboveItsLimit) {
  std::string list = "GPU-0";
  for (std::size_t i = 1; i <= kConstraintEntriesMax; ++i) list += ",GPU-" + std::to_string(i);
  EXPECT_EQ(ErrorOf(PodWithAnnotations(R"({"offcut.dev/gpu-uuids": ")" + list + "\"}")),
            "metadata.annotations[\"offcut.dev/gpu-uuids\"]: has more than 64 entries");
}

// What it costs to read the globs on every node grows with their length.
TEST(PodJsonTest, RefusesAListThatIsTooLong) {
  const std::string list = "A*,B*," + std::string(kConstraintBytesMax - 6, ' ');
  EXPECT_EQ(ErrorOf(PodWithAnnotations(R"({"offcut.dev/gpu-models": ")" + list + "\"}")), "");
  EXPECT_EQ(ErrorOf(PodWithAnnotations(R"({"offcut.dev/gpu-models": " )" + list + "\"}")),
            "metadata.annotations[\"offcut.dev/gpu-models\"]: is longer than 4096 bytes");
}

TEST(PodJsonTest, ReadsARunOfStarsAsOne) {
  const scheduler::Pod pod = MustParse(PodWithAnnotations(
      R"({"offcut.dev/gpu-models": "!****A***B*", "nvidia.com/use-gputype": "**V100**"})"));
  EXPECT_EQ(pod.request.constraint,
            (binpack::GpuConstraint{.models_allowed = {"*V100*"}, .models_denied = {"*A*B*"}}));
}

TEST(PodJsonTest, RefusesMoreContainersThanTheLimit) {
  std::string containers = "{}";
  for (std::size_t i = 0; i < kContainersMax; ++i) containers += ",{}";
  EXPECT_EQ(ErrorOf(R"({"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [)" +
                    containers + "]}}"),
            "spec.containers: has more than 1024 elements");
}

TEST(PodJsonTest, SeesSoftConstraintsOfEachKind) {
  const auto has_soft = [](const std::string& spec) {
    return MustParse(PodWithAnnotations("{}", spec)).has_soft_constraints;
  };
  for (const std::string kind : {"nodeAffinity", "podAffinity", "podAntiAffinity"}) {
    EXPECT_TRUE(has_soft(R"({"affinity": {")" + kind +
                         R"(": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}}})"));
    const std::string required = kind == "nodeAffinity" ? R"({"nodeSelectorTerms": []})" : "[{}]";
    EXPECT_FALSE(has_soft(R"({"affinity": {")" + kind +
                          R"(": {"preferredDuringSchedulingIgnoredDuringExecution": [],
                              "requiredDuringSchedulingIgnoredDuringExecution": )" +
                          required + "}}}"));
  }
  EXPECT_TRUE(has_soft(
      R"({"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"},
                                        {"whenUnsatisfiable": "ScheduleAnyway"}]})"));
  EXPECT_FALSE(
      has_soft(R"({"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]})"));
}

TEST(PodJsonTest, SeesWhetherAPodSelectsItsNodes) {
  const auto selects = [](const std::string& spec) {
    return MustParse(PodWithAnnotations("{}", spec)).selects_nodes;
  };
  const std::string required = R"("requiredDuringSchedulingIgnoredDuringExecution": )";
  EXPECT_TRUE(selects(R"({"nodeSelector": {"zone": "a"}})"));
  EXPECT_TRUE(selects(R"({"affinity": {"nodeAffinity": {)" + required +
                      R"({"nodeSelectorTerms": [{}]}}}})"));
  EXPECT_TRUE(selects(R"({"affinity": {"podAffinity": {)" + required + "[{}]}}}"));
  EXPECT_TRUE(selects(R"({"affinity": {"podAntiAffinity": {)" + required + "[{}]}}}"));
  EXPECT_FALSE(selects(R"({"nodeSelector": {}, "affinity": {"nodeAffinity": {}}})"));
}

TEST(PodJsonTest, KeepsWhatTheSchedulerSaidOfAPodThatWaits) {
  const auto message_of = [](const std::string& spec, const std::string& status) {
    return MustParse(R"({"metadata": {"name": "p", "uid": "u"}, "spec": )" + spec +
                     R"(, "status": {"conditions": [{"type": "PodScheduled", "status": ")" +
                     status + R"(", "message": "0/3 nodes"}]}})")
        .unscheduled_message;
  };
  EXPECT_EQ(message_of("{}", "False"), "0/3 nodes");
  EXPECT_EQ(message_of("{}", "True"), "");
  EXPECT_EQ(message_of(R"({"nodeName": "n1"})", "False"), "");
}

std::string BoundWithRecord(std::string_view record, const std::string& node = "n1") {
  return PodWithAnnotations(R"({"offcut.dev/devices": )" + JsonString(record) + "}",
                            R"({"nodeName": ")" + node + "\"}");
}

TEST(PodJsonTest, ReadsTheRecordOfItsOwnDevices) {
  const auto parsed = PodFromText(BoundWithRecord(kRecordOfP));
  ASSERT_TRUE(parsed);
  ASSERT_TRUE(parsed->pod.record);
  EXPECT_EQ(parsed->pod.record->agent, "nvidia");
  EXPECT_TRUE(parsed->warnings.empty());
}

TEST(PodJsonTest, DropsARecordOfAnotherNodeWithAWarning) {
  const auto parsed = PodFromText(BoundWithRecord(kRecordOfP, "n2"));
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->pod.record);
  EXPECT_EQ(parsed->warnings,
            (std::vector<std::string>{
                "pod default/p: annotation offcut.dev/devices is ignored: is of another node"}));
}

TEST(PodJsonTest, DropsARecordOfAnotherPodWithAWarning) {
  std::string copied(kRecordOfP);
  copied.replace(copied.find("\"u\""), 3, "\"v\"");
  const auto parsed = PodFromText(BoundWithRecord(copied));
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->pod.record);
  EXPECT_EQ(parsed->warnings.size(), 1U);
}

TEST(PodJsonTest, DropsAMalformedRecordAndKeepsThePod) {
  const auto parsed = PodFromText(BoundWithRecord("{not json"));
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->pod.record);
  EXPECT_EQ(parsed->warnings.size(), 1U);
}

TEST(PodJsonTest, ReadsNoRecordOfAPodThatIsNotBound) {
  const auto parsed = PodFromText(BoundWithRecord(kRecordOfP, ""));
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->pod.record);
  EXPECT_TRUE(parsed->warnings.empty());
}

constexpr std::string_view kHoldOfP =
    R"({"version":1,"podUID":"u","node":"n1","cause":"reclaim","until":"2001-09-09T01:46:40Z"})";

ParsedPod PodWithHold(std::string_view hold, std::string_view spec = "{}") {
  return *PodFromText(
      PodWithAnnotations(R"({"offcut.dev/hold": )" + JsonString(hold) + "}", std::string(spec)));
}

TEST(PodJsonTest, ReadsWhatIsHeldForAPodThatWaits) {
  const ParsedPod parsed = PodWithHold(kHoldOfP);
  ASSERT_TRUE(parsed.pod.hold);
  EXPECT_EQ(parsed.pod.hold->node, "n1");
  EXPECT_TRUE(parsed.warnings.empty());
  EXPECT_FALSE(PodWithHold(kHoldOfP, R"({"nodeName": "n1"})").pod.hold);
}

TEST(PodJsonTest, DropsAHoldOfAnotherPodAndAMalformedOneWithAWarning) {
  std::string copied(kHoldOfP);
  copied.replace(copied.find("\"u\""), 3, "\"v\"");
  for (const std::string& text : {copied, std::string("{not json")}) {
    const ParsedPod parsed = PodWithHold(text);
    EXPECT_FALSE(parsed.pod.hold);
    EXPECT_EQ(parsed.warnings.size(), 1U);
  }
}

TEST(PodJsonTest, ReadsHowLongItMayRunAndWhetherItPreempts) {
  const scheduler::Pod pod = MustParse(
      PodWithAnnotations("{}", R"({"activeDeadlineSeconds": 600, "preemptionPolicy": "Never"})"));
  EXPECT_EQ(pod.run_s_max, 600);
  EXPECT_TRUE(pod.never_preempts);
  EXPECT_FALSE(MustParse(PodWithAnnotations("{}", "{}")).never_preempts);
}

TEST(PodJsonTest, ReadsHamisRecord) {
  const auto parsed = PodFromText(PodWithAnnotations(
      R"({"hami.io/vgpu-devices-allocated": "GPU-8a020521,NVIDIA,10000,10:;",
          "hami.io/vgpu-node": "gpu-a"})",
      R"({"nodeName": "gpu-a", "containers": [{"name": "c0", "resources":
          {"limits": {"nvidia.com/gpumem": "10k", "nvidia.com/gpucores": 10}}}]})"));
  ASSERT_TRUE(parsed);
  ASSERT_TRUE(parsed->pod.record);
  EXPECT_EQ(parsed->pod.record->agent, "hami");
  EXPECT_EQ(parsed->pod.record->pod_uid, "u");
  ASSERT_EQ(parsed->pod.record->devices.size(), 1U);
  EXPECT_EQ(parsed->pod.record->devices[0].container, "c0");
}

// HAMi rewrites its annotations when a bound pod is filtered again.
TEST(PodJsonTest, DropsHamisRecordOfAnotherNode) {
  const auto parsed = PodFromText(PodWithAnnotations(
      R"({"hami.io/vgpu-devices-allocated": "GPU-1,NVIDIA,1,1:;", "hami.io/vgpu-node": "y2"})",
      R"({"nodeName": "y1"})"));
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->pod.record);
  EXPECT_EQ(parsed->warnings.size(), 1U);
}

TEST(PodJsonTest, RefusesAnnotationsThatAreNoStrings) {
  EXPECT_EQ(ErrorOf(PodWithAnnotations(R"({"offcut.dev/gpu-models": 1})")),
            "metadata.annotations[\"offcut.dev/gpu-models\"]: must be a string");
}

// Left out, its devices would be given to another pod.
TEST(PodJsonTest, KeepsAPodThatStandsOnANodeWhateverItsRequestLooksLike) {
  const auto parsed = PodFromText(
      R"({"metadata": {"name": "p", "uid": "u"}, "spec": {"nodeName": "n", "containers": [
          {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1.5"}}}]}})");
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->pod.is_unreadable);
  EXPECT_EQ(parsed->pod.node_name, "n");
  EXPECT_EQ(parsed->warnings.size(), 1U);
}

std::string PlacedWithLimits(const std::string& limits) {
  return R"({"metadata": {"name": "p", "uid": "u"}, "spec": {"nodeName": "n", "containers": [
          {"name": "main", "resources": {"limits": )" +
         limits + "}}]}}";
}

// A kubelet that knows no shares gives the GPU that is named, and nothing where none is.
TEST(PodJsonTest, APodWithSharesHoldsItsGpusWhereNobodyServesShares) {
  const auto free_beside = [](const std::string& limits) {
    const auto snapshot =
        SnapshotOf({WholeInventory("n", 4)}, {MustParse(PlacedWithLimits(limits))});
    return std::ranges::count_if(snapshot.FindNode("n")->state.gpus, [](const auto& gpu) {
      return !std::get<binpack::WholeGpu>(gpu.state).taken;
    });
  };
  EXPECT_EQ(free_beside(R"({"nvidia.com/gpu": 3, "nvidia.com/gpumem": 100})"), 1);
  EXPECT_EQ(free_beside(R"({"nvidia.com/gpu": 1, "nvidia.com/gpucores": 200})"), 3);
  EXPECT_EQ(free_beside(R"({"nvidia.com/gpumem": 100})"), 4);
}

// Nobody has more than all of a GPU, and kubectl lets everybody write it.
TEST(PodJsonTest, CutsTheSharesOfAPodThatStandsOnANodeToWhatThereIs) {
  const auto parsed = PodFromText(
      PlacedWithLimits(R"({"nvidia.com/gpumem-percentage": 101, "nvidia.com/gpucores": "200"})"));
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->pod.is_unreadable);
  EXPECT_FALSE(parsed->pod.has_unreadable_shares);
  EXPECT_EQ(
      parsed->pod.request.fractions,
      (std::vector<binpack::Fraction>{{.gpus = 1, .memory_percent = 100, .cores_percent = 100}}));
  EXPECT_EQ(parsed->warnings.size(), 2U);
  EXPECT_EQ(parsed->warnings.back(),
            "pod default/p: has all there is: spec.containers[0].resources.limits"
            "[\"nvidia.com/gpucores\"]: must be at most 100");
}

TEST(PodJsonTest, DropsTheSharesOfAPodThatStandsOnANodeWhereTheyCannotBeRead) {
  for (const std::string share : {"\"many\"", "-1", "\"0.5\"", "{}"}) {
    const auto parsed = PodFromText(
        PlacedWithLimits(R"({"nvidia.com/gpu": 2, "nvidia.com/gpumem": )" + share + "}"));
    ASSERT_TRUE(parsed);
    EXPECT_FALSE(parsed->pod.is_unreadable);
    EXPECT_TRUE(parsed->pod.has_unreadable_shares);
    EXPECT_EQ(parsed->pod.request.devices, (Counts{{"nvidia.com/gpu", 2}}));
    EXPECT_EQ(parsed->warnings.size(), 1U);
  }
}

std::string PlacedWith(const std::string& metadata, const std::string& spec = "",
                       const std::string& status = "{}") {
  return R"({"metadata": )" + metadata + R"(, "spec": {"nodeName": "n", "containers": [
          {"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1}}}])" +
         spec + R"(}, "status": )" + status + "}";
}

// Left out, its GPU would count as free.
TEST(PodJsonTest, KeepsAPodThatStandsOnANodeWhateverElseOfItCannotBeRead) {
  const std::string who = R"({"name": "p", "uid": "u")";
  for (const std::string& json :
       {PlacedWith(who + R"(, "creationTimestamp": "yesterday"})"),
        PlacedWith(who + R"(, "creationTimestamp": 5})"),
        PlacedWith(who + R"(, "namespace": ")" + std::string(9000, 'x') + "\"}"),
        PlacedWith(who + R"(, "namespace": 5})"), PlacedWith(who + "}", R"(, "priority": "high")"),
        PlacedWith(who + "}", R"(, "priority": 3000000000)"),
        PlacedWith(who + "}", "", R"({"nominatedNodeName": 5})"),
        PlacedWith(who + "}", "", R"({"phase": 5})"), PlacedWith(who + "}", "", "[]")}) {
    const auto parsed = PodFromText(json);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->pod.uid, "u");
    EXPECT_EQ(parsed->pod.node_name, "n");
    EXPECT_EQ(parsed->pod.request.devices, (Counts{{"nvidia.com/gpu", 1}}));
    EXPECT_FALSE(parsed->pod.is_unreadable);
    EXPECT_FALSE(parsed->pod.is_finished);
    EXPECT_FALSE(parsed->warnings.empty()) << json;
  }
}

TEST(PodJsonTest, MakesAMissingUidOfAPodOnANodeOfItsName) {
  for (const std::string uid : {"", R"(, "uid": "")", R"(, "uid": 5)"}) {
    const auto parsed =
        PodFromText(PlacedWith(R"({"name": "p", "namespace": "team-a")" + uid + "}"));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->pod.uid, "team-a/p");
    EXPECT_FALSE(parsed->pod.is_unreadable);
    EXPECT_EQ(parsed->warnings.size(), 1U);
  }
}

TEST(PodJsonTest, TakesAPodOnANodeThatSaysNotWhoItIsForUnreadable) {
  for (const std::string metadata : {"{}", "[]", "null", R"({"name": 5})"}) {
    const auto parsed = PodFromText(PlacedWith(metadata));
    ASSERT_TRUE(parsed) << metadata;
    EXPECT_EQ(parsed->pod.node_name, "n");
    EXPECT_TRUE(parsed->pod.is_unreadable);
    EXPECT_FALSE(parsed->pod.uid.empty());
  }
  EXPECT_EQ(ErrorOf(R"({"metadata": {}, "spec": {"nodeName": 5}})"),
            "spec.nodeName: must be a string");
}

// Annotations may be edited while the pod runs.
TEST(PodJsonTest, DropsAConstraintAboveItsLimitOnceThePodStandsOnANode) {
  std::string models = "L40S";
  for (std::size_t i = 0; i < kConstraintEntriesMax; ++i) models += ",L40S";
  const auto parsed =
      PodFromText(PodWithAnnotations(R"({"offcut.dev/gpu-models": ")" + models + R"("})",
                                     R"({"nodeName": "n", "containers": [
          {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]})"));
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->pod.is_unreadable);
  EXPECT_EQ(parsed->pod.request.devices, (Counts{{"nvidia.com/gpu", 2}}));
  EXPECT_EQ(parsed->pod.request.constraint, binpack::GpuConstraint{});
}

TEST(PodJsonTest, ReadsTheGpusThatTheKubeletReports) {
  const scheduler::Pod pod = MustParse(R"({
      "metadata": {"name": "p", "uid": "u"}, "spec": {"nodeName": "n", "containers": []},
      "status": {"containerStatuses": [{"allocatedResourcesStatus": [
          {"name": "nvidia.com/gpu", "resources": [
              {"resourceID": "GPU-a", "health": "Healthy"},
              {"resourceID": "GPU-b::3", "health": "Unhealthy"},
              {"resourceID": "MIG-c"}]},
          {"name": "example.com/nic", "resources": [{"resourceID": "GPU-d"}]}]}]}})");
  EXPECT_EQ(pod.observed, (std::vector<scheduler::ObservedDevice>{
                              {.gpu_uuid = "GPU-a"}, {.gpu_uuid = "GPU-b", .is_unhealthy = true}}));
}

// What deciding costs grows with the names, so a pod of legal size could hold up all others.
TEST(PodJsonTest, RefusesMoreKindsOfGpuResourceThanANodeOffers) {
  const auto limits_of = [](std::size_t names) {
    std::string limits = "{";
    for (std::size_t i = 0; i < names; ++i) {
      limits += (i == 0 ? "" : ", ") + ("\"nvidia.com/mig-" + std::to_string(i)) + "\": 1";
    }
    return limits + "}";
  };
  EXPECT_EQ(MustParse(PodWithLimits(limits_of(kDeviceResourcesMax))).request.devices.size(),
            kDeviceResourcesMax);
  EXPECT_NE(ErrorOf(PodWithLimits(limits_of(kDeviceResourcesMax + 1))).find("more than 64"),
            std::string::npos);
}

TEST(PodJsonTest, RefusesNamesThatAreLongerThanKubernetesAllows) {
  const std::string long_name(kResourceNameBytesMax, 'x');
  EXPECT_NE(ErrorOf(PodWithLimits("{\"nvidia.com/mig-" + long_name + "\": 1}")), "");
  EXPECT_NE(ErrorOf(PodWithAnnotations("{\"offcut.dev/gpu-models\": \"" + long_name + "\"}")), "");
}

}  // namespace
}  // namespace offcut::api
