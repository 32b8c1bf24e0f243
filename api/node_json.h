// Reads a v1.Node into an inventory: what its labels, its allocatable and its annotations say of
// its GPUs.
//
// What surprises: the device plugin's resource names say how much there is, and the labels of GPU
// feature discovery only what it is; where the two disagree, as they do while a plugin restarts,
// the amounts win. Which GPU carries a MIG instance is in neither.
// On a node with HAMi's register annotation that alone says what there is; the label
// `offcut.dev/agent` says that an agent there gives pods what is on record for them.
// Source: NVIDIA device plugin and GPU feature discovery v0.20; HAMi 2.10; the capacity type by the
// labels of EKS, GKE, AKS and Karpenter.
// Pure.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "api/error.h"
#include "scheduler/node.h"
#include "scheduler/policy.h"

namespace offcut::api {

inline constexpr std::string_view kAgentLabel = "offcut.dev/agent";
inline constexpr int kSlotsPerGpuMax = 1024;  // replicas of a GPU or of an instance
inline constexpr std::size_t kPoolsPerNodeMax = 64;
inline constexpr int kUnitsPerPoolMax = 64 * 1024;
inline constexpr std::size_t kTaintsMax = 4096;

struct ParsedNode {
  scheduler::Inventory inventory;
  std::vector<std::string> warnings;  // for the log: what was decided where the node was unclear
};

// Errors name the member: a node without name, an amount that is negative or malformed, a count of
// devices with a fraction, a label that should be a number and is none, a malformed HAMi
// annotation, and more GPUs (kGpusPerNodeMax, see api/hami_register.h), slots, pools or units than
// the limits.
//
// Allocatable units are offered; what capacity has beyond them is unhealthy, and stands last.
// Labels and taints (`marks`) that cannot be read are a warning: no pod is known to suit them then.
// `closed` is, where several hold, the first of: MIG-INVALID, reconfiguring, on nodes with a
// register annotation and no good kAgentLabel kNodeAgentUnsupported, and cordoned, which is no
// matter to every pod.
std::expected<ParsedNode, Error> ParseNode(simdjson::dom::element element,
                                           const scheduler::ResourceNames& names);

// The same of a text, which is copied.
std::expected<ParsedNode, Error> ParseNodeText(std::string_view text,
                                               const scheduler::ResourceNames& names);

}  // namespace offcut::api
