// Calls of the Kubernetes API: HTTP/1.1 over TLS, asynchronous, on one thread of its own, where
// every function that is handed in runs, too. So whatever waits for the API server (bindings,
// watches, the lease) blocks nobody, and what only this thread touches needs no lock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string_view>

#include "api/error.h"
#include "api/kube_call.h"
#include "api/kube_config.h"

namespace offcut::api {

// Every limit. All must be positive.
struct KubeClientSettings {
  double qps = 50;                          // calls a second of KubeLimit::kRate in the long run
  double burst = 100;                       // and at once; 1 or more
  std::size_t bindings_in_flight_max = 64;  // one more waits
  std::size_t calls_max = 10'000;           // in work or waiting, streams included; one more fails

  std::chrono::milliseconds connect_timeout = std::chrono::seconds{10};
  // Below the 90 s after which an API server closes an idle connection: a POST that meets the
  // closing has an unknown outcome.
  std::chrono::milliseconds idle_timeout = std::chrono::seconds{45};
  std::size_t idle_connections_max = 16;
  // The age at which files of tokens and certificates are read again.
  std::chrono::milliseconds credentials_recheck = std::chrono::minutes{1};

  std::size_t header_bytes_max = std::size_t{64} * 1024;        // of a response
  std::size_t body_bytes_max = std::size_t{256} * 1024 * 1024;  // of a response
  std::size_t line_bytes_max = std::size_t{16} * 1024 * 1024;   // of a stream: one object
};

// A response that comes line by line.
struct KubeStream {
  // Each line of a 200. The view is good for the call. Cancel() in it ends the stream at once.
  std::function<void(std::string_view line)> line;
  // Once, at its end, with the status: 200 where the server has ended a stream in good order, and
  // otherwise with its body. An error: it was cut, or silent, or had too long a line.
  KubeDone ended;
  std::chrono::milliseconds silence_timeout = std::chrono::seconds{90};  // without any byte
};

// Names what was asked for, to Cancel() it. Never reused; 0 is none.
using KubeTicket = std::uint64_t;

// Thread-safe but for Stop(). Functions that are handed in run one at a time on the client's
// thread, never within the call that hands them in; what they throw is logged.
//
// Nothing is repeated but: what was refused with 401, once, with a new token out of its file; and
// what met a kept connection that the server had closed, where no byte was written, or with GET.
class KubeClient {
 public:
  // Reads the credentials and starts the thread. Connects when there is a call.
  // Errors: kBadRequest (a limit is not positive, a file is no PEM), kNotFound (a file cannot be
  // read), kUnavailable (no thread).
  static std::expected<std::unique_ptr<KubeClient>, Error> Start(KubeConfig config,
                                                                 KubeClientSettings settings = {});

  KubeClient(const KubeClient&) = delete;
  KubeClient& operator=(const KubeClient&) = delete;
  ~KubeClient();  // Stop()

  // Calls `done` exactly once, at the latest in Stop(), and not at all after a Cancel(). After
  // Stop() it is called at once, on the caller's thread.
  KubeTicket Call(KubeRequest request, KubeDone done);

  // The same for `stream.ended`.
  KubeTicket Stream(KubeRequest request, KubeStream stream);

  // Runs `run` after `delay`, unless it is cancelled or the client stops before.
  KubeTicket RunAfter(std::chrono::milliseconds delay, std::function<void()> run);

  // Runs `run` soon. False: the client has stopped, and `run` never runs.
  bool Post(std::function<void()> run);

  // Ends what the ticket names, without a call of its function; on the client's thread at once,
  // from elsewhere soon. Of what has ended: does nothing.
  void Cancel(KubeTicket ticket);

  bool RunsInThisThread() const;
  const KubeConfig& Config() const;

  // Answers all that is in work with an error and ends the thread, which waits for a resolver of
  // host names that hangs. Idempotent. By the owner, and not on the client's thread.
  void Stop();

 private:
  class Loop;
  explicit KubeClient(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
};

}  // namespace offcut::api
