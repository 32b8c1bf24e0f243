#include "api/policy_resources.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/text_fields.h"

namespace offcut::api {
namespace {

// Kubernetes keeps "requests." + name in ResourceQuotas, which must be a qualified name too, so of
// the 253 bytes of a DNS subdomain nine are taken. Source: IsExtendedResourceName in
// k8s.io/kubernetes/pkg/apis/core/v1/helper.
constexpr std::size_t kMaxDomainBytes = 253 - std::string_view("requests.").size();

// Whether `text` is how an extended resource's name may begin, at least one byte past its '/'.
bool IsNamePrefix(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash > kMaxDomainBytes ||
      !IsDnsSubdomain(text.substr(0, slash)))
    return false;
  if (text.starts_with("requests.") || text.find("kubernetes.io/") != text.npos) return false;
  const std::string_view name = text.substr(slash + 1);
  return !name.empty() && name.size() <= kMaxNameBytes && IsAlphanumeric(name.front()) &&
         std::ranges::all_of(name, IsNameCharacter);
}

bool IsResourceName(std::string_view text) {
  return IsNamePrefix(text) && IsAlphanumeric(text.back());
}

// A prefix leaves one byte at least for what follows it.
bool IsMigPrefix(std::string_view text) {
  return IsNamePrefix(text) && text.size() - text.find('/') - 1 < kMaxNameBytes;
}

// A suffix leaves one byte at least for what stands before it.
bool IsNameSuffix(std::string_view text) {
  return !text.empty() && text.size() < kMaxNameBytes && IsAlphanumeric(text.back()) &&
         std::ranges::all_of(text, IsNameCharacter);
}

constexpr std::string_view kNameAllowed =
    "an extended resource name: domain/name, the name of at most 63 letters, digits, '-', '_' and "
    "'.', not under kubernetes.io";

void ReadName(const Value& value, const Place& place, ErrorList& errors, std::string& out) {
  const std::string* text = ReadString(value, place, errors);
  if (text == nullptr) return;
  if (!IsResourceName(*text)) return RefuseName(*text, place, kNameAllowed, errors);
  out = *text;
}

void ReadMigPrefix(const Value& value, const Place& place, ErrorList& errors, std::string& out) {
  const std::string* text = ReadString(value, place, errors);
  if (text == nullptr) return;
  if (!IsMigPrefix(*text)) {
    return RefuseName(*text, place,
                      "how an extended resource name begins, some of the name included: "
                      "\"nvidia.com/mig-\"",
                      errors);
  }
  out = *text;
}

void ReadSuffix(const Value& value, const Place& place, ErrorList& errors, std::string& out) {
  const std::string* text = ReadString(value, place, errors);
  if (text == nullptr) return;
  if (!IsNameSuffix(*text)) {
    return RefuseName(*text, place, "how an extended resource name ends: \".shared\"", errors);
  }
  out = *text;
}

bool RefusesCount(std::size_t count, const Place& place, ErrorList& errors) {
  if (count <= kMaxResourcesListed) return false;
  errors.Add(place, PolicyErrorCode::kTooLarge,
             "got " + std::to_string(count) + " resources, allowed " +
                 std::to_string(kMaxResourcesListed));
  return true;
}

void ReadIgnored(const Value& value, const Place& place, ErrorList& errors,
                 std::vector<std::string>& out) {
  const auto* list = std::get_if<List>(&value.content);
  if (list == nullptr) return RefuseType(value, place, "a list of strings", errors);
  if (RefusesCount(list->size(), place, errors)) return;
  out.clear();
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Value& item = (*list)[i];
    const Place item_place = ItemPlace(place, *list, i);
    std::string name;
    ReadName(item, item_place, errors, name);
    if (name.empty()) continue;
    if (std::ranges::find(out, name) != out.end()) {
      errors.Add(item_place, PolicyErrorCode::kNameConflict, Quoted(name) + " is listed twice");
      continue;
    }
    out.push_back(std::move(name));
  }
}

void ReadFailRequests(const Value& value, const Place& place, ErrorList& errors,
                      std::map<std::string, bool>& out) {
  const auto* object = std::get_if<Object>(&value.content);
  if (object == nullptr) {
    return RefuseType(value, place, "an object of resource names with true or false", errors);
  }
  if (RefusesCount(object->size(), place, errors)) return;
  for (const Member& member : *object) {
    const std::string pointer = ChildPointer(place.pointer, member.key);
    const auto fails = ReadBool(member.value, {member.value.position, pointer}, errors);
    if (!IsResourceName(member.key)) {
      RefuseName(member.key, {member.position, pointer}, kNameAllowed, errors);
    } else if (fails) {
      out.insert_or_assign(member.key, *fails);
    }
  }
}

// A resource as the policy names it: by its own field or, for the shared one, by two.
struct NamedResource {
  std::string_view field;
  std::string name;
};

// Whether two resources would be one. What is wrong is put where the text names one of the two: the
// defaults do not conflict.
void CheckNames(const scheduler::ResourceNames& names, const Value& section, const Place& place,
                ErrorList& errors) {
  const std::array<NamedResource, 5> resources = {
      NamedResource{"gpu", names.gpu},
      NamedResource{"sharedSuffix", names.gpu + names.shared_suffix},
      NamedResource{"gpuMemory", names.gpu_memory},
      NamedResource{"gpuMemoryPercent", names.gpu_memory_percent},
      NamedResource{"gpuCores", names.gpu_cores}};
  const auto place_of = [&](std::string_view field) -> std::optional<Place> {
    const Member* member = FindMember(std::get<Object>(section.content), field);
    if (member == nullptr) return std::nullopt;
    return Place{member->value.position, ChildPointer(place.pointer, field)};
  };
  const auto refuse = [&](std::string_view field, std::string_view other, std::string message) {
    const Place at = place_of(field).or_else([&] { return place_of(other); }).value_or(place);
    errors.Add(at, PolicyErrorCode::kNameConflict, std::move(message));
  };
  const auto profile = std::ranges::find_if(
      resources, [&](const NamedResource& r) { return r.name.starts_with(names.mig_prefix); });
  if (profile != resources.end()) {
    refuse(profile->field, "migPrefix",
           Quoted(profile->name) + " begins with migPrefix and would be a MIG profile");
  }
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const auto& [field, name] = resources[i];
    for (std::size_t j = 0; j < i; ++j) {
      if (resources[j].name != name) continue;
      refuse(field, resources[j].field,
             Quoted(name) + " is named by both " + std::string(resources[j].field) + " and " +
                 std::string(field));
    }
  }
  if (!IsResourceName(names.gpu + names.shared_suffix)) {
    refuse("sharedSuffix", "gpu", "gpu and sharedSuffix together make no extended resource name");
  }
}

// A setting for a resource that no pod may ask us for in slots would never be looked at.
void CheckFailRequests(const scheduler::ResourceNames& names, const Value& section,
                       const Place& place, ErrorList& errors) {
  const Member* field = FindMember(std::get<Object>(section.content), "failRequestsGreaterThanOne");
  if (field == nullptr) return;
  const std::string pointer = ChildPointer(place.pointer, field->key);
  const std::string shared = names.gpu + names.shared_suffix;
  for (const Member& member : std::get<Object>(field->value.content)) {
    const bool is_profile =
        member.key.size() > names.mig_prefix.size() && member.key.starts_with(names.mig_prefix);
    if (member.key == names.gpu || member.key == shared || is_profile) continue;
    errors.Add({member.position, ChildPointer(pointer, member.key)}, PolicyErrorCode::kUnknownValue,
               "got " + Quoted(member.key) + ", allowed " + Quoted(names.gpu) + ", " +
                   Quoted(shared) + " and names that begin with " + Quoted(names.mig_prefix));
  }
}

}  // namespace

void ReadResources(const Value& value, const Place& place, ErrorList& errors,
                   scheduler::ResourceNames& names) {
  const std::size_t errors_before = errors.size();
  bool names_ignored = false;
  const auto name_field = [&](std::string_view field, std::string& out) {
    return Field{field,
                 [&errors, &out](const Value& v, const Place& p) { ReadName(v, p, errors, out); }};
  };
  ReadFields(
      value, place, errors,
      {name_field("gpu", names.gpu),
       name_field("gpuMemory", names.gpu_memory),
       name_field("gpuMemoryPercent", names.gpu_memory_percent),
       name_field("gpuCores", names.gpu_cores),
       {"migPrefix",
        [&](const Value& v, const Place& p) { ReadMigPrefix(v, p, errors, names.mig_prefix); }},
       {"sharedSuffix",
        [&](const Value& v, const Place& p) { ReadSuffix(v, p, errors, names.shared_suffix); }},
       {"ignoredByScheduler",
        [&](const Value& v, const Place& p) {
          names_ignored = true;
          ReadIgnored(v, p, errors, names.ignored_by_scheduler);
        }},
       {"failRequestsGreaterThanOne", [&](const Value& v, const Place& p) {
          ReadFailRequests(v, p, errors, names.fail_requests_greater_than_one);
        }}});
  // Names that are wrong in themselves are still the defaults here, and would conflict with what
  // the operator has put in their places.
  if (errors.size() != errors_before) return;
  CheckNames(names, value, place, errors);
  CheckFailRequests(names, value, place, errors);
  // The default is "the fractions", whatever they are called.
  if (!names_ignored) {
    names.ignored_by_scheduler = {names.gpu_memory, names.gpu_memory_percent, names.gpu_cores};
  }
}

nlohmann::ordered_json ToJson(const scheduler::ResourceNames& names) {
  using Json = nlohmann::ordered_json;
  Json fails = Json::object();
  for (const auto& [name, value] : names.fail_requests_greater_than_one) fails[name] = value;
  Json resources;
  resources["gpu"] = names.gpu;
  resources["migPrefix"] = names.mig_prefix;
  resources["sharedSuffix"] = names.shared_suffix;
  resources["gpuMemory"] = names.gpu_memory;
  resources["gpuMemoryPercent"] = names.gpu_memory_percent;
  resources["gpuCores"] = names.gpu_cores;
  resources["ignoredByScheduler"] = names.ignored_by_scheduler;
  resources["failRequestsGreaterThanOne"] = std::move(fails);
  return resources;
}

}  // namespace offcut::api
