// What a request and a response are to our own code, whatever carries them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace offcut::api {

struct HttpRequest {
  std::string_view method;        // "POST"
  std::string_view target;        // path and query as they came: "/v1/filter?x=1"
  std::string_view content_type;  // empty: the header is absent
  // The whole body. At least `kBodyPaddingBytes` readable bytes follow it, so that simdjson may
  // read past its end without a copy.
  std::string_view body;
};

inline constexpr std::size_t kBodyPaddingBytes = 64;

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string allow;      // value of the Allow header; empty: none (405 needs one)
  int retry_after_s = 0;  // value of the Retry-After header; 0: none
};

// Takes the answer. Call it exactly once, from any thread.
using Respond = std::function<void(HttpResponse)>;

// Answers one request by calling `respond`, at once or later (a bind waits for the API server). The
// request's views stay valid until then. Called on the listener's thread: must not block on I/O.
using HttpHandler = std::function<void(const HttpRequest& request, Respond respond)>;

}  // namespace offcut::api
