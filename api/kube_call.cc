#include "api/kube_call.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "api/kube_status.h"

namespace offcut::api {
namespace {

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

bool IsMethod(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
}

bool IsTarget(std::string_view text) {
  return text.starts_with('/') &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f' && c != '#'; });
}

bool IsFieldValue(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c < '\x7f'; });
}

}  // namespace

CallOutcome OutcomeOf(const KubeResult& result) {
  if (!result) return result.error().may_have_acted ? CallOutcome::kUnknown : CallOutcome::kRefused;
  if (result->status >= 200 && result->status < 300) return CallOutcome::kDone;
  // A server that gives up on a call (a timeout, a shutdown) may yet carry it out.
  return result->status >= 500 ? CallOutcome::kUnknown : CallOutcome::kRefused;
}

std::string ResultText(const KubeResult& result) {
  if (!result) return result.error().message;
  if (result->status >= 200 && result->status < 300) return std::to_string(result->status);
  return StatusText(ReadStatusBody(result->status, result->body));
}

std::string PercentEncoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (IsUnreserved(c)) {
      encoded += c;
    } else {
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::expected<std::string, std::string> RequestText(const KubeRequest& request,
                                                    const KubeConfig& config,
                                                    std::string_view token) {
  if (!IsMethod(request.method)) return std::unexpected("the method is none");
  if (!IsTarget(request.target)) return std::unexpected("the path is none");
  if (!IsFieldValue(request.content_type)) return std::unexpected("the content type is none");
  std::string text = fmt::format(
      "{} {}{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: offcut/{}\r\nAccept: application/json\r\n",
      request.method, config.base_path, request.target, HostAndPort(config), OFFCUT_VERSION);
  if (!token.empty()) text += fmt::format("Authorization: Bearer {}\r\n", token);
  if (!request.content_type.empty()) {
    text += fmt::format("Content-Type: {}\r\n", request.content_type);
  }
  if (!request.body.empty() || !IsRead(request)) {
    text += fmt::format("Content-Length: {}\r\n", request.body.size());
  }
  text += "\r\n";
  text += request.body;
  return text;
}

bool IsRead(const KubeRequest& request) { return request.method == "GET"; }

}  // namespace offcut::api
