// Reads what a pod belongs to: its tenant by label, its scheduling gates, its gang, and what Kueue
// wrote on it.
// Source: Kubernetes API reference (spec.schedulingGroup is of 1.36); the coscheduling plugin.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/json_object.h"
#include "scheduler/pod.h"

namespace offcut::api {

inline constexpr std::string_view kTenantLabel = "offcut.dev/tenant";
inline constexpr std::string_view kQuotaGate = "offcut.dev/quota";
// The gang: the in-tree field spec.schedulingGroup.podGroupName, or one of these. How many members
// must start together, the pod itself says.
inline constexpr std::string_view kGangAnnotation = "offcut.dev/gang";
inline constexpr std::string_view kPodGroupLabel = "scheduling.x-k8s.io/pod-group";
inline constexpr std::string_view kGangMinCountAnnotation = "offcut.dev/gang-min-count";
// What Kueue writes on pods of jobs that it has admitted.
inline constexpr std::string_view kKueueWorkloadAnnotation = "kueue.x-k8s.io/workload";
inline constexpr std::string_view kKueueQueueLabel = "kueue.x-k8s.io/cluster-queue-name";
inline constexpr int kGangMinCountMax = 10'000;
inline constexpr std::size_t kLabelsMax = 256;         // of a pod; the first count
inline constexpr std::size_t kLabelKeyBytesMax = 317;  // 253, "/" and 63
inline constexpr std::size_t kLabelBytesMax = 63;      // Kubernetes' of a label's value

// Each reads from the pod's root into the pod. What is malformed is an error of the root's.
void ReadTenantLabel(const JsonObject& root, scheduler::Pod& pod);
// All labels, of a pod that stands on a node. Those that Kubernetes would not take are left out.
void ReadLabels(const JsonObject& root, scheduler::Pod& pod);
void ReadGates(const JsonObject& root, scheduler::Pod& pod);
void ReadGang(const JsonObject& root, scheduler::Pod& pod);
// Whether it has been admitted, Workloads say.
void ReadKueue(const JsonObject& root, scheduler::Pod& pod);

}  // namespace offcut::api
