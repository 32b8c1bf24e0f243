// The HTTP/1.1 server: one listening socket, one thread, and a handler that answers requests.
//
// kube-scheduler asks one request at a time, and a second thread makes that case slower; so a
// Server has one thread, and whoever must answer while a big request is in work (health, metrics)
// has a Server of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/error.h"
#include "api/http.h"
#include "api/server_tls.h"

namespace offcut::api {

// Every limit on what may come from outside. All must be positive.
struct ServerSettings {
  std::string address = "127.0.0.1";  // an IP address, not a host name
  std::uint16_t port = 0;             // 0: any free port, see Server::Port()

  // Without it the server speaks plain HTTP.
  std::optional<ServerTlsSettings> tls;

  // 5,000 full nodes are 67 MB.
  std::size_t body_bytes_max = std::size_t{256} * 1024 * 1024;
  // Memory of all bodies in work together; a request that wants more gets 503. A body of one step
  // (kBodyStepBytes) is always taken: a bind is never turned away.
  std::size_t bodies_bytes_max = std::size_t{1024} * 1024 * 1024;
  std::size_t header_bytes_max = std::size_t{16} * 1024;  // request line and fields; trailers too
  std::size_t connections_max = 1024;                     // one more gets 503 and is closed

  // For the whole TLS handshake. A peer that fails in it gets no HTTP answer.
  std::chrono::milliseconds handshake_timeout = std::chrono::seconds{10};
  // Between two requests. Must exceed the 90 s for which kube-scheduler's Go client keeps an idle
  // connection: Go does not repeat a POST that met a closing connection.
  std::chrono::milliseconds idle_timeout = std::chrono::seconds{120};
  // For the whole header from its first byte, and again for the whole body.
  std::chrono::milliseconds read_timeout = std::chrono::seconds{10};
  std::chrono::milliseconds write_timeout = std::chrono::seconds{30};  // for a whole response
  // How long a connection that we close waits for the peer to close too. Closing at once, with
  // unread bytes about, would reset the connection and could destroy the last answer.
  std::chrono::milliseconds linger_timeout = std::chrono::seconds{1};
};

// What a Server tells whoever counts. Called on the listener's thread; empty: nobody counts.
struct ServerEvents {
  std::function<void()> connection_accepted;        // and will be served
  std::function<void()> connection_shed;            // over connections_max
  std::function<void(int status)> request_refused;  // answered by the server, not by the handler
};

class Listener;

// Owned by one thread: call Drain() and Stop() from there, and not from the handler.
class Server {
 public:
  // Binds, listens and starts the thread. `handler` is called on that thread alone; it may throw
  // (a library may), which is logged and answered with 500. A Respond that is dropped without a
  // call answers 500, too; one that is called late, or twice, is ignored. For HEAD the handler
  // answers as for GET, and the server leaves the body out.
  // Errors: kBadRequest (the address is none, a limit is not positive, MakeServerTls() has one),
  // kUnavailable (cannot bind).
  static std::expected<std::unique_ptr<Server>, Error> Start(ServerSettings settings,
                                                             HttpHandler handler,
                                                             ServerEvents events = {});

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();  // Stop()

  std::uint16_t Port() const;

  // Stops accepting, answers the requests that are in work or have arrived, and closes every
  // connection. Returns true when all are closed, false when the deadline came first. Stop() is
  // still needed.
  bool Drain(std::chrono::steady_clock::time_point deadline);

  // Drops every connection and ends the thread. A later Respond is ignored. Idempotent.
  void Stop();

 private:
  explicit Server(std::shared_ptr<Listener> listener);

  std::shared_ptr<Listener> listener_;
};

}  // namespace offcut::api
