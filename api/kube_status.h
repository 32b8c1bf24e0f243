// What the API server says in the `Status` object of a refusal. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace offcut::api {

struct KubeStatusCause {
  std::string reason;  // "ResourceVersionTooLarge"
  std::string message;
  std::string field;
};

struct KubeStatus {
  int code = 0;           // as HTTP has it; 0: not said
  std::string reason;     // "Conflict"; empty: not said
  std::string message;    // for a person
  std::string kind;       // details.kind: "pods/binding"
  int retry_after_s = 0;  // details.retryAfterSeconds; 0: none
  std::vector<KubeStatusCause> causes;
};

// Of what has no place in a message or a metric.
inline constexpr std::size_t kStatusTextBytesMax = 4096;
inline constexpr std::size_t kStatusCausesMax = 16;

// nullopt: `object` is no Status. Members of the wrong kind read as absent.
std::optional<KubeStatus> ReadStatus(const nlohmann::json& object);

// The same of a response's body; a body that is none (a proxy's page) gives `http_status` alone.
KubeStatus ReadStatusBody(int http_status, std::string_view body);

// "409 Conflict: pod ... is already assigned to node ...".
std::string StatusText(const KubeStatus& status);

}  // namespace offcut::api
