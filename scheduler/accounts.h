// What the tenants of a tenancy are charged at one instant: for the pods that hold devices (or are
// on their way to them), and besides for those that are expected to. The first decides, at bind;
// filter goes by the second, so that what is meant for one pod is not promised to another.
//
// Copies are cheap, as a ledger's are. Pure; not synchronised.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "quota/ledger.h"
#include "scheduler/node.h"
#include "scheduler/tenancy.h"

namespace offcut::scheduler {

// By cell of the tenancy's tree.
quota::Charge ToCells(const Tenancy& tenancy, const PodCharge& charge);

class Accounts {
 public:
  // The nodes' holders are charged; nobody claims. Requires: tenancy != nullptr.
  Accounts(std::shared_ptr<const Tenancy> tenancy,
           std::span<const std::shared_ptr<const Node>> nodes);

  const Tenancy& tenancy() const { return *tenancy_; }
  const quota::Ledger& charged() const { return charged_; }
  // With the claims of all pods but that one.
  quota::Ledger ExpectedBut(std::string_view uid) const;

  // The node's holders are charged, and no longer those that it had before. nullptr: no node.
  void Replace(const Node* before, const Node* after);

  // The pod of that UID is expected to be charged that, in place of an earlier claim. kNoTenant: it
  // is left out.
  void Claim(const std::string& uid, int tenant, const PodCharge& charge);
  void DropClaim(std::string_view uid);
  // Whose the claim of that UID is; kNoTenant: nobody's.
  int TenantOfClaim(std::string_view uid) const;

 private:
  using Claims = std::map<std::string, quota::Holding, std::less<>>;

  void Add(const Holder& holder);
  void Remove(const Holder& holder);

  std::shared_ptr<const Tenancy> tenancy_;
  quota::Ledger charged_;
  quota::Ledger expected_;  // and the claims
  std::shared_ptr<const Claims> claims_ = std::make_shared<const Claims>();
};

}  // namespace offcut::scheduler
