// Who on one node may go for a pod, and how few of some of them suffice: quota (quota/victims.h)
// says who, the node's devices (scheduler/vacancy.h) say when it is enough.
// Not synchronised.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "binpack/request_shape.h"
#include "quota/victims.h"
#include "scheduler/preemptor.h"
#include "scheduler/vacancy.h"
#include "scheduler/victim_units.h"

namespace offcut::scheduler {

class NodeVictims {
 public:
  // Both outlive the object. `shape`: what the pod asks of the node.
  NodeVictims(Preemptor& preemptor, const Node& node, binpack::RequestShape shape);
  NodeVictims(const NodeVictims&) = delete;
  NodeVictims& operator=(const NodeVictims&) = delete;

  const Snapshot& snapshot() const { return preemptor_.snapshot(); }
  const Node& node() const { return node_; }
  const binpack::RequestShape& shape() const { return shape_; }
  std::span<const VictimUnit> units() const { return units_; }
  Vacancy& vacancy() { return vacancy_; }

  // The units that quota lets go, ascending; whoever else is taken before, the others never are.
  const Units& Eligible();

  // Whether somebody may go at all, and the pod would have quota, room and neighbours that it may
  // meet with all gone that may. False: no set of victims is enough.
  bool CouldSuffice();

  // Of `among`, all of `required` included, ascending; nullopt: they do not suffice. None of them
  // but those that are required can be left out; it need not be the smallest set.
  std::optional<Units> FindAmong(const Units& among, const Units& required);

  // No more than its guarantee is used by the unit's tenant, of what is contested.
  bool IsWithinGuarantee(std::size_t unit);

 private:
  void SetCandidates();
  void SetNewcomer();
  bool HasQuotaWithoutEligible();

  Preemptor& preemptor_;
  const Node& node_;
  const binpack::RequestShape shape_;
  const std::vector<VictimUnit> units_;
  Vacancy vacancy_;
  std::vector<quota::VictimCandidate> candidates_;  // as units_
  quota::Newcomer newcomer_;
  std::vector<int> contested_;
  std::optional<Units> eligible_;
};

}  // namespace offcut::scheduler
