#include "scheduler/victim_price.h"

#include <algorithm>
#include <utility>

namespace offcut::scheduler {

VictimPrices::VictimPrices(NodeVictims& victims, std::span<const std::size_t> lifted)
    : victims_(victims), lifted_(lifted), is_within_guarantee_(victims.units().size()) {
  for (std::size_t i = 0; i < is_within_guarantee_.size(); ++i) {
    is_within_guarantee_[i] = victims.IsWithinGuarantee(i);
  }
  const auto* budgets = victims.snapshot().disruption_budgets();
  if (budgets == nullptr || budgets->empty()) return;
  budgeted_.emplace(*budgets);
  for (const Holder& holder : victims.node().holders) budgeted_->Add(*holder.pod);
}

VictimPrice VictimPrices::Of(Units units) const {
  VictimPrice price;
  for (const std::size_t i : units) {
    const VictimUnit& unit = victims_.units()[i];
    price.some_run_on = price.some_run_on || !unit.is_ending;
    price.priority = std::max(price.priority, unit.priority);
    price.within_guarantee += is_within_guarantee_[i] ? 1 : 0;
    price.pods += static_cast<std::int64_t>(unit.holders.size());
    price.device_s += unit.device_s;
    price.devices += unit.devices;
  }
  price.pdb_violations = ViolationsOf(units);
  price.units = std::move(units);
  return price;
}

std::int64_t VictimPrices::ViolationsOf(const Units& units) const {
  if (!budgeted_) return 0;
  std::vector<std::size_t> holders(lifted_.begin(), lifted_.end());
  for (const std::size_t i : units) {
    const auto& of_unit = victims_.units()[i].holders;
    holders.insert(holders.end(), of_unit.begin(), of_unit.end());
  }
  return budgeted_->CountViolations(holders);
}

}  // namespace offcut::scheduler
