#include "api/device_record_json.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/json_object.h"
#include "api/json_words.h"
#include "api/recorded_device_json.h"
#include "api/text_fields.h"

namespace offcut::api {
namespace {

using binpack::PieceKind;
using scheduler::Certainty;
using scheduler::DeviceRecord;
using scheduler::RecordedDevice;

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();

constexpr std::array kCertaintyWords = {
    Word<Certainty>{Certainty::kAssumed, "assumed"},
    Word<Certainty>{Certainty::kObserved, "observed"},
    Word<Certainty>{Certainty::kExact, "exact"},
};

nlohmann::ordered_json ChargeJson(const quota::Amount& charge) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (charge.devices != 0) json["devices"] = charge.devices;
  if (charge.memory_mib != 0) json["memoryMiB"] = charge.memory_mib;
  if (charge.cores_permille != 0) json["coresPermille"] = charge.cores_permille;
  for (const auto& [profile, count] : charge.instances) json["instances"][profile] = count;
  return json;
}

quota::Amount ReadCharge(const JsonObject& object) {
  quota::Amount charge{.devices = object.Int("devices", 0, 0, kInt64Max),
                       .memory_mib = object.Int("memoryMiB", 0, 0, kInt64Max),
                       .cores_permille = object.Int("coresPermille", 0, 0, kInt64Max),
                       .instances = {}};
  object.Object("instances")
      .ForEachEntry([&](std::string_view profile, JsonElement value, const JsonPath& path) {
        std::int64_t count = 0;
        if (value.get(count) != simdjson::SUCCESS || count <= 0) {
          object.Errors().Add(path, "must be a positive integer");
        } else {
          charge.instances.emplace(profile, count);
        }
      });
  return charge;
}

std::string RequiredString(const JsonObject& object, std::string_view key) {
  const std::string_view text = object.String(key);
  if (text.empty()) object.AddError(key, "is missing");
  return std::string(text);
}

DeviceRecord ReadRecord(const JsonObject& object) {
  DeviceRecord record;
  if (object.Int("version", 0, 0, kInt64Max) != kDeviceRecordVersion) {
    object.AddError("version", "is not one that this program knows");
  }
  record.pod_uid = RequiredString(object, "podUID");
  record.node = RequiredString(object, "node");
  record.agent = RequiredString(object, "agent");
  record.certainty = ReadWord<Certainty>(object, "certainty", kCertaintyWords);
  record.tenant = object.String("tenant");
  record.workload = object.String("workload");
  record.charge = ReadCharge(object.Object("charge"));
  if (!object.Has("devices")) object.AddError("devices", "is missing");
  object.ForEach("devices", kRecordedDevicesMax, [&](const JsonObject& device) {
    if (!device.IsPresent()) device.Errors().Add(device.Path(), "must be an object");
    record.devices.push_back(ReadRecordedDevice(device));
  });
  return record;
}

// One device of HAMi: "uuid,vendor,MiB,cores" and whatever later versions append.
std::optional<RecordedDevice> ParseHamiDevice(std::string_view text) {
  const std::vector<std::string_view> fields = SplitFields(text, ',');
  if (fields.size() < 4 || fields[0].empty()) return std::nullopt;
  const std::optional<int> memory_mib = ParseField(fields[2], kMemoryMibMax);
  const std::optional<int> cores_percent = ParseField(fields[3], kCoresPercentMax);
  if (!memory_mib || !cores_percent) return std::nullopt;
  return RecordedDevice{.uuid = std::string(fields[0]),
                        .kind = PieceKind::kFraction,
                        .memory_mib = *memory_mib,
                        .cores_percent = *cores_percent};
}

using DevicesByEntry = std::vector<std::vector<RecordedDevice>>;

// Entries end with ';', devices within one with ':'.
std::expected<DevicesByEntry, Error> ParseHamiDevices(std::string_view text) {
  DevicesByEntry entries;
  std::vector<std::string_view> texts = SplitFields(text, ';');
  if (texts.back().empty()) texts.pop_back();
  std::size_t device_count = 0;
  for (const std::string_view entry_text : texts) {
    std::vector<RecordedDevice>& entry = entries.emplace_back();
    for (const std::string_view device_text : SplitFields(entry_text, ':')) {
      if (device_text.empty()) continue;
      std::optional<RecordedDevice> device = ParseHamiDevice(device_text);
      if (!device) {
        return std::unexpected(Error{ErrorKind::kBadRequest,
                                     "\"" + std::string(device_text) + "\" is no HAMi device"});
      }
      if (++device_count > kRecordedDevicesMax) {
        return std::unexpected(Error{ErrorKind::kTooLarge, "names too many devices"});
      }
      entry.push_back(*std::move(device));
    }
  }
  return entries;
}

// Turns the devices that have a MIG allocation into instances.
void ApplyMigAllocation(const JsonObject& allocation, DevicesByEntry& entries) {
  const auto entry_index = static_cast<std::size_t>(
      allocation.Int("containerIndex", 0, 0, static_cast<std::int64_t>(kRecordedDevicesMax)));
  const auto device_index = static_cast<std::size_t>(
      allocation.Int("deviceIndex", 0, 0, static_cast<std::int64_t>(kRecordedDevicesMax)));
  const std::string_view uuid = allocation.String("gpuUUID");
  const std::string_view profile = allocation.String("profile");
  const JsonObject placement = allocation.Object("placement");
  const auto start = static_cast<int>(placement.Int("start", 0, 0, kSlicesMax - 1));
  const auto size = static_cast<int>(placement.Int("size", 0, 0, kSlicesMax));
  if (uuid.empty() || profile.empty() || size == 0 || start + size > kSlicesMax) {
    allocation.Errors().Add(allocation.Path(), "is no complete MIG allocation");
    return;
  }
  if (entry_index >= entries.size() || device_index >= entries[entry_index].size()) return;
  RecordedDevice& device = entries[entry_index][device_index];
  if (device.uuid != uuid) return;
  device.kind = PieceKind::kInstance;
  device.profile = profile;
  device.start = start;
  device.size = size;
  device.cores_percent = 0;
}

std::expected<void, Error> ApplyMigAllocations(std::string_view text, DevicesByEntry& entries) {
  simdjson::dom::parser parser;
  const std::expected<JsonElement, Error> root = ParseJson(parser, text);
  if (!root) return std::unexpected(root.error());
  if (root->is_null()) return {};
  JsonErrors errors;
  ForEachElement(*root, JsonPath{}, kRecordedDevicesMax, errors,
                 [&](const JsonObject& allocation) { ApplyMigAllocation(allocation, entries); });
  if (errors.First()) return std::unexpected(*errors.First());
  return {};
}

bool AsksForDevices(const scheduler::ContainerRequest& container) {
  return !container.devices.empty() || container.fraction.has_value();
}

// The names of the containers that the entries stand for; all empty where that is not known.
std::vector<std::string> EntryContainers(std::size_t entry_count,
                                         std::span<const scheduler::ContainerRequest> containers) {
  std::vector<std::string> all;
  std::vector<std::string> asking;
  for (const scheduler::ContainerRequest& container : containers) {
    all.push_back(container.name);
    if (AsksForDevices(container)) asking.push_back(container.name);
  }
  if (entry_count == all.size()) return all;
  if (entry_count == asking.size()) return asking;
  return std::vector<std::string>(entry_count);
}

}  // namespace

std::string PrintDeviceRecord(const DeviceRecord& record) {
  nlohmann::ordered_json json;
  json["version"] = record.version;
  json["podUID"] = record.pod_uid;
  json["node"] = record.node;
  json["agent"] = record.agent;
  json["certainty"] = WordOf(kCertaintyWords, record.certainty);
  if (!record.tenant.empty()) json["tenant"] = record.tenant;
  if (!record.workload.empty()) json["workload"] = record.workload;
  if (record.charge != quota::Amount{}) json["charge"] = ChargeJson(record.charge);
  json["devices"] = nlohmann::ordered_json::array();
  for (const RecordedDevice& device : record.devices) {
    json["devices"].push_back(ToJson(device));
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::expected<DeviceRecord, Error> ParseDeviceRecord(std::string_view annotation) {
  if (annotation.size() > kAnnotationBytesMax) {
    return std::unexpected(Error{ErrorKind::kTooLarge, "the annotation is too long"});
  }
  simdjson::dom::parser parser;
  const std::expected<JsonElement, Error> root = ParseJson(parser, annotation);
  if (!root) return std::unexpected(root.error());
  JsonErrors errors;
  DeviceRecord record = ReadRecord(JsonObject(*root, errors));
  if (errors.First()) return std::unexpected(*errors.First());
  return record;
}

std::expected<DeviceRecord, Error> ParseHamiRecord(const HamiRecordSource& source) {
  if (source.devices.size() + source.mig_allocations.size() > kAnnotationBytesMax) {
    return std::unexpected(Error{ErrorKind::kTooLarge, "the annotations are too long"});
  }
  std::expected<DevicesByEntry, Error> entries = ParseHamiDevices(source.devices);
  if (!entries) return std::unexpected(entries.error());
  if (!source.mig_allocations.empty()) {
    std::expected<void, Error> applied = ApplyMigAllocations(source.mig_allocations, *entries);
    if (!applied) return std::unexpected(applied.error());
  }
  DeviceRecord record;
  record.pod_uid = source.pod_uid;
  record.node = source.node;
  record.agent = "hami";
  record.certainty = Certainty::kExact;
  const std::vector<std::string> names = EntryContainers(entries->size(), source.containers);
  for (std::size_t i = 0; i < entries->size(); ++i) {
    for (RecordedDevice& device : (*entries)[i]) {
      device.container = names[i];
      record.devices.push_back(std::move(device));
    }
  }
  return record;
}

}  // namespace offcut::api
