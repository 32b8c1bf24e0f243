// A Lease of coordination.k8s.io as leader election reads and writes it. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace offcut::api {

// What of a Lease decides. Equal records: nobody has written between.
struct LeaseRecord {
  std::string holder;  // empty: released
  std::chrono::seconds duration{0};
  std::string renew_time;  // compared for equality alone: clocks differ
  std::string acquire_time;
  int transitions = 0;
  bool operator==(const LeaseRecord&) const = default;
};

// nullopt: the object is no Lease.
std::optional<LeaseRecord> ReadLease(const nlohmann::json& object);

// `lease` with that record in place of its own; members that we do not know stay.
nlohmann::json WithRecord(nlohmann::json lease, const LeaseRecord& record);

// A new Lease.
nlohmann::json NewLease(std::string_view name_space, std::string_view name,
                        const LeaseRecord& record);

}  // namespace offcut::api
