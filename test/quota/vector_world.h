// The tenants that a vector describes in Kueue's words, as a tree and a ledger of ours.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "quota/ledger.h"

namespace offcut::quota {

// A decimal number as an integer of 10^-places, rounded where it has more. Throws
// std::runtime_error where that is beyond the integers.
std::int64_t ScaledNumber(const nlohmann::json& number, int places);
// How many places its shortest text has.
int PlacesOf(const nlohmann::json& number);

// Tenants with Kueue's nominal quotas; `Tree` turns them into guarantees of whole subtrees.
class KueueWorld {
 public:
  // `parent` empty: none. `is_queue`: it has every cell of the world, with 0 where nothing is said,
  // as Kueue's functions count for a ClusterQueue.
  void AddTenant(const std::string& name, const std::string& parent, std::int64_t weight_micro,
                 bool is_queue);
  void AddQuota(const std::string& tenant, QuotaSpec nominal);

  // From "queues" and "cohorts".
  static KueueWorld Read(const nlohmann::json& vector);

  // Throws std::runtime_error with the faults.
  std::shared_ptr<const TenantTree> Tree() const;

 private:
  TenantSpec& Find(std::string_view name);

  std::vector<TenantSpec> tenants_;  // guarantees are nominal
  std::vector<std::string> queues_;
};

// [{flavor, resource, amount}].
Charge ReadCharge(const TenantTree& tree, const nlohmann::json& amounts);

// That tenant and cell. Throws std::runtime_error where there is none.
int TenantNamed(const TenantTree& tree, std::string_view name);
int CellNamed(const TenantTree& tree, std::string_view pool, std::string_view resource);

}  // namespace offcut::quota
