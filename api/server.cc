// The listener and the server in front of it. What happens on one connection is
// api/server_connection.
#include "api/server.h"

#include <cassert>
#include <cstdint>
#include <ctime>
#include <exception>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "api/server_connection.h"
#include "api/server_listener.h"

namespace offcut::api {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::steady_clock;

constexpr int kAcceptBacklog = 1024;
// Connections over connections_max that are told so at one time; any more are closed in silence.
constexpr std::size_t kSheddingMax = 64;
// A failed accept (out of file descriptors) would fail again at once.
constexpr std::chrono::milliseconds kAcceptRetryDelay{100};

ServerAwaitable<void> RunAndForget(std::unique_ptr<ServerConnection> connection) {
  co_await connection->Run();
}

void LogEscape(const std::exception_ptr& escaped) {
  if (escaped == nullptr) return;
  try {
    std::rethrow_exception(escaped);
  } catch (const std::exception& error) {
    spdlog::error("a connection ended by an exception: {}", error.what());
  } catch (...) {
    spdlog::error("a connection ended by an exception");
  }
}

}  // namespace

std::expected<void, Error> Listener::Listen() {
  if (settings.tls) {
    auto tls = MakeServerTls(*settings.tls);
    if (!tls) return std::unexpected(tls.error());
    tls_ = *std::move(tls);
  }
  error_code error;
  const auto address = asio::ip::make_address(settings.address, error);
  if (error) {
    return std::unexpected(
        Error{ErrorKind::kBadRequest, fmt::format("'{}' is not an IP address", settings.address)});
  }
  const tcp::endpoint endpoint{address, settings.port};
  std::ignore = acceptor_.open(endpoint.protocol(), error);
  if (!error) std::ignore = acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) std::ignore = acceptor_.bind(endpoint, error);
  if (!error) std::ignore = acceptor_.listen(kAcceptBacklog, error);
  if (!error) port_ = acceptor_.local_endpoint(error).port();
  if (error) {
    return std::unexpected(
        Error{ErrorKind::kUnavailable, fmt::format("cannot listen: {}", error.message())});
  }
  return {};
}

void Listener::StartThread() {
  asio::co_spawn(io_, Accept(), LogEscape);
  thread_ = std::thread([this] { io_.run(); });
}

ServerAwaitable<void> Listener::Accept() {
  co_await AcceptUntilCancelled();
  // Who is in the backlog has perhaps sent a request already.
  if (draining_ && !stopping_) AdmitBacklog();
  error_code ignored;
  std::ignore = acceptor_.close(ignored);
  accepting_ = false;
  AnnounceIfDrained();
}

ServerAwaitable<void> Listener::AcceptUntilCancelled() {
  while (!draining_ && !stopping_) {
    auto [error, socket] = co_await acceptor_.async_accept(kServerAwait);
    if (error == asio::error::operation_aborted || stopping_) co_return;
    if (!error) {
      Admit(std::move(socket));
      continue;
    }
    spdlog::warn("cannot accept on {} port {}: {}", settings.address, port_, error.message());
    std::ignore = accept_delay_.expires_after(kAcceptRetryDelay);
    std::ignore = co_await accept_delay_.async_wait(kServerAwait);
  }
}

void Listener::AdmitBacklog() {
  error_code error;
  std::ignore = acceptor_.non_blocking(true, error);
  for (int i = 0; i < kAcceptBacklog && !error; ++i) {
    ServerSocket socket{io_.get_executor()};
    std::ignore = acceptor_.accept(socket, error);
    if (!error) Admit(std::move(socket));
  }
}

void Listener::Admit(ServerSocket socket) {
  const bool full = connections_.size() - shedding_ >= settings.connections_max;
  const auto& event = full ? events.connection_shed : events.connection_accepted;
  if (event) event();
  if (full && shedding_ >= kSheddingMax) return;
  auto connection = std::make_unique<ServerConnection>(
      *this, std::move(socket), full ? ConnectionPurpose::kShed : ConnectionPurpose::kServe);
  asio::co_spawn(io_, RunAndForget(std::move(connection)), LogEscape);
}

std::uint64_t Listener::Add(ServerConnection& connection, ConnectionPurpose purpose) {
  if (purpose == ConnectionPurpose::kShed) ++shedding_;
  connections_.emplace(++last_connection_id_, &connection);
  return last_connection_id_;
}

void Listener::Remove(std::uint64_t connection_id, ConnectionPurpose purpose) {
  if (purpose == ConnectionPurpose::kShed) --shedding_;
  connections_.erase(connection_id);
  AnnounceIfDrained();
}

void Listener::Deliver(RequestId id, HttpResponse response) {
  if (io_.get_executor().running_in_this_thread()) {
    DeliverHere(id, std::move(response));
    return;
  }
  // Once the thread has ended this only waits to be destroyed, with io_.
  asio::post(io_, [this, id, response = std::move(response)]() mutable {
    DeliverHere(id, std::move(response));
  });
}

void Listener::DeliverHere(RequestId id, HttpResponse response) {
  const auto found = connections_.find(id.connection);
  if (found != connections_.end()) found->second->Deliver(id, std::move(response));
}

bool Listener::Drain(steady_clock::time_point deadline) {
  if (!thread_.joinable()) return true;
  asio::post(io_, [this] { BeginDrain(); });
  return drained_future_.wait_until(deadline) == std::future_status::ready;
}

void Listener::BeginDrain() {
  draining_ = true;
  error_code ignored;
  std::ignore = acceptor_.cancel(ignored);
  std::ignore = accept_delay_.cancel();
  for (const auto& [id, connection] : connections_) connection->CloseIfIdle();
  AnnounceIfDrained();
}

void Listener::AnnounceIfDrained() {
  if (!draining_ || accepting_ || !connections_.empty() || drain_announced_) return;
  drain_announced_ = true;
  drained_.set_value();
}

void Listener::Stop() {
  if (!thread_.joinable()) return;
  assert(thread_.get_id() != std::this_thread::get_id());
  asio::post(io_, [this] { BeginStop(); });
  thread_.join();
  assert(connections_.empty());
}

void Listener::BeginStop() {
  stopping_ = true;
  error_code ignored;
  std::ignore = acceptor_.cancel(ignored);
  std::ignore = accept_delay_.cancel();
  for (const auto& [id, connection] : connections_) connection->Abort();
  work_.reset();
}

// The value of a Date field, made once a second.
std::string_view Listener::Date() {
  const std::time_t now_s = std::time(nullptr);
  if (now_s != date_s_) {
    date_s_ = now_s;
    date_ = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(now_s));
  }
  return date_;
}

namespace {

// Returns what is wrong with `settings`, or an empty view.
std::string_view FindBadLimit(const ServerSettings& settings) {
  constexpr std::chrono::milliseconds zero{0};
  if (settings.body_bytes_max == 0) return "body_bytes_max";
  // Beast counts header bytes in 32 bits.
  if (settings.header_bytes_max == 0 || settings.header_bytes_max > UINT32_MAX / 2) {
    return "header_bytes_max";
  }
  if (settings.bodies_bytes_max == 0) return "bodies_bytes_max";
  if (settings.connections_max == 0) return "connections_max";
  if (settings.handshake_timeout <= zero) return "handshake_timeout";
  if (settings.idle_timeout <= zero) return "idle_timeout";
  if (settings.read_timeout <= zero) return "read_timeout";
  if (settings.write_timeout <= zero) return "write_timeout";
  if (settings.linger_timeout <= zero) return "linger_timeout";
  return {};
}

}  // namespace

std::expected<std::unique_ptr<Server>, Error> Server::Start(ServerSettings settings,
                                                            HttpHandler handler,
                                                            ServerEvents events) {
  if (const std::string_view limit = FindBadLimit(settings); !limit.empty()) {
    return std::unexpected(Error{ErrorKind::kBadRequest, fmt::format("{} is out of range", limit)});
  }
  try {  // Asio and std::thread throw when file descriptors or threads are out
    auto listener =
        std::make_shared<Listener>(std::move(settings), std::move(handler), std::move(events));
    if (auto listens = listener->Listen(); !listens) return std::unexpected(listens.error());
    listener->StartThread();
    return std::unique_ptr<Server>(new Server(std::move(listener)));
  } catch (const std::exception& error) {
    return std::unexpected(
        Error{ErrorKind::kUnavailable, fmt::format("cannot start a server: {}", error.what())});
  }
}

Server::Server(std::shared_ptr<Listener> listener) : listener_(std::move(listener)) {}

Server::~Server() {
  try {
    Stop();
  } catch (...) {  // out of memory: the thread cannot be told to end any more
    std::terminate();
  }
}

std::uint16_t Server::Port() const { return listener_->Port(); }

bool Server::Drain(steady_clock::time_point deadline) { return listener_->Drain(deadline); }

void Server::Stop() { listener_->Stop(); }

}  // namespace offcut::api
