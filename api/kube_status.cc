#include "api/kube_status.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace offcut::api {
namespace {

using Json = nlohmann::json;

constexpr int kNumberMax = 1'000'000;

const Json* Find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string Text(const Json& object, const char* key) {
  const Json* value = Find(object, key);
  if (value == nullptr || !value->is_string()) return {};
  return value->get_ref<const std::string&>().substr(0, kStatusTextBytesMax);
}

int Number(const Json& object, const char* key) {
  const Json* value = Find(object, key);
  if (value == nullptr || !value->is_number_integer()) return 0;
  return static_cast<int>(std::clamp<std::int64_t>(value->get<std::int64_t>(), 0, kNumberMax));
}

}  // namespace

std::optional<KubeStatus> ReadStatus(const nlohmann::json& object) {
  if (!object.is_object() || Text(object, "kind") != "Status") return std::nullopt;
  KubeStatus status{.code = Number(object, "code"),
                    .reason = Text(object, "reason"),
                    .message = Text(object, "message"),
                    .kind = {},
                    .retry_after_s = 0,
                    .causes = {}};
  const Json* details = Find(object, "details");
  if (details == nullptr || !details->is_object()) return status;
  status.kind = Text(*details, "kind");
  status.retry_after_s = Number(*details, "retryAfterSeconds");
  const Json* causes = Find(*details, "causes");
  if (causes == nullptr || !causes->is_array()) return status;
  for (const Json& cause : *causes) {
    if (!cause.is_object() || status.causes.size() == kStatusCausesMax) continue;
    status.causes.push_back({.reason = Text(cause, "reason"),
                             .message = Text(cause, "message"),
                             .field = Text(cause, "field")});
  }
  return status;
}

KubeStatus ReadStatusBody(int http_status, std::string_view body) {
  const Json object = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  KubeStatus status = ReadStatus(object).value_or(KubeStatus{});
  if (status.code == 0) status.code = http_status;
  return status;
}

std::string StatusText(const KubeStatus& status) {
  std::string text = fmt::format("{}", status.code);
  if (!status.reason.empty()) text += " " + status.reason;
  if (!status.message.empty()) text += ": " + status.message;
  return text;
}

}  // namespace offcut::api
