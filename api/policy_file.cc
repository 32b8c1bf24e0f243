#include "api/policy_file.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "api/closest_word.h"
#include "api/document.h"
#include "api/quantity.h"
#include "binpack/strategy.h"

namespace offcut::api {
namespace {

// One spelling for reading and printing.
template <typename Enum>
struct EnumName {
  std::string_view name;
  Enum value;
};
constexpr std::array kRefusals = {
    EnumName<scheduler::Refusals>{"unresolvable", scheduler::Refusals::kUnresolvable},
    EnumName<scheduler::Refusals>{"preemptable", scheduler::Refusals::kPreemptable}};
constexpr std::array kScores = {
    EnumName<scheduler::Scores>{"strict", scheduler::Scores::kStrict},
    EnumName<scheduler::Scores>{"proportional", scheduler::Scores::kProportional}};
constexpr std::array kTies = {EnumName<scheduler::Ties>{"strict", scheduler::Ties::kStrict},
                              EnumName<scheduler::Ties>{"name", scheduler::Ties::kName}};

// Fields whose names are settled and whose meaning comes with a later version.
constexpr std::array<std::string_view, 6> kUnsupportedFields = {
    "/isolation", "/pools", "/tenants", "/tenantSource", "/preemption", "/reclaim"};

constexpr std::size_t kMaxNameBytes = 63;
// Kubernetes keeps "requests." + name in ResourceQuotas, which must be a qualified name too, so of
// the 253 bytes of a DNS subdomain nine are taken. Source: IsExtendedResourceName in
// k8s.io/kubernetes/pkg/apis/core/v1/helper.
constexpr std::size_t kMaxDomainBytes = 253 - std::string_view("requests.").size();

// Where a value stands.
struct Place {
  Position position;
  std::string pointer;
};

class ErrorList {
 public:
  explicit ErrorList(std::string_view file) : file_(file) {}

  void Add(const Place& place, PolicyErrorCode code, std::string message,
           std::string_view suggestion = {}) {
    if (errors_.size() > kMaxPolicyErrors) return;
    const bool is_last = errors_.size() == kMaxPolicyErrors;
    errors_.push_back({.file = file_,
                       .line = place.position.line,
                       .column = place.position.column,
                       .pointer = place.pointer,
                       .code = is_last ? PolicyErrorCode::kTooManyErrors : code,
                       .message = is_last ? "further errors are not shown" : std::move(message),
                       .suggestion = is_last ? "" : std::string(suggestion)});
  }

  std::size_t size() const { return errors_.size(); }

  std::vector<PolicyError> InOrderOfText() && {
    // The one that says that there are more stays last.
    const auto end = errors_.size() > kMaxPolicyErrors ? errors_.end() - 1 : errors_.end();
    std::stable_sort(errors_.begin(), end, [](const PolicyError& a, const PolicyError& b) {
      return std::pair(a.line, a.column) < std::pair(b.line, b.column);
    });
    return std::move(errors_);
  }

 private:
  std::string file_;
  std::vector<PolicyError> errors_;
};

std::string Describe(const Value& value) {
  struct Describer {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool boolean) const { return boolean ? "true" : "false"; }
    std::string operator()(std::int64_t integer) const {
      return "the number " + std::to_string(integer);
    }
    std::string operator()(double number) const {
      return "the number " + nlohmann::json(number).dump();
    }
    std::string operator()(const std::string& text) const { return "the string " + Quoted(text); }
    std::string operator()(const List& /*list*/) const { return "a list"; }
    std::string operator()(const Object& /*object*/) const { return "an object"; }
  };
  return std::visit(Describer{}, value.content);
}

void RefuseType(const Value& value, const Place& place, std::string_view allowed,
                ErrorList& errors) {
  errors.Add(place, PolicyErrorCode::kWrongType,
             "got " + Describe(value) + ", allowed " + std::string(allowed));
}

// Returns the text of a string value, or nullptr and an error.
const std::string* ReadString(const Value& value, const Place& place, ErrorList& errors) {
  const auto* text = std::get_if<std::string>(&value.content);
  if (text == nullptr) RefuseType(value, place, "a string", errors);
  return text;
}

std::optional<bool> ReadBool(const Value& value, const Place& place, ErrorList& errors) {
  if (const auto* boolean = std::get_if<bool>(&value.content)) return *boolean;
  RefuseType(value, place, "true or false", errors);
  return std::nullopt;
}

struct Range {
  int min = 0;
  int max = 0;
};

// As JSON Schema has it, 1.0 is an integer.
std::optional<int> ReadInteger(const Value& value, const Place& place, Range range,
                               ErrorList& errors) {
  const std::string allowed =
      "an integer from " + std::to_string(range.min) + " to " + std::to_string(range.max);
  double number = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value.content)) {
    number = static_cast<double>(*integer);
  } else if (const auto* real = std::get_if<double>(&value.content);
             real != nullptr && *real == std::trunc(*real)) {
    number = *real;
  } else {
    RefuseType(value, place, allowed, errors);
    return std::nullopt;
  }
  if (number < range.min || number > range.max) {
    errors.Add(place, PolicyErrorCode::kOutOfRange,
               "got " + Describe(value) + ", allowed " + allowed);
    return std::nullopt;
  }
  return static_cast<int>(number);
}

// Returns the string, if it is one of `allowed`.
const std::string* ReadOneOf(const Value& value, const Place& place,
                             std::span<const std::string_view> allowed, ErrorList& errors) {
  std::string list;
  for (const std::string_view word : allowed) {
    if (!list.empty()) list += word == allowed.back() ? " or " : ", ";
    list += Quoted(word);
  }
  const auto* text = std::get_if<std::string>(&value.content);
  if (text == nullptr) {
    RefuseType(value, place, list, errors);
    return nullptr;
  }
  if (std::ranges::find(allowed, *text) != allowed.end()) return text;
  errors.Add(place, PolicyErrorCode::kUnknownValue, "got " + Describe(value) + ", allowed " + list,
             ClosestWord(*text, allowed));
  return nullptr;
}

template <typename Enum, std::size_t kCount>
void ReadEnum(const Value& value, const Place& place,
              const std::array<EnumName<Enum>, kCount>& names, ErrorList& errors, Enum& out) {
  std::array<std::string_view, kCount> allowed;
  std::ranges::transform(names, allowed.begin(), &EnumName<Enum>::name);
  const std::string* text = ReadOneOf(value, place, allowed, errors);
  if (text != nullptr) out = std::ranges::find(names, *text, &EnumName<Enum>::name)->value;
}

template <typename Enum, std::size_t kCount>
std::string_view NameOf(Enum value, const std::array<EnumName<Enum>, kCount>& names) {
  const auto* found = std::ranges::find(names, value, &EnumName<Enum>::value);
  assert(found != names.end());
  return found->name;
}

struct Field {
  std::string_view name;
  std::function<void(const Value&, const Place&)> read;
};

void RefuseField(const Member& member, const Place& place, std::span<const Field> fields,
                 ErrorList& errors) {
  if (std::ranges::find(kUnsupportedFields, place.pointer) != kUnsupportedFields.end()) {
    errors.Add(place, PolicyErrorCode::kUnsupportedField, "is not supported by this version");
    return;
  }
  std::vector<std::string_view> names;
  for (const Field& field : fields) names.push_back(field.name);
  errors.Add(place, PolicyErrorCode::kUnknownField, "there is no such field",
             ClosestWord(member.key, names));
}

// Reads each member of an object with the field of its name. An unknown field's place is its key's,
// a known one's is its value's.
void ReadFields(const Value& value, const Place& place, ErrorList& errors,
                std::initializer_list<Field> fields) {
  const auto* object = std::get_if<Object>(&value.content);
  if (object == nullptr) {
    RefuseType(value, place, "an object", errors);
    return;
  }
  for (const Member& member : *object) {
    const std::string pointer = ChildPointer(place.pointer, member.key);
    const auto* field = std::ranges::find(fields, member.key, &Field::name);
    if (field == fields.end()) {
      RefuseField(member, {member.position, pointer}, fields, errors);
    } else {
      field->read(member.value, {member.value.position, pointer});
    }
  }
}

bool IsAlphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool IsNameCharacter(char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; }

// Labels of lower case letters, digits and inner dashes between full stops (RFC 1123).
bool IsDomain(std::string_view domain) {
  if (domain.empty() || domain.size() > kMaxDomainBytes) return false;
  const auto is_inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  while (true) {
    const std::string_view label = domain.substr(0, domain.find('.'));
    if (label.empty() || label.front() == '-' || label.back() == '-') return false;
    if (!std::ranges::all_of(label, is_inner)) return false;
    if (label.size() == domain.size()) return true;
    domain.remove_prefix(label.size() + 1);
  }
}

// Whether `text` is how an extended resource's name may begin, at least one byte past its '/'.
bool IsNamePrefix(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || !IsDomain(text.substr(0, slash))) return false;
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

void RefuseName(std::string_view name, const Place& place, std::string_view allowed,
                ErrorList& errors) {
  errors.Add(place, PolicyErrorCode::kInvalidName,
             "got " + Quoted(name) + ", allowed " + std::string(allowed));
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
    const Place item_place{item.position, ChildPointer(place.pointer, std::to_string(i))};
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
    const auto& object = std::get<Object>(section.content);
    const auto member = std::ranges::find(object, field, &Member::key);
    if (member == object.end()) return std::nullopt;
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
  const auto& fields = std::get<Object>(section.content);
  const auto field = std::ranges::find(fields, "failRequestsGreaterThanOne", &Member::key);
  if (field == fields.end()) return;
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

void ReadWeights(const Value& value, const Place& place, ErrorList& errors,
                 binpack::CostWeights& weights) {
  const auto weight_field = [&](std::string_view field, int& out) {
    return Field{field, [&errors, &out](const Value& v, const Place& p) {
                   const auto weight = ReadInteger(v, p, {0, kMaxPackingWeight}, errors);
                   if (weight) out = *weight;
                 }};
  };
  ReadFields(value, place, errors,
             {weight_field("gpu", weights.gpu), weight_field("cpu", weights.cpu)});
  if (weights.gpu == 0 && weights.cpu == 0) {
    errors.Add(place, PolicyErrorCode::kOutOfRange, "got 0 for both weights, allowed 0 for one");
  }
}

// "4", "500m", "1.5", or a number of CPUs.
void ReadCpu(const Value& value, const Place& place, ErrorList& errors, std::int64_t& cpu_milli) {
  constexpr std::string_view allowed = "CPUs from 0 to 10000, such as 4, \"1.5\" or \"500m\"";
  double milli = -1;
  if (const auto* integer = std::get_if<std::int64_t>(&value.content)) {
    milli = 1000.0 * static_cast<double>(*integer);
  } else if (const auto* real = std::get_if<double>(&value.content)) {
    milli = std::ceil(1000 * *real);
  } else if (const auto* text = std::get_if<std::string>(&value.content)) {
    const auto quantity = ParseQuantity(*text);
    if (quantity && text->find_first_not_of("0123456789.m") == std::string::npos) {
      milli = static_cast<double>(quantity->milli);
    }
  } else {
    return RefuseType(value, place, allowed, errors);
  }
  if (milli < 0 || milli > static_cast<double>(kMaxClassCpuMilli)) {
    errors.Add(place, PolicyErrorCode::kOutOfRange,
               "got " + Describe(value) + ", allowed " + std::string(allowed));
    return;
  }
  cpu_milli = static_cast<std::int64_t>(milli);
}

void ReadModels(const Value& value, const Place& place, ErrorList& errors,
                std::vector<std::string>& models) {
  const auto* list = std::get_if<List>(&value.content);
  if (list == nullptr) return RefuseType(value, place, "a list of strings", errors);
  if (list->size() > kMaxClassModels) {
    errors.Add(place, PolicyErrorCode::kTooLarge,
               "got " + std::to_string(list->size()) + " models, allowed " +
                   std::to_string(kMaxClassModels));
    return;
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Place item{(*list)[i].position, ChildPointer(place.pointer, std::to_string(i))};
    const std::string* model = ReadString((*list)[i], item, errors);
    if (model == nullptr) continue;
    if (model->empty() || model->size() > kMaxNameBytes) {
      RefuseName(*model, item, "1 to 63 bytes, in which * matches any text", errors);
      continue;
    }
    models.push_back(*model);
  }
}

// The fields of a class as they stand.
struct ClassFields {
  std::optional<int> weight;
  std::optional<int> gpus;
  std::optional<int> memory_percent;
  std::optional<int> slots;
  std::optional<int> instances;
  std::string profile;
  std::int64_t cpu_milli = 0;
  std::vector<std::string> models;
};

// Which of gpus, slots and migProfile it is. What has gone wrong with one field is told by then.
binpack::WorkloadClass ClassOf(ClassFields fields) {
  binpack::WorkloadClass result{.request = {.cpu_milli = fields.cpu_milli},
                                .count = fields.weight.value_or(1)};
  binpack::ExpectedRequest& request = result.request;
  request.models = std::move(fields.models);
  if (!fields.profile.empty()) {
    request.kind = binpack::DemandKind::kInstance;
    request.gpus = fields.instances.value_or(1);
    request.profile = std::move(fields.profile);
  } else if (fields.slots) {
    request.kind = binpack::DemandKind::kSlot;
    request.gpus = *fields.slots;
  } else {
    request.kind = binpack::DemandKind::kShare;
    request.gpus = fields.gpus.value_or(1);
    request.share_units = binpack::kGpuUnits / 100 * fields.memory_percent.value_or(100);
  }
  return result;
}

// Whether the text has exactly one of the fields that say what is asked for, and what goes with it.
void CheckClass(const Value& value, const Place& place, ErrorList& errors) {
  const auto& object = std::get<Object>(value.content);
  const auto has = [&](std::string_view field) {
    return std::ranges::find(object, field, &Member::key) != object.end();
  };
  const int kinds = int{has("gpus")} + int{has("slots")} + int{has("migProfile")};
  if (kinds != 1) {
    errors.Add(place, kinds == 0 ? PolicyErrorCode::kMissingField : PolicyErrorCode::kConflict,
               "must have one of gpus, slots and migProfile");
  }
  for (const auto& [field, owner] :
       {std::pair("memoryPercent", "gpus"), std::pair("instances", "migProfile")}) {
    const auto member = std::ranges::find(object, field, &Member::key);
    if (member == object.end() || has(owner)) continue;
    errors.Add({member->position, ChildPointer(place.pointer, field)}, PolicyErrorCode::kConflict,
               "goes with " + std::string(owner) + " alone");
  }
  if (!has("weight")) {
    errors.Add({place.position, ChildPointer(place.pointer, "weight")},
               PolicyErrorCode::kMissingField, "must be there");
  }
}

std::optional<binpack::WorkloadClass> ReadClass(const Value& value, const Place& place,
                                                ErrorList& errors) {
  ClassFields fields;
  const auto integer = [&errors](std::string_view name, Range range, std::optional<int>& out) {
    return Field{name, [&errors, &out, range](const Value& v, const Place& p) {
                   out = ReadInteger(v, p, range, errors);
                 }};
  };
  ReadFields(
      value, place, errors,
      {integer("weight", {1, kMaxClassWeight}, fields.weight),
       integer("gpus", {1, kMaxClassGpus}, fields.gpus),
       integer("memoryPercent", {1, 100}, fields.memory_percent),
       integer("slots", {1, kMaxClassGpus}, fields.slots),
       integer("instances", {1, kMaxClassGpus}, fields.instances),
       {"migProfile",
        [&](const Value& v, const Place& p) {
          const std::string* profile = ReadString(v, p, errors);
          if (profile == nullptr) return;
          if (profile->empty() || profile->size() > kMaxNameBytes) {
            return RefuseName(*profile, p, "a MIG profile: \"1g.10gb\"", errors);
          }
          fields.profile = *profile;
        }},
       {"cpu", [&](const Value& v, const Place& p) { ReadCpu(v, p, errors, fields.cpu_milli); }},
       {"models",
        [&](const Value& v, const Place& p) { ReadModels(v, p, errors, fields.models); }}});
  if (!std::holds_alternative<Object>(value.content)) return std::nullopt;
  CheckClass(value, place, errors);
  return ClassOf(std::move(fields));
}

void ReadTargetWorkload(const Value& value, const Place& place, ErrorList& errors,
                        std::optional<binpack::TargetWorkload>& out) {
  const auto* list = std::get_if<List>(&value.content);
  if (list == nullptr) return RefuseType(value, place, "a list of classes", errors);
  if (list->empty() || list->size() > kMaxWorkloadClasses) {
    errors.Add(place, list->empty() ? PolicyErrorCode::kOutOfRange : PolicyErrorCode::kTooLarge,
               "got " + std::to_string(list->size()) + " classes, allowed 1 to " +
                   std::to_string(kMaxWorkloadClasses));
    return;
  }
  std::vector<binpack::WorkloadClass> classes;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Value& item = (*list)[i];
    const Place item_place{item.position, ChildPointer(place.pointer, std::to_string(i))};
    if (auto each = ReadClass(item, item_place, errors)) classes.push_back(*std::move(each));
  }
  out = binpack::DeriveBroadWorkload(classes);
}

void ReadPacking(const Value& value, const Place& place,
                 std::span<const std::string_view> strategies, ErrorList& errors,
                 scheduler::Policy& policy) {
  std::string strategy(policy.packing->strategy->name);
  binpack::CostWeights weights = policy.packing->weights;
  ReadFields(
      value, place, errors,
      {{"strategy",
        [&](const Value& v, const Place& p) {
          const std::string* name = ReadOneOf(v, p, strategies, errors);
          if (name != nullptr) strategy = *name;
        }},
       {"scores",
        [&](const Value& v, const Place& p) { ReadEnum(v, p, kScores, errors, policy.scores); }},
       {"ties",
        [&](const Value& v, const Place& p) {
          scheduler::Ties ties = scheduler::Ties::kStrict;
          ReadEnum(v, p, kTies, errors, ties);
          policy.ties = ties;
        }},
       {"targetWorkload",
        [&](const Value& v, const Place& p) {
          ReadTargetWorkload(v, p, errors, policy.target_workload);
        }},
       {"weights", [&](const Value& v, const Place& p) { ReadWeights(v, p, errors, weights); }}});
  if (auto packing = binpack::PreparePacking(strategy, weights)) policy.packing = packing;
}

scheduler::Policy ReadRoot(const Value& root, std::span<const std::string_view> strategies,
                           ErrorList& errors) {
  scheduler::Policy policy;
  const auto constant_field = [&](std::string_view field, const std::string_view& allowed) {
    return Field{field, [&errors, &allowed](const Value& v, const Place& p) {
                   ReadOneOf(v, p, std::span(&allowed, 1), errors);
                 }};
  };
  const Place place{root.position, ""};
  ReadFields(root, place, errors,
             {{"$schema", [&](const Value& v, const Place& p) { ReadString(v, p, errors); }},
              constant_field("apiVersion", kPolicyApiVersion),
              constant_field("kind", kPolicyKind),
              {"scheduler",
               [&](const Value& v, const Place& p) {
                 ReadFields(v, p, errors, {{"refusals", [&](const Value& w, const Place& q) {
                                              ReadEnum(w, q, kRefusals, errors, policy.refusals);
                                            }}});
               }},
              {"packing", [&](const Value& v,
                              const Place& p) { ReadPacking(v, p, strategies, errors, policy); }},
              {"resources", [&](const Value& v, const Place& p) {
                 ReadResources(v, p, errors, policy.resources);
               }}});
  const auto* object = std::get_if<Object>(&root.content);
  if (object == nullptr) return policy;
  for (const auto& [field, constant] :
       {std::pair("apiVersion", kPolicyApiVersion), std::pair("kind", kPolicyKind)}) {
    if (std::ranges::find(*object, field, &Member::key) != object->end()) continue;
    errors.Add({root.position, ChildPointer("", field)}, PolicyErrorCode::kMissingField,
               "must be there and be " + Quoted(constant));
  }
  return policy;
}

}  // namespace

std::string_view CodeText(PolicyErrorCode code) {
  switch (code) {
    case PolicyErrorCode::kSyntax:
      return "syntax";
    case PolicyErrorCode::kTooLarge:
      return "too-large";
    case PolicyErrorCode::kDuplicateField:
      return "duplicate-field";
    case PolicyErrorCode::kUnknownField:
      return "unknown-field";
    case PolicyErrorCode::kUnsupportedField:
      return "unsupported-field";
    case PolicyErrorCode::kMissingField:
      return "missing-field";
    case PolicyErrorCode::kWrongType:
      return "wrong-type";
    case PolicyErrorCode::kUnknownValue:
      return "unknown-value";
    case PolicyErrorCode::kOutOfRange:
      return "out-of-range";
    case PolicyErrorCode::kInvalidName:
      return "invalid-name";
    case PolicyErrorCode::kNameConflict:
      return "name-conflict";
    case PolicyErrorCode::kConflict:
      return "conflict";
    case PolicyErrorCode::kTooManyErrors:
      return "too-many-errors";
  }
  assert(false && "a code without a text");
  return "";
}

std::expected<scheduler::Policy, std::vector<PolicyError>> ReadPolicy(
    std::string_view text, std::string_view file, std::span<const std::string_view> strategies) {
  ErrorList errors(file);
  const auto document = ReadDocument(text);
  if (!document) {
    const DocumentError& error = document.error();
    errors.Add(
        {error.position, error.pointer},
        error.kind == ErrorKind::kTooLarge ? PolicyErrorCode::kTooLarge : PolicyErrorCode::kSyntax,
        error.message);
    return std::unexpected(std::move(errors).InOrderOfText());
  }
  for (const DocumentError& error : document->duplicate_keys) {
    errors.Add({error.position, error.pointer}, PolicyErrorCode::kDuplicateField, error.message);
  }
  scheduler::Policy policy = ReadRoot(document->root, strategies, errors);
  if (errors.size() > 0) return std::unexpected(std::move(errors).InOrderOfText());
  return policy;
}

namespace {

nlohmann::ordered_json ToJson(const binpack::WorkloadClass& each) {
  const binpack::ExpectedRequest& request = each.request;
  nlohmann::ordered_json json;
  json["weight"] = each.count;
  json["cpu"] = std::to_string(request.cpu_milli) + "m";
  switch (request.kind) {
    case binpack::DemandKind::kHostOnly:
      break;
    case binpack::DemandKind::kShare:
      json["gpus"] = request.gpus;
      json["memoryPercent"] =
          (100 * request.share_units + binpack::kGpuUnits - 1) / binpack::kGpuUnits;
      break;
    case binpack::DemandKind::kSlot:
      json["slots"] = request.gpus;
      break;
    case binpack::DemandKind::kInstance:
      json["migProfile"] = request.profile;
      json["instances"] = request.gpus;
      break;
  }
  if (!request.models.empty()) json["models"] = request.models;
  return json;
}

}  // namespace

nlohmann::ordered_json ToJson(const binpack::TargetWorkload& workload) {
  auto classes = nlohmann::ordered_json::array();
  for (const binpack::WorkloadClass& each : workload.classes) classes.push_back(ToJson(each));
  return classes;
}

std::string PrintPolicy(const scheduler::Policy& policy) {
  using Json = nlohmann::ordered_json;
  const scheduler::ResourceNames& names = policy.resources;
  Json fails = Json::object();
  for (const auto& [name, value] : names.fail_requests_greater_than_one) fails[name] = value;
  Json out;
  out["apiVersion"] = kPolicyApiVersion;
  out["kind"] = kPolicyKind;
  out["scheduler"]["refusals"] = NameOf(policy.refusals, kRefusals);
  Json& packing = out["packing"];
  packing["strategy"] = policy.packing->strategy->name;
  packing["scores"] = NameOf(policy.scores, kScores);
  packing["ties"] = NameOf(TiesOf(policy), kTies);
  if (policy.target_workload) packing["targetWorkload"] = ToJson(*policy.target_workload);
  packing["weights"]["gpu"] = policy.packing->weights.gpu;
  packing["weights"]["cpu"] = policy.packing->weights.cpu;
  Json& resources = out["resources"];
  resources["gpu"] = names.gpu;
  resources["migPrefix"] = names.mig_prefix;
  resources["sharedSuffix"] = names.shared_suffix;
  resources["gpuMemory"] = names.gpu_memory;
  resources["gpuMemoryPercent"] = names.gpu_memory_percent;
  resources["gpuCores"] = names.gpu_cores;
  resources["ignoredByScheduler"] = names.ignored_by_scheduler;
  resources["failRequestsGreaterThanOne"] = std::move(fails);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace offcut::api
