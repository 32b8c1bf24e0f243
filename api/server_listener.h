// The one thread of a Server, and what it owns: the socket that listens, the connections, the
// memory of their bodies.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <expected>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include "api/body_buffer.h"
#include "api/error.h"
#include "api/http.h"
#include "api/server.h"
#include "api/server_asio.h"

namespace offcut::api {

class ServerConnection;

// Which request of which connection an answer belongs to.
struct RequestId {
  std::uint64_t connection = 0;
  std::uint64_t sequence = 0;
  bool operator==(const RequestId&) const = default;
};

// What becomes of a new connection.
enum class ConnectionPurpose { kServe, kShed };

// All members but Port(), Deliver(), Drain() and Stop() belong to the listener's thread.
class Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(ServerSettings server_settings, HttpHandler http_handler, ServerEvents server_events)
      : settings(std::move(server_settings)),
        handler(std::move(http_handler)),
        events(std::move(server_events)) {}

  // Binds, listens, and reads the certificates.
  std::expected<void, Error> Listen();
  void StartThread();
  std::uint16_t Port() const { return port_; }
  bool Drain(std::chrono::steady_clock::time_point deadline);
  void Stop();

  // Hands `response` to the connection that waits for it, if it still does. From any thread.
  void Deliver(RequestId id, HttpResponse response);

  std::uint64_t Add(ServerConnection& connection, ConnectionPurpose purpose);
  void Remove(std::uint64_t connection_id, ConnectionPurpose purpose);
  ServerExecutor GetExecutor() { return io_.get_executor(); }
  bool IsDraining() const { return draining_; }
  bool IsStopping() const { return stopping_; }
  std::string_view Date();
  boost::asio::ssl::context* Tls() { return tls_.get(); }  // null: plain HTTP

  const ServerSettings settings;
  const HttpHandler handler;
  const ServerEvents events;
  BodyPool bodies{settings.bodies_bytes_max};

 private:
  ServerAwaitable<void> Accept();
  ServerAwaitable<void> AcceptUntilCancelled();
  void Admit(ServerSocket socket);
  void DeliverHere(RequestId id, HttpResponse response);
  void BeginDrain();
  void AdmitBacklog();
  void BeginStop();
  void AnnounceIfDrained();

  std::shared_ptr<boost::asio::ssl::context> tls_;
  boost::asio::io_context io_{1};  // 1: one thread runs it
  boost::asio::executor_work_guard<ServerExecutor> work_{io_.get_executor()};
  boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, ServerExecutor> acceptor_{
      io_.get_executor()};
  ServerTimer accept_delay_{io_.get_executor()};
  std::uint16_t port_ = 0;
  std::unordered_map<std::uint64_t, ServerConnection*> connections_;
  std::uint64_t last_connection_id_ = 0;
  std::size_t shedding_ = 0;  // of connections_
  bool accepting_ = true;
  bool draining_ = false;
  bool stopping_ = false;
  std::promise<void> drained_;
  std::future<void> drained_future_ = drained_.get_future();
  bool drain_announced_ = false;
  std::time_t date_s_ = 0;
  std::string date_;
  std::thread thread_;
};

}  // namespace offcut::api
