#include "scheduler/node_victims.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "quota/fair_victims.h"
#include "scheduler/accounts.h"

namespace offcut::scheduler {

NodeVictims::NodeVictims(Preemptor& preemptor, const Node& node, binpack::RequestShape shape)
    : preemptor_(preemptor),
      node_(node),
      shape_(std::move(shape)),
      units_(VictimUnitsOf(node, preemptor.evictor(), preemptor.GangsOn(node))),
      vacancy_(node, shape_, units_, preemptor.isolation()) {
  SetCandidates();
  SetNewcomer();
}

void NodeVictims::SetCandidates() {
  const bool has_tenants = preemptor_.evictor().tenancy != nullptr;
  candidates_.reserve(units_.size());
  for (const VictimUnit& unit : units_) {
    candidates_.push_back({.tenant = has_tenants ? unit.tenant : 0,
                           .priority = unit.priority,
                           .since = unit.created_s,
                           .is_ending = unit.is_ending,
                           .uid = unit.uid,
                           .charge = unit.charge});
  }
}

void NodeVictims::SetNewcomer() {
  const Evictor& evictor = preemptor_.evictor();
  newcomer_.priority = evictor.pod.priority;
  if (evictor.tenancy == nullptr || evictor.payer.tenant == kNoTenant) return;
  newcomer_.tenant = evictor.payer.tenant;
  if (evictor.payer.is_charged_elsewhere) return;
  newcomer_.charge =
      ToCells(*evictor.tenancy, ExpectCharge(node_.inventory.devices, shape_).charge);
  contested_ = quota::ContestedCells(preemptor_.ledger(), newcomer_.tenant, newcomer_.charge);
}

const Units& NodeVictims::Eligible() {
  if (eligible_) return *eligible_;
  const quota::FitsWithout never = [](std::span<const std::size_t>) { return false; };
  const quota::VictimSearch search{newcomer_, candidates_, contested_, never};
  const Evictor& evictor = preemptor_.evictor();
  quota::Ledger& ledger = preemptor_.ledger();
  eligible_ = evictor.rules.fair_sharing
                  ? quota::EligibleFairVictims(ledger, search, evictor.quota_rules)
                  : quota::EligibleVictims(ledger, search, evictor.quota_rules);
  return *eligible_;
}

bool NodeVictims::HasQuotaWithoutEligible() {
  if (newcomer_.charge.empty()) return true;
  quota::Ledger& ledger = preemptor_.ledger();
  for (const std::size_t i : Eligible())
    ledger.Remove(candidates_[i].tenant, candidates_[i].charge);
  const quota::Admission admission = ledger.Check(newcomer_.tenant, newcomer_.charge);
  for (const std::size_t i : Eligible()) ledger.Add(candidates_[i].tenant, candidates_[i].charge);
  return admission.answer == quota::Answer::kFits;
}

bool NodeVictims::CouldSuffice() {
  return !Eligible().empty() && vacancy_.MayFitWithout(Eligible()) && HasQuotaWithoutEligible();
}

std::optional<Units> NodeVictims::FindAmong(const Units& among, const Units& required) {
  std::vector<quota::VictimCandidate> candidates;
  candidates.reserve(among.size());
  for (const std::size_t i : among) candidates.push_back(candidates_[i]);
  Units units;
  units.reserve(among.size());
  const auto has_required = [&] {
    return std::ranges::all_of(
        required, [&](std::size_t i) { return std::ranges::find(units, i) != units.end(); });
  };
  const quota::FitsWithout fits = [&](std::span<const std::size_t> gone) {
    units.clear();
    for (const std::size_t i : gone) units.push_back(among[i]);
    return has_required() && vacancy_.FitsWithout(units);
  };
  const quota::VictimSearch search{newcomer_, candidates, contested_, fits};
  const Evictor& evictor = preemptor_.evictor();
  quota::Ledger& ledger = preemptor_.ledger();
  const auto victims = evictor.rules.fair_sharing
                           ? quota::FindFairVictims(ledger, search, evictor.quota_rules, {})
                           : quota::FindVictims(ledger, search, evictor.quota_rules);
  if (!victims) return std::nullopt;
  units.clear();
  for (const quota::Victim& victim : *victims) units.push_back(among[victim.candidate]);
  std::ranges::sort(units);
  return units;
}

bool NodeVictims::IsWithinGuarantee(std::size_t unit) {
  const int tenant = units_[unit].tenant;
  if (tenant == kNoTenant) return false;
  const quota::Ledger& ledger = preemptor_.ledger();
  return std::ranges::none_of(contested_, [&](int cell) {
    return ledger.Used(tenant, cell) > ledger.tree().Plan(cell, tenant).subtree;
  });
}

}  // namespace offcut::scheduler
