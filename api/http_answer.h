// What the routes of all listeners share: which path is asked, and the answers that are not about
// anything. Pure.
#pragma once

#include <string>
#include <string_view>

#include "api/error.h"
#include "api/http.h"

namespace offcut::api {

// The target without its query: "/livez?verbose" is "/livez".
std::string_view PathOf(std::string_view target);

// Whether the query has the key, with or without a value.
bool HasQuery(std::string_view target, std::string_view key);

// The value of the key in the query, as it stands there; empty: none.
std::string_view QueryValue(std::string_view target, std::string_view key);

// Whether the request only looks; kReadMethods is what MethodNotAllowed says if not.
bool IsRead(const HttpRequest& request);
inline constexpr std::string_view kReadMethods = "GET, HEAD";

HttpResponse JsonAnswer(std::string body);

HttpResponse TextAnswer(int status, std::string body);

// A JSON body {"error": text}.
HttpResponse ErrorAnswer(int status, std::string_view text);

// kBadRequest 400, kNotFound 404, kConflict 409, kTooLarge 413, kUnavailable 503.
HttpResponse ErrorAnswer(const Error& error);

// 405 with the methods that are allowed: "GET, HEAD".
HttpResponse MethodNotAllowed(std::string_view allowed);

}  // namespace offcut::api
