// Reads a v1.Pod.
//
// What is read: who the pod is, where it runs, what its containers ask for, which GPUs it accepts,
// and the devices on record for it. Everything else of the object is left alone.
// Source: Kubernetes API reference; HAMi's annotations as of 2.10.
// Pure.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "api/error.h"
#include "scheduler/pod.h"
#include "scheduler/policy.h"

namespace offcut::api {

inline constexpr std::size_t kNameBytesMax = 253;          // a DNS subdomain, the longest name
inline constexpr std::size_t kUidBytesMax = 128;           // a UUID has 36
inline constexpr std::size_t kContainersMax = 1024;        // init containers likewise
inline constexpr std::size_t kConstraintEntriesMax = 64;   // of one annotation, names each
inline constexpr std::size_t kConstraintBytesMax = 4096;   // of one annotation
inline constexpr std::size_t kDeviceResourcesMax = 64;     // different ones that a pod asks for
inline constexpr std::size_t kResourceNameBytesMax = 317;  // Kubernetes': domain, '/', name
inline constexpr std::size_t kMessageBytesMax = 1024;      // of a condition; the rest is cut
inline constexpr std::size_t kPodArrayMax = 4096;          // any other array that is read

inline constexpr std::string_view kGpuModelsAnnotation = "offcut.dev/gpu-models";
inline constexpr std::string_view kGpuUuidsAnnotation = "offcut.dev/gpu-uuids";

// Whether devices are counted under that name: GPUs, shared ones, MIG instances. Not shares of
// GPUs.
bool IsCounted(std::string_view resource, const scheduler::ResourceNames& names);

struct ParsedPod {
  scheduler::Pod pod;
  std::vector<std::string> warnings;  // what was dropped, and why; each names the pod
};

// Errors name the member. A pod without name or UID that is on no node, an amount that is negative
// or malformed, a count of devices with a fraction, a percentage above 100, and MiB beyond int are
// errors. Node rules that cannot be read are a warning: no node is known to suit them then.
//
// Requests count, and limits where the requests lack the name; zero asks for nothing. A container
// that asks for gpumem, gpumem-percentage or gpucores has a fraction of as many GPUs as it names
// (one if it names none; no fraction if it names zero); MiB win over a percentage.
// A pod that stands on a node is never left out: shares beyond their maximum are that maximum, and
// those that cannot be read are dropped; any other request that cannot be read makes it
// `is_unreadable`, and so does a missing name; a missing UID is made of namespace and name; a
// constraint, an age, a priority and whatever else cannot be read is dropped. Each with a warning.
// The record is dropped, with a warning, where it is not readable or is of another pod or node; a
// pod that is bound to no node has none.
std::expected<ParsedPod, Error> ParsePod(simdjson::dom::element element,
                                         const scheduler::ResourceNames& names);

// The same of a text, which is copied.
std::expected<ParsedPod, Error> ParsePodText(std::string_view text,
                                             const scheduler::ResourceNames& names);

}  // namespace offcut::api
