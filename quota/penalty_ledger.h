// What started since the last sample of usage, by who started it. A later push of one key replaces
// its earlier one, and dropping what is not there changes nothing: events may come twice.
// Source: Kueue's entry penalties, pkg/cache/queue/afs_entry_penalties.go.
// Not synchronised.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "quota/tenant_tree.h"

namespace offcut::quota {

class PenaltyLedger {
 public:
  void Push(const std::string& key, Charge penalty);
  void Drop(std::string_view key);

  bool empty() const { return by_key_.empty(); }
  const Charge& sum() const { return sum_; }

 private:
  std::map<std::string, Charge, std::less<>> by_key_;
  Charge sum_;
};

}  // namespace offcut::quota
