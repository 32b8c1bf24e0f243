// One connection to the API server, plain or TLS. Its operations await on the client's thread; the
// next one may begin when the last one has ended. Close() ends whatever is awaited.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include "api/kube_config.h"
#include "api/kube_credentials.h"

namespace offcut::api {

using KubeExecutor = boost::asio::io_context::executor_type;
using KubeTimer = boost::asio::basic_waitable_timer<
    std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, KubeExecutor>;
template <typename T>
using KubeAwaitable = boost::asio::awaitable<T, KubeExecutor>;

class KubeConnection : public std::enable_shared_from_this<KubeConnection> {
 public:
  using Result = std::expected<void, std::string>;  // the error is a text for a person

  // `tls` is null for plain HTTP.
  KubeConnection(const KubeExecutor& executor, TlsContext tls);

  // Resolves the name, connects, and checks who is there; within `timeout`, but for a resolver that
  // hangs, which ends when it does.
  KubeAwaitable<Result> Open(const KubeConfig& config, std::chrono::milliseconds timeout);

  // Writes all of it.
  KubeAwaitable<Result> Write(std::string_view bytes);

  // Waits for bytes; Received() has them then. An empty one: the peer has closed.
  KubeAwaitable<Result> Receive();
  std::string_view Received() const;
  void Consume(std::size_t count) { received_.consume(count); }

  // Whether bytes of the last Write() may have reached the peer.
  bool HasWritten() const { return has_written_; }

  // After this long every operation fails, until the next call; from now on.
  void ExpireAfter(std::chrono::milliseconds timeout);
  void NeverExpire();

  void Close();

  // False: the peer has closed an idle connection, or sent what nobody asked for.
  bool IsUsable();

  const TlsContext& Tls() const { return context_; }

 private:
  using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, KubeExecutor>;

  KubeAwaitable<Result> Connect(const KubeConfig& config);
  KubeAwaitable<Result> Shake(const KubeConfig& config);
  std::string Describe(const boost::system::error_code& error) const;

  const TlsContext context_;
  Socket socket_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
  KubeTimer expiry_;
  std::string expiry_text_;  // not empty: it has expired
  boost::beast::flat_buffer received_;
  bool has_written_ = false;
  bool is_closed_ = false;  // also while there is no socket yet
};

}  // namespace offcut::api
