// Whether a pod's tenant may have what the pod asks for. How much that is depends on the node: its
// GPUs' pool, and whether the name of a resource means GPUs there, or parts of them.
// Pure; not synchronised.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "quota/ledger.h"
#include "scheduler/accounts.h"
#include "scheduler/evaluation.h"
#include "scheduler/snapshot.h"

namespace offcut::scheduler {

// By the snapshot's tenants; nobody where there are none.
Payer PayerIn(const Snapshot& snapshot, const Pod& pod);

// What is used and what is expected to be, as a pod sees it: who holds devices, the claims of
// others, and on whichever node the nominated pods that it must make way for.
struct ExpectedUse {
  // While those leave whom a nominated pod preempts, they count in its place.
  quota::Ledger now;
  // Once they have left; nullopt: nobody leaves. The pod must fit then as well, or it would take
  // what is freed for another: owners replace victims at once.
  std::optional<quota::Ledger> then;
};

// Requires: snapshot.accounts() != nullptr.
ExpectedUse ExpectedUseFor(const Snapshot& snapshot, const Pod& pod);

// By that ledger of the snapshot's tenants. Requires: tenant != kNoTenant.
Verdict CheckQuota(const quota::Ledger& ledger, const Tenancy& tenancy, int tenant,
                   const PodCharge& charge);

// The same should the node become another one, in whose place the pod is put: without victims, say,
// and with others who are expected there. What is expected elsewhere counts as used, as in filter.
// Fits where the pod has no tenant. Requires: the pod fits on `changed`.
Verdict CheckQuotaOn(const Node& current, const Node& changed, const Snapshot& snapshot,
                     const Pod& pod, const Policy& policy, Prefilter prefilter);

// One pod's question to many nodes: those that are alike are asked about once. All arguments
// outlive the object.
class QuotaCheck {
 public:
  // What is expected of others counts as used: see ExpectedUse.
  QuotaCheck(const Snapshot& snapshot, const Pod& pod, const Policy& policy, Prefilter prefilter);

  // Whether the pod has a tenant whose quota it needs: not where it is charged to nobody, or has
  // been charged elsewhere.
  bool Applies() const { return use_.has_value(); }

  // Requires: Applies().
  Verdict Of(const Node& node);

 private:
  Verdict Check(const PodCharge& charge) const;

  const Snapshot& snapshot_;
  const Pod& pod_;
  const Policy& policy_;
  const Prefilter prefilter_;
  int tenant_ = kNoTenant;
  std::optional<ExpectedUse> use_;
  // By Node::charge_key; nullopt: it depends on the placement.
  std::unordered_map<std::uint64_t, std::optional<Verdict>> known_;
};

}  // namespace offcut::scheduler
