// Which set of victims on a node is the cheapest: for each place that could serve the pod the
// fewest of those who stand there are found (scheduler/node_victims.h), and the cheapest of these
// sets is taken. A place is not looked at where its cores cost as much already as the best set.
// Not synchronised.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "binpack/node_state.h"
#include "scheduler/node_victims.h"
#include "scheduler/victim_places.h"
#include "scheduler/victim_price.h"

namespace offcut::scheduler {

class VictimChoice {
 public:
  // `lifted`: holders that go in any case; they are out of the vacancy already. All arguments
  // outlive the object.
  VictimChoice(NodeVictims& victims, std::span<const std::size_t> lifted)
      : victims_(victims), lifted_(lifted), prices_(victims, lifted) {}

  // The cheapest set that has all of `required` (ascending) and frees so much CPU and memory.
  std::optional<VictimPrice> Best(const Units& required, const binpack::HostResources& must_free);

 private:
  // A set that was asked for, and what came of it.
  using Answers = std::map<Units, std::optional<Units>>;

  void Consider(const std::optional<Units>& units);
  void ConsiderPlaces();
  void ConsiderSeveralPlaces();
  std::optional<Units> FindFrom(const Units& first, std::span<const Units> places,
                                Answers& answers);
  std::optional<Units> FindAmong(const Units& among, Answers& answers);
  bool FreesEnough(const Units& units) const;

  NodeVictims& victims_;
  std::span<const std::size_t> lifted_;
  const VictimPrices prices_;
  std::optional<VictimPlaces> places_;
  // Of one question:
  Units required_;
  binpack::HostResources must_free_;
  std::optional<VictimPrice> best_;
};

}  // namespace offcut::scheduler
