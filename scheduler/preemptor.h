// A pod that others may have to make way for: what is the same on all nodes that it asks about.
// Not synchronised.
#pragma once

#include <cstdint>
#include <optional>

#include "quota/ledger.h"
#include "scheduler/isolation.h"
#include "scheduler/policy.h"
#include "scheduler/snapshot.h"
#include "scheduler/victim_units.h"

namespace offcut::scheduler {

class Preemptor {
 public:
  // All arguments outlive the object. `now_s`: seconds since 1970.
  Preemptor(const Snapshot& snapshot, const Pod& pod, const Policy& policy, std::int64_t now_s);

  const Snapshot& snapshot() const { return snapshot_; }
  const Pod& pod() const { return evictor_.pod; }
  const Evictor& evictor() const { return evictor_; }
  // What tenants use, and what is expected of others than the pod. Whoever edits it puts back what
  // was there. Of a tree of one tenant, where there are no tenants.
  quota::Ledger& ledger() { return ledger_; }
  IsolationCheck& isolation() { return isolation_; }

  // Counted once, and only where a node has holders of gangs.
  const GangSizes& GangsOn(const Node& node);

 private:
  const Snapshot& snapshot_;
  const Evictor evictor_;
  quota::Ledger ledger_;
  IsolationCheck isolation_;
  std::optional<GangSizes> gangs_;
};

}  // namespace offcut::scheduler
