// One call of the API server: what is asked, what is answered, and what became of it. Pure.
#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <string>
#include <string_view>

#include "api/kube_config.h"

namespace offcut::api {

// What a call waits for before it is sent; each in the order of the calls.
enum class KubeLimit {
  kRate,      // reads and patches: a token of the bucket (qps, burst)
  kLast,      // the same, but behind all that waits for one: events and nudges
  kBindings,  // no rate, but a cap on those in flight
  kNone,      // leases
};

struct KubeRequest {
  std::string method = "GET";
  std::string target;        // path and query, behind the server's base path; names are encoded
  std::string content_type;  // of the body; empty: there is none
  std::string body;
  // From Call() to the answer, waiting included; of a stream, to the head of the response. What has
  // not been written by then never is.
  std::chrono::milliseconds timeout = std::chrono::seconds{30};
  KubeLimit limit = KubeLimit::kRate;
};

struct KubeResponse {
  int status = 0;         // any final one of HTTP: 409 is a response, and no error
  int retry_after_s = 0;  // 0: none
  std::string body;       // see ReadStatusBody() in api/kube_status.h; empty where lines came
};

struct KubeError {
  bool may_have_acted = false;  // false: the server certainly has not done what was asked
  std::string message;          // for a person; lower case, no final full stop
};

using KubeResult = std::expected<KubeResponse, KubeError>;
using KubeDone = std::function<void(KubeResult)>;

// What became of a change that was asked for.
enum class CallOutcome {
  kDone,
  kRefused,  // it has not been made, and will not be
  kUnknown,  // only a read can tell
};
CallOutcome OutcomeOf(const KubeResult& result);

// Why a call did not succeed, or "200": for a log.
std::string ResultText(const KubeResult& result);

// `text` for a query's value or a path's segment (RFC 3986: all but unreserved characters).
std::string PercentEncoded(std::string_view text);

// The request as HTTP/1.1 writes it, with the bearer token if there is one. Error: a member that
// would break the header (names in paths come from outside).
std::expected<std::string, std::string> RequestText(const KubeRequest& request,
                                                    const KubeConfig& config,
                                                    std::string_view token);

// Whether the request changes nothing, so that it may be sent twice.
bool IsRead(const KubeRequest& request);

}  // namespace offcut::api
