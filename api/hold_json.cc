#include "api/hold_json.h"

#include <array>
#include <cstdint>
#include <limits>

#include <nlohmann/json.hpp>

#include "api/device_record_json.h"
#include "api/json_object.h"
#include "api/json_words.h"
#include "api/kube_time.h"
#include "api/recorded_device_json.h"

namespace offcut::api {
namespace {

using scheduler::Hold;
using scheduler::HoldCause;

constexpr std::array kCauseWords = {
    Word<HoldCause>{HoldCause::kReclaim, "reclaim"},
    Word<HoldCause>{HoldCause::kDate, "date"},
};

std::string RequiredString(const JsonObject& object, std::string_view key) {
  const std::string_view text = object.String(key);
  if (text.empty()) object.AddError(key, "is missing");
  return std::string(text);
}

std::int64_t ReadTime(const JsonObject& object, std::string_view key) {
  const std::expected<std::int64_t, Error> time_s = ParseTime(object.String(key));
  if (time_s) return *time_s;
  object.AddError(key, time_s.error().message);
  return 0;
}

Hold ReadHold(const JsonObject& object) {
  Hold hold;
  if (object.Int("version", 0, 0, std::numeric_limits<std::int64_t>::max()) != kHoldVersion) {
    object.AddError("version", "is not 1");
  }
  hold.pod_uid = RequiredString(object, "podUID");
  hold.node = RequiredString(object, "node");
  hold.cause = ReadWord<HoldCause>(object, "cause", kCauseWords);
  hold.until_s = ReadTime(object, "until");
  if (object.Has("expected")) hold.expected_s = ReadTime(object, "expected");
  const auto victims = object.Find("victims");
  if (victims) {
    const JsonPath path{.parent = &object.Path(), .key = "victims"};
    const auto uids = ReadArray(*victims, path, kHoldVictimsMax, object.Errors());
    if (uids) {
      for (const JsonElement uid : *uids) {
        const auto text = ReadString(uid, path, object.Errors());
        if (text) hold.victim_uids.emplace_back(*text);
      }
    }
  }
  object.ForEach("devices", kRecordedDevicesMax, [&](const JsonObject& device) {
    hold.devices.push_back(ReadRecordedDevice(device));
  });
  return hold;
}

}  // namespace

std::string_view CauseText(HoldCause cause) { return WordOf(kCauseWords, cause); }

std::string PrintHold(const Hold& hold) {
  nlohmann::ordered_json json;
  json["version"] = kHoldVersion;
  json["podUID"] = hold.pod_uid;
  json["node"] = hold.node;
  json["cause"] = CauseText(hold.cause);
  json["until"] = TimeText(hold.until_s);
  if (hold.expected_s != 0) json["expected"] = TimeText(hold.expected_s);
  if (!hold.victim_uids.empty()) json["victims"] = hold.victim_uids;
  for (const scheduler::RecordedDevice& device : hold.devices) {
    json["devices"].push_back(ToJson(device));
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::expected<Hold, Error> ParseHold(std::string_view annotation) {
  if (annotation.size() > kAnnotationBytesMax) {
    return std::unexpected(Error{ErrorKind::kTooLarge, "the annotation is too long"});
  }
  simdjson::dom::parser parser;
  const std::expected<JsonElement, Error> root = ParseJson(parser, annotation);
  if (!root) return std::unexpected(root.error());
  JsonErrors errors;
  Hold hold = ReadHold(JsonObject(*root, errors));
  if (errors.First()) return std::unexpected(*errors.First());
  return hold;
}

}  // namespace offcut::api
