// Whose pod is whose: the tenants of a policy, the namespaces that lead to them, the pools that
// GPUs belong to, and what a tenant's pods may share a GPU with.
//
// Pods without tenant are charged to nobody; they hold devices all the same.
// Pure values; a published Tenancy never changes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "binpack/request_shape.h"
#include "quota/tenant_tree.h"
#include "scheduler/pod.h"

namespace offcut::scheduler {

// How well a mechanism keeps those who share a GPU apart, ascending.
enum class IsolationLevel : std::uint8_t {
  kNone,      // time-slicing
  kProcess,   // MPS
  kSoftware,  // HAMi
  kHardware,  // MIG, and a GPU for oneself
};

// With whom a pod would share a GPU.
enum class Sharers : std::uint8_t { kAnyone, kSameTenant, kSameNamespace };

// Pods without tenant count as one common tenant here.
struct SharingRule {
  Sharers sharers = Sharers::kAnyone;
  bool is_required = false;  // else it is a wish, which the score knows of
  bool operator==(const SharingRule&) const = default;
};

struct IsolationRules {
  SharingRule time_slicing;
  SharingRule mps;
  SharingRule hami;
  // Whether a pod on a time-sliced GPU may declare more memory than its slot's part.
  bool allows_memory_overcommit = false;
  bool operator==(const IsolationRules&) const = default;
};

// Of nodes that the provider may take back (spot, preemptible).
enum class SpotUse : std::uint8_t {
  kAllow,  // like any node; what runs there is never backed by the guarantee alone
  kAvoid,  // other nodes first
  kNever,
};

// What holds for a tenant beside its quota.
struct TenantRules {
  IsolationLevel isolation_min = IsolationLevel::kNone;
  SpotUse spot = SpotUse::kAllow;
  bool operator==(const TenantRules&) const = default;
};

enum class TenantSource : std::uint8_t {
  kNamespace,  // and labels, where a tenant lets pods of the namespace name it
  kKueue,      // the ClusterQueue that an admitted Workload was charged to; else as above
};

inline constexpr int kNoTenant = -1;
inline constexpr std::string_view kDefaultPool = "default";

// GPU models are named as in the annotation offcut.dev/gpu-models: globs over the name of the model
// or the product.
struct PoolSpec {
  std::string name;
  std::vector<std::string> models;
  bool operator==(const PoolSpec&) const = default;
};

struct Tenancy {
  std::shared_ptr<const quota::TenantTree> tree;  // never null
  // What the tree was built from, as the policy has it; quota::Tenant::spec is an index in it. For
  // whoever shows the policy: decisions go by the tree.
  std::vector<quota::TenantSpec> specs;
  std::vector<TenantRules> rules;  // by index in the tree; own ones and inherited
  std::vector<PoolSpec> pools;     // of several that name a model, the first counts
  std::map<std::string, int, std::less<>> by_namespace;
  // By namespace: the tenants that a pod there may name by the label offcut.dev/tenant.
  std::map<std::string, std::vector<int>, std::less<>> by_label_in;
  TenantSource source = TenantSource::kNamespace;
  std::map<std::string, int, std::less<>> by_queue;  // name of a Kueue ClusterQueue
  IsolationRules isolation;
};

// Who pays for a pod.
struct Payer {
  int tenant = kNoTenant;  // index in the tree
  // Kueue has charged for it: it is counted here as well, and no quota of ours refuses it.
  bool is_charged_elsewhere = false;
  bool operator==(const Payer&) const = default;
};

// `admitted_queue`: the queue that was charged for the pod; empty: none. Where queues lead to
// tenants, it goes before the namespace. A label that names a tenant that the namespace may not
// name counts as none.
Payer PayerOf(const Tenancy& tenancy, const Pod& pod, std::string_view admitted_queue);

// Of a pod of the state, which knows its queue.
inline Payer PayerOf(const Tenancy& tenancy, const Pod& pod) {
  return PayerOf(tenancy, pod, pod.admitted_queue);
}
inline int TenantOf(const Tenancy& tenancy, const Pod& pod) { return PayerOf(tenancy, pod).tenant; }

// Of a GPU of that model (may be null) and product; kDefaultPool where no pool names it.
std::string_view PoolOf(const Tenancy& tenancy, const binpack::GpuModel* model,
                        std::string_view product);

// The tenant's name; empty for kNoTenant.
std::string_view NameOf(const Tenancy& tenancy, int tenant);

}  // namespace offcut::scheduler
