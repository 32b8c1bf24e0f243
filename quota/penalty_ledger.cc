#include "quota/penalty_ledger.h"

#include <utility>

namespace offcut::quota {
namespace {

// Of all, anew: the sum of two penalties is cut at kAmountMax, so that taking one away again would
// leave too little.
Charge SumOf(const std::map<std::string, Charge, std::less<>>& by_key) {
  Charge sum;
  for (const auto& [key, penalty] : by_key) {
    for (const auto [cell, amount] : penalty) AddToCharge(cell, amount, sum);
  }
  return sum;
}

}  // namespace

void PenaltyLedger::Push(const std::string& key, Charge penalty) {
  by_key_.insert_or_assign(key, std::move(penalty));
  sum_ = SumOf(by_key_);
}

void PenaltyLedger::Drop(std::string_view key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return;
  by_key_.erase(found);
  sum_ = SumOf(by_key_);
}

}  // namespace offcut::quota
