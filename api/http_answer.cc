#include "api/http_answer.h"

#include <cassert>
#include <optional>
#include <utility>

#include "api/extender_types.h"

namespace offcut::api {
namespace {

int StatusOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kBadRequest:
      return 400;
    case ErrorKind::kNotFound:
      return 404;
    case ErrorKind::kConflict:
      return 409;
    case ErrorKind::kTooLarge:
      return 413;
    case ErrorKind::kUnavailable:
      return 503;
  }
  assert(false);
  return 500;
}

// The part "key" or "key=value" of the query, or nullopt.
std::optional<std::string_view> FindPart(std::string_view target, std::string_view key) {
  const std::size_t mark = target.find('?');
  std::string_view rest = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('&'));
    if (part.substr(0, part.find('=')) == key) return part;
    rest.remove_prefix(part.size() == rest.size() ? rest.size() : part.size() + 1);
  }
  return std::nullopt;
}

}  // namespace

std::string_view PathOf(std::string_view target) { return target.substr(0, target.find('?')); }

bool HasQuery(std::string_view target, std::string_view key) {
  return FindPart(target, key).has_value();
}

std::string_view QueryValue(std::string_view target, std::string_view key) {
  const std::string_view part = FindPart(target, key).value_or("");
  const std::size_t equals = part.find('=');
  return equals == std::string_view::npos ? "" : part.substr(equals + 1);
}

bool IsRead(const HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

HttpResponse JsonAnswer(std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  return response;
}

HttpResponse TextAnswer(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(body);
  return response;
}

HttpResponse ErrorAnswer(int status, std::string_view text) {
  std::string body = R"({"error":)";
  AppendJsonString(body, text);
  HttpResponse response = JsonAnswer(body += '}');
  response.status = status;
  return response;
}

HttpResponse ErrorAnswer(const Error& error) {
  return ErrorAnswer(StatusOf(error.kind), error.message);
}

HttpResponse MethodNotAllowed(std::string_view allowed) {
  HttpResponse response = ErrorAnswer(405, "method not allowed");
  response.allow = allowed;
  return response;
}

}  // namespace offcut::api
