#include "api/lease.h"

#include <utility>

namespace offcut::api {
namespace {

std::string TextOf(const nlohmann::json& spec, const char* key) {
  const auto value = spec.find(key);
  return value != spec.end() && value->is_string() ? value->get<std::string>() : "";
}

int NumberOf(const nlohmann::json& spec, const char* key) {
  const auto value = spec.find(key);
  return value != spec.end() && value->is_number_integer() ? value->get<int>() : 0;
}

}  // namespace

std::optional<LeaseRecord> ReadLease(const nlohmann::json& object) {
  if (!object.is_object() || !object.contains("metadata")) return std::nullopt;
  const auto spec = object.value("spec", nlohmann::json::object());
  if (!spec.is_object()) return std::nullopt;
  return LeaseRecord{.holder = TextOf(spec, "holderIdentity"),
                     .duration = std::chrono::seconds(NumberOf(spec, "leaseDurationSeconds")),
                     .renew_time = TextOf(spec, "renewTime"),
                     .acquire_time = TextOf(spec, "acquireTime"),
                     .transitions = NumberOf(spec, "leaseTransitions")};
}

nlohmann::json WithRecord(nlohmann::json lease, const LeaseRecord& record) {
  nlohmann::json& spec = lease["spec"];
  spec["holderIdentity"] = record.holder;
  spec["leaseDurationSeconds"] = record.duration.count();
  spec["renewTime"] = record.renew_time;
  spec["acquireTime"] = record.acquire_time;
  spec["leaseTransitions"] = record.transitions;
  return lease;
}

nlohmann::json NewLease(std::string_view name_space, std::string_view name,
                        const LeaseRecord& record) {
  return WithRecord({{"apiVersion", "coordination.k8s.io/v1"},
                     {"kind", "Lease"},
                     {"metadata", {{"name", name}, {"namespace", name_space}}}},
                    record);
}

}  // namespace offcut::api
