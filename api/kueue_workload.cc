#include "api/kueue_workload.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "api/json_members.h"

namespace offcut::api {
namespace {

using nlohmann::json;

std::int64_t PodsIn(const json& object) {
  const json& count = MemberOf(object, "count");
  if (!count.is_number_integer()) return 0;
  return std::clamp<std::int64_t>(count.get<std::int64_t>(), 0, kPodSetPodsMax);
}

// The element of that name; null: there is none.
const json& NamedIn(const json& list, const std::string& name) {
  static const json nothing;
  if (!list.is_array()) return nothing;
  const auto found = std::ranges::find_if(
      list, [&](const json& element) { return TextOf(element, "name") == name; });
  return found == list.end() ? nothing : *found;
}

// What is charged now: as many as were admitted (where the assignment does not say, as many as were
// asked for), less those that have ended and been given back.
std::int64_t ChargedPods(const json& spec, const json& status) {
  const json& assignments = MemberOf(MemberOf(status, "admission"), "podSetAssignments");
  if (!assignments.is_array()) return 0;
  std::int64_t pods = 0;
  for (const json& assignment : assignments) {
    const std::string name = TextOf(assignment, "name");
    const bool is_said = assignment.is_object() && assignment.contains("count");
    const std::int64_t admitted =
        PodsIn(is_said ? assignment : NamedIn(MemberOf(spec, "podSets"), name));
    const std::int64_t given_back = PodsIn(NamedIn(MemberOf(status, "reclaimablePods"), name));
    pods += std::max<std::int64_t>(0, admitted - given_back);
  }
  return pods;
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
  if (!workload.is_admitted) return workload;
  workload.admission.queue = queue;
  workload.admission.pods = ChargedPods(MemberOf(object, "spec"), status);
  return workload;
}

}  // namespace offcut::api
