// What tenants use, what is left for them, and the two ways to refuse: never, and not now.
//
//   used(n)  = what n's own pods are charged
//              + sum over its children c of max(0, used(c) - local(c))
//   available(root) = subtree - used
//   available(n)    = max(0, local - used)
//                     + min(available(parent),
//                           subtree - local - max(0, used - local) + borrowing limit)
// It is below 0 where quota shrank under what runs: then nothing more fits, and nothing is evicted.
//
// What surprises: `used` of a tenant with children leaves out what its children use of what they
// do not lend, as in Kueue. Nobody's debt to somebody else is kept.
//
// Copies share what they have not changed: a copy costs a pointer a cell, the first charge after it
// a copy of the columns of its cells. So an object may be edited while other threads read copies of
// it; not while they destroy the last one that it shares a column with.
//
// Units: those of the tree's cells. Source: Kueue, pkg/cache/scheduler/resource_node.go.
// Pure; const use from many threads is safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "quota/tenant_tree.h"

namespace offcut::quota {

enum class Answer {
  kFits,
  kWait,   // `quota.wait`: fits once others have given back what they use
  kNever,  // `quota.never`: more than the tenant could use if nobody used anything
};

struct Admission {
  Answer answer = Answer::kFits;
  int cell = -1;  // the first that refuses; of those that refuse for ever, if any does
  bool operator==(const Admission&) const = default;
};

// One tenant's pods taken together, or one of them.
struct Holding {
  int tenant = 0;
  Charge charge;
};

// A tenant's state in one cell, for people.
struct Standing {
  std::int64_t guarantee = 0;  // of its subtree
  std::int64_t used = 0;       // by it and all below it
  std::int64_t borrowed = 0;   // beyond what its subtree has
  std::int64_t lent = 0;       // the least that others must be using of what it has
  std::int64_t available = 0;  // at least 0; kUnlimited: it does not take part
  std::int64_t potential = 0;  // kUnlimited: it does not take part
  bool operator==(const Standing&) const = default;
};

class Ledger {
 public:
  // Nothing is used. Requires: tree != nullptr.
  explicit Ledger(std::shared_ptr<const TenantTree> tree);
  // The same as charging each. Where the tree has changed, this is how usage follows: whatever is
  // held is charged, and nothing is taken from anybody.
  Ledger(std::shared_ptr<const TenantTree> tree, std::span<const Holding> holdings);

  const TenantTree& tree() const { return *tree_; }

  // What the tenant's own pods are charged, whether it takes part in the cell or not.
  std::int64_t Own(int tenant, int cell) const;
  // Kueue's usage of the node; see above.
  std::int64_t Used(int tenant, int cell) const;
  // Below 0 where more is used than there is; kUnlimited where the tenant does not take part.
  std::int64_t Available(int tenant, int cell) const;
  // kUnlimited where the tenant does not take part.
  std::int64_t Potential(int tenant, int cell) const;

  // Whether the tenant may be charged that much more. An empty charge fits. Requires: the charge is
  // as quota/tenant_tree.h says.
  Admission Check(int tenant, std::span<const CellAmount> charge) const;

  // Whether the tenant would use more of a cell of the charge than its own subtree has: borrow it.
  bool Borrows(int tenant, std::span<const CellAmount> charge) const;

  // Charges whatever the answer of Check: who is bound is charged, whoever bound it.
  void Add(int tenant, std::span<const CellAmount> charge);
  // The exact mirror of Add. Requires: the tenant is charged at least that much.
  void Remove(int tenant, std::span<const CellAmount> charge);

  Standing StandingOf(int tenant, int cell) const;
  // The same of all tenants, in one pass.
  std::vector<Standing> StandingsIn(int cell) const;

  // That all tenants are charged the same, in a tree of the same tenants and cells.
  friend bool operator==(const Ledger& a, const Ledger& b);

 private:
  // By tenant.
  struct Column {
    std::vector<std::int64_t> own;
    std::vector<std::int64_t> used;
    bool operator==(const Column&) const = default;
  };

  Standing StandingOf(int tenant, int cell, std::int64_t used_below) const;
  void Move(Column& column, int tenant, int cell, std::int64_t delta) const;
  Column& MutableColumn(int cell);

  std::shared_ptr<const TenantTree> tree_;
  std::vector<std::shared_ptr<Column>> columns_;  // by cell; never edited while shared
};

}  // namespace offcut::quota
