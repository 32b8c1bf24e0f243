#include "api/kueue_workload.h"

#include <string>
#include <utility>

namespace offcut::api {
namespace {

using nlohmann::json;

const json& MemberOf(const json& object, std::string_view key) {
  static const json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

std::string TextOf(const json& object, std::string_view key) {
  const json& value = MemberOf(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

bool HasCondition(const json& status, std::string_view type) {
  const json& conditions = MemberOf(status, "conditions");
  if (!conditions.is_array()) return false;
  for (const json& condition : conditions) {
    if (TextOf(condition, "type") == type) return TextOf(condition, "status") == "True";
  }
  return false;
}

}  // namespace

std::expected<KueueWorkload, Error> ParseKueueWorkload(const json& object) {
  KueueWorkload workload;
  const json& metadata = MemberOf(object, "metadata");
  workload.admission.name_space = TextOf(metadata, "namespace");
  workload.admission.workload = TextOf(metadata, "name");
  if (workload.admission.workload.empty() || workload.admission.name_space.empty()) {
    return std::unexpected(Error{ErrorKind::kBadRequest, "has no name, or no namespace"});
  }
  const json& owners = MemberOf(metadata, "ownerReferences");
  if (owners.is_array()) {
    for (const json& owner : owners) {
      std::string uid = TextOf(owner, "uid");
      if (!uid.empty()) workload.admission.owner_uids.push_back(std::move(uid));
    }
  }
  const json& status = MemberOf(object, "status");
  const std::string queue = TextOf(MemberOf(status, "admission"), "clusterQueue");
  workload.is_admitted = !queue.empty() && HasCondition(status, "Admitted") &&
                         !HasCondition(status, "Finished") && !HasCondition(status, "Evicted");
  if (workload.is_admitted) workload.admission.queue = queue;
  return workload;
}

}  // namespace offcut::api
