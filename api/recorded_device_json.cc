#include "api/recorded_device_json.h"

#include <array>
#include <string>

#include "api/json_words.h"

namespace offcut::api {
namespace {

using binpack::PieceKind;
using scheduler::RecordedDevice;

constexpr std::array kKindWords = {
    Word<PieceKind>{PieceKind::kWhole, "whole"},
    Word<PieceKind>{PieceKind::kInstance, "mig"},
    Word<PieceKind>{PieceKind::kSlot, "slot"},
    Word<PieceKind>{PieceKind::kFraction, "fraction"},
};

}  // namespace

nlohmann::ordered_json ToJson(const RecordedDevice& device) {
  nlohmann::ordered_json json;
  if (!device.container.empty()) json["container"] = device.container;
  if (device.gpu >= 0) json["gpu"] = device.gpu;
  if (!device.uuid.empty()) json["uuid"] = device.uuid;
  json["kind"] = WordOf(kKindWords, device.kind);
  if (!device.profile.empty()) json["profile"] = device.profile;
  if (device.start >= 0) json["start"] = device.start;
  if (device.size > 0) json["size"] = device.size;
  if (device.memory_mib > 0) json["memoryMiB"] = device.memory_mib;
  if (device.cores_percent > 0) json["coresPercent"] = device.cores_percent;
  return json;
}

RecordedDevice ReadRecordedDevice(const JsonObject& object) {
  RecordedDevice device{
      .container = std::string(object.String("container")),
      .gpu = static_cast<int>(object.Int("gpu", -1, 0, kGpuIndexMax)),
      .uuid = std::string(object.String("uuid")),
      .kind = ReadWord<PieceKind>(object, "kind", kKindWords),
      .profile = std::string(object.String("profile")),
      .start = static_cast<int>(object.Int("start", -1, 0, kSlicesMax - 1)),
      .size = static_cast<int>(object.Int("size", 0, 1, kSlicesMax)),
      .memory_mib = object.Int("memoryMiB", 0, 0, kMemoryMibMax),
      .cores_percent = static_cast<int>(object.Int("coresPercent", 0, 0, kCoresPercentMax))};
  const bool is_instance = device.kind == PieceKind::kInstance;
  if (is_instance == device.profile.empty()) {
    object.AddError("profile", is_instance ? "is missing" : "belongs to kind mig alone");
  }
  if (!is_instance && (device.start >= 0 || device.size > 0)) {
    object.AddError("start", "belongs to kind mig alone");
  }
  if (device.start >= 0 && device.start + std::max(device.size, 1) > kSlicesMax) {
    object.AddError("size", "reaches beyond the last slice of any GPU");
  }
  if (device.kind != PieceKind::kFraction && device.cores_percent > 0) {
    object.AddError("coresPercent", "belongs to kind fraction alone");
  }
  return device;
}

}  // namespace offcut::api
