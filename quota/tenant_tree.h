// Who may use how much: tenants in trees, and for each pool of GPU models and each resource what
// is theirs, what they may borrow and what they lend.
//
// A *cell* is one resource of one pool. The arithmetic is Kueue's, cell by cell: a tenant is a
// ClusterQueue, or a Cohort where it has children, and
//   subtree(n) = nominal(n) + sum over children c of (subtree(c) - local(c))
//   local(n)   = max(0, subtree(n) - lending limit), 0 where that is unlimited: never lent
//   potential(n) = at the root subtree(n), else
//                  min(local(n) + potential(parent), subtree(n) + borrowing limit)
// Potential is what could be used if nobody used anything: a request beyond it can never fit.
//
// What surprises:
// - A tenant's guarantee is that of all its subtree: what its children are guaranteed is part of
//   it, and the rest is a pool that they share. Kueue writes that rest alone, as the nominal quota
//   of the Cohort: nominal = guarantee - sum of the children's guarantees. Not said: that sum.
// - A tenant with children may have pods of its own. They are charged as those of a further child
//   would be that has no guarantee and no limits.
// - Nobody is held to a resource that was not named. Who *takes part* in a cell is said at
//   CellPlan below. Kueue refuses what a ClusterQueue does not name.
// - The pool "*" stands beside all others: whatever is charged to a pool is charged to it, too.
//
// Units: any integers; for our own resources those of quota/amount.h. Weights in millionths.
// Source: Kueue, pkg/cache/scheduler/resource_node.go; KEP 79.
// Pure values, never changed once built; may be shared between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quota/amount.h"
#include "quota/exact.h"

namespace offcut::quota {

inline constexpr std::string_view kAllPools = "*";

// The resources of our own charges, named as in records of devices. An instance's is its profile's
// name: "1g.10gb".
inline constexpr std::string_view kDevices = "devices";      // 1/1400 of a GPU
inline constexpr std::string_view kMemoryMib = "memoryMiB";  // MiB
inline constexpr std::string_view kCores = "coresPermille";  // thousandths of a GPU's compute

inline constexpr std::int64_t kWeightOne = 1'000'000;
inline constexpr std::int64_t kWeightMax = 1'000'000 * kWeightOne;
inline constexpr std::size_t kTenantsMax = 20'000;
inline constexpr int kTenantDepthMax = 16;                                    // of a root: 1
inline constexpr std::size_t kTenantCellsMax = std::size_t{8} * 1024 * 1024;  // tenants times cells

// What one tenant has of one cell, as the policy says it.
struct QuotaSpec {
  std::string pool;
  std::string resource;
  std::optional<std::int64_t> guarantee;        // not said: the sum of its children's
  std::optional<std::int64_t> borrowing_limit;  // not said: unlimited; 0: none
  std::optional<std::int64_t> lending_limit;    // not said: unlimited; 0: none
  bool operator==(const QuotaSpec&) const = default;
};

struct TenantSpec {
  std::string name;
  std::string parent;  // empty: none
  std::int64_t weight_micro = kWeightOne;
  std::vector<QuotaSpec> quotas;
  bool operator==(const TenantSpec&) const = default;
};

enum class TenantFaultKind {
  kNameEmpty,
  kNameRepeated,   // `other` has it, too
  kParentUnknown,  // no tenant is called so
  kParentCycle,    // following the parents from here leads back here
  kUnreachable,    // above it is a cycle, or a parent that is not known
  kTooDeep,        // more than kTenantDepthMax from its root
  kWeightOutOfRange,
  kQuotaUnnamed,   // no pool, or no resource
  kQuotaRepeated,  // pool and resource are those of quota `other`
  kGuaranteeOutOfRange,
  kBorrowingLimitOutOfRange,
  kLendingLimitOutOfRange,
  kGuaranteesBeyondParent,  // its children's add up to more than its own
  kTooManyTenants,
  kTooManyCells,
};

// One thing that is wrong with the tenants, and where: indices in what was given.
struct TenantFault {
  TenantFaultKind kind = TenantFaultKind::kNameEmpty;
  std::size_t tenant = 0;
  std::optional<std::size_t> quota;  // in TenantSpec::quotas
  std::size_t other = 0;             // as the kind says
  std::int64_t stated = 0;           // kGuaranteesBeyondParent: what the tenant has
  std::int64_t children = 0;         // and what its children are promised
  bool operator==(const TenantFault&) const = default;
};

// A sentence without the tenant's name: "the guarantees of its children add up to ...".
std::string Describe(const TenantFault& fault, std::span<const TenantSpec> specs);

struct Tenant {
  std::string name;
  std::int64_t weight_micro = kWeightOne;
  std::size_t spec = 0;  // its index in what the tree was built from
};

struct Cell {
  std::string pool;
  std::string resource;
  int share = 0;  // index in TenantTree::shared: what counts as the same in dominant shares
};

// One tenant's part in one cell.
struct CellPlan {
  std::int64_t nominal = 0;
  std::int64_t subtree = 0;
  std::int64_t local = 0;
  std::int64_t borrowing_limit = kUnlimited;
  std::int64_t lending_limit = kUnlimited;
  std::int64_t potential = 0;
  std::int64_t guarantee = 0;
  // Whether the tenant's own pods are held to the cell: it, or a tenant above it, names the cell;
  // or it says nothing of the cell's pool at all, and somebody in its tree names the cell: then it
  // may only borrow there. A tenant that was given devices of a pool is so not stopped by memory
  // that only its sibling was given, and one that was given nothing of a pool takes no guarantee.
  // Of the pool "*" a tenant says something with any quota.
  bool takes_part = false;
};

// A pool's cells by what a charge has.
struct Pool {
  std::string name;
  int devices = -1;  // -1: no such cell
  int memory_mib = -1;
  int cores = -1;
  std::vector<std::pair<std::string, int>> others;  // resource and cell, ordered
};

struct TenantTree {
  std::vector<Tenant> tenants;  // parents before their children
  std::vector<int> parents;     // index in `tenants`; -1: a root
  std::vector<Cell> cells;      // ordered by pool and resource
  std::vector<CellPlan> plans;  // of cell c and tenant t: [c * tenants.size() + t]
  std::vector<Pool> pools;      // ordered by name
  // Resources, each summed over pools; the pool "*" has its own, called "*/devices" and so on.
  std::vector<std::string> shared;  // ordered
  // Of resource s and tenant t, [s * tenants.size() + t]: its potential over all pools.
  std::vector<std::int64_t> lendable;
  std::map<std::string, int, std::less<>> by_name;

  const CellPlan& Plan(int cell, int tenant) const {
    return plans[static_cast<std::size_t>(cell) * tenants.size() +
                 static_cast<std::size_t>(tenant)];
  }
  int Parent(int tenant) const { return parents[static_cast<std::size_t>(tenant)]; }
};

// All faults at once, in the order of the tenants. `pools` are the policy's: each has the cells of
// devices, memory and cores, named by somebody or not, so that usage can be shown.
std::expected<TenantTree, std::vector<TenantFault>> BuildTenantTree(
    std::span<const TenantSpec> specs, std::span<const std::string> pools = {});

// -1: not known.
int FindTenant(const TenantTree& tree, std::string_view name);
int FindPool(const TenantTree& tree, std::string_view name);
int FindCell(const TenantTree& tree, std::string_view pool, std::string_view resource);

// Part of what a pod is charged.
struct CellAmount {
  int cell = 0;
  std::int64_t amount = 0;  // above 0, at most kAmountMax
  bool operator==(const CellAmount&) const = default;
};

// What a pod is charged, ordered by cell, no cell twice.
using Charge = std::vector<CellAmount>;

// Adds `amount` of the pool to the charge, and to that of "*". What is no cell is left out; more
// than kAmountMax, which no single quota can state, is cut to that.
void AddToCharge(const TenantTree& tree, std::string_view pool, const Amount& amount,
                 Charge& charge);
void AddToCharge(int cell, std::int64_t amount, Charge& charge);

// What roots guarantee of a cell beyond what the cluster has of it.
struct GuaranteeShortage {
  int cell = 0;
  std::int64_t guaranteed = 0;
  std::int64_t capacity = 0;
};

// `capacity` by pool. A pool that is not in it counts as empty; of "*" the sum of all is there.
std::vector<GuaranteeShortage> FindShortages(const TenantTree& tree,
                                             const std::map<std::string, Amount>& capacity);

}  // namespace offcut::quota
