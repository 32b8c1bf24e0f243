#include "api/policy_workload.h"

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/quantity.h"

namespace offcut::api {
namespace {

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
  const auto has = [&](std::string_view field) { return FindMember(object, field) != nullptr; };
  const int kinds = int{has("gpus")} + int{has("slots")} + int{has("migProfile")};
  if (kinds != 1) {
    errors.Add(place, kinds == 0 ? PolicyErrorCode::kMissingField : PolicyErrorCode::kConflict,
               "must have one of gpus, slots and migProfile");
  }
  for (const auto& [field, owner] :
       {std::pair("memoryPercent", "gpus"), std::pair("instances", "migProfile")}) {
    const Member* member = FindMember(object, field);
    if (member == nullptr || has(owner)) continue;
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
       {"models", [&](const Value& v, const Place& p) {
          ReadModels(v, p, kMaxClassModels, errors, fields.models);
        }}});
  if (!std::holds_alternative<Object>(value.content)) return std::nullopt;
  CheckClass(value, place, errors);
  return ClassOf(std::move(fields));
}

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
    auto each = ReadClass((*list)[i], ItemPlace(place, *list, i), errors);
    if (each) classes.push_back(*std::move(each));
  }
  out = binpack::DeriveBroadWorkload(classes);
}

nlohmann::ordered_json ToJson(const binpack::TargetWorkload& workload) {
  auto classes = nlohmann::ordered_json::array();
  for (const binpack::WorkloadClass& each : workload.classes) classes.push_back(ToJson(each));
  return classes;
}

}  // namespace offcut::api
