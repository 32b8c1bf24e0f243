#include "api/kube_connection.h"

#include <array>
#include <cerrno>
#include <tuple>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <sys/socket.h>

namespace offcut::api {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr asio::as_tuple_t<asio::use_awaitable_t<KubeExecutor>> kAwait{};
constexpr std::size_t kTlsRecordBytes = std::size_t{16} * 1024;
constexpr std::size_t kReceiveBytes = std::size_t{64} * 1024;

// Makes OpenSSL check the peer's certificate for `name`, a host name or an IP address.
bool ExpectName(SSL* tls, const std::string& name) {
  error_code error;
  asio::ip::make_address(name, error);
  X509_VERIFY_PARAM* rules = SSL_get0_param(tls);
  if (!error) return X509_VERIFY_PARAM_set1_ip_asc(rules, name.c_str()) == 1;
  X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return X509_VERIFY_PARAM_set1_host(rules, name.c_str(), name.size()) == 1 &&
         SSL_set_tlsext_host_name(tls, name.c_str()) == 1;
}

// A host that went away without a word is noticed within 30 s: an idle watch sends nothing by
// itself. What fails is left at the system's default.
void KeepAlive(int socket) {
  const auto set = [socket](int level, int option, int value) {
    setsockopt(socket, level, option, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);  // seconds
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);  // seconds
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);  // ms, of what was sent
}

}  // namespace

KubeConnection::KubeConnection(const KubeExecutor& executor, TlsContext tls)
    : context_(std::move(tls)), socket_(executor), expiry_(executor) {}

KubeAwaitable<KubeConnection::Result> KubeConnection::Open(const KubeConfig& config,
                                                           std::chrono::milliseconds timeout) {
  ExpireAfter(timeout);
  Result result = co_await Connect(config);
  if (result && context_ != nullptr) result = co_await Shake(config);
  NeverExpire();
  if (result) co_return result;
  co_return std::unexpected(
      fmt::format("cannot connect to {}: {}", HostAndPort(config), result.error()));
}

KubeAwaitable<KubeConnection::Result> KubeConnection::Connect(const KubeConfig& config) {
  error_code address_error;
  const auto address = asio::ip::make_address(config.host, address_error);
  error_code error;
  if (!address_error) {
    std::tie(error) = co_await socket_.async_connect(tcp::endpoint(address, config.port), kAwait);
  } else {
    asio::ip::basic_resolver<tcp, KubeExecutor> resolver(socket_.get_executor());
    const std::string port = std::to_string(config.port);
    auto [resolve_error, endpoints] = co_await resolver.async_resolve(config.host, port, kAwait);
    error = resolve_error;
    if (!error && is_closed_) error = asio::error::operation_aborted;
    if (!error) {
      auto [connect_error, endpoint] = co_await asio::async_connect(socket_, endpoints, kAwait);
      error = connect_error;
    }
  }
  if (error) co_return std::unexpected(Describe(error));
  error_code ignored;  // the peer may be gone already; the first write finds out
  std::ignore = socket_.set_option(tcp::no_delay(true), ignored);
  KeepAlive(socket_.native_handle());
  co_return Result{};
}

KubeAwaitable<KubeConnection::Result> KubeConnection::Shake(const KubeConfig& config) {
  tls_.emplace(socket_, *context_);
  const std::string& name = config.tls_server_name.empty() ? config.host : config.tls_server_name;
  if (!ExpectName(tls_->native_handle(), name)) {
    co_return std::unexpected(fmt::format("'{}' is no name that a certificate can be for", name));
  }
  const auto [error] = co_await tls_->async_handshake(asio::ssl::stream_base::client, kAwait);
  if (!error) co_return Result{};
  const long verdict = SSL_get_verify_result(tls_->native_handle());
  if (verdict == X509_V_OK || !expiry_text_.empty()) co_return std::unexpected(Describe(error));
  co_return std::unexpected(fmt::format("the server's certificate is not valid for {}: {}", name,
                                        X509_verify_cert_error_string(verdict)));
}

KubeAwaitable<KubeConnection::Result> KubeConnection::Write(std::string_view bytes) {
  has_written_ = false;
  while (!bytes.empty()) {
    const auto buffer = asio::buffer(bytes.data(), bytes.size());
    const bool had_written = has_written_;
    has_written_ = had_written || tls_.has_value();  // TLS writes in parts of its own
    error_code error;
    std::size_t count = 0;
    if (tls_) {
      std::tie(error, count) = co_await tls_->async_write_some(buffer, kAwait);
    } else {
      std::tie(error, count) = co_await socket_.async_write_some(buffer, kAwait);
    }
    // A part of a TLS record is nothing to the peer.
    has_written_ = had_written || count > 0 || (tls_ && bytes.size() > kTlsRecordBytes);
    if (error) co_return std::unexpected(Describe(error));
    bytes.remove_prefix(count);
  }
  co_return Result{};
}

KubeAwaitable<KubeConnection::Result> KubeConnection::Receive() {
  const auto room = received_.prepare(kReceiveBytes);
  error_code error;
  std::size_t count = 0;
  if (tls_) {
    std::tie(error, count) = co_await tls_->async_read_some(room, kAwait);
  } else {
    std::tie(error, count) = co_await socket_.async_read_some(room, kAwait);
  }
  received_.commit(count);
  if (error && error != asio::error::eof) co_return std::unexpected(Describe(error));
  co_return Result{};
}

std::string_view KubeConnection::Received() const {
  const auto data = received_.cdata();
  return {static_cast<const char*>(data.data()), data.size()};
}

void KubeConnection::ExpireAfter(std::chrono::milliseconds timeout) {
  expiry_text_.clear();
  std::ignore = expiry_.expires_after(timeout);
  expiry_.async_wait([weak = weak_from_this(), timeout](error_code error) {
    const std::shared_ptr<KubeConnection> self = weak.lock();
    // A wait that was renewed after it had ended comes with success, too.
    if (error || self == nullptr || self->expiry_.expiry() > std::chrono::steady_clock::now()) {
      return;
    }
    self->expiry_text_ = fmt::format("nothing came within {} ms", timeout.count());
    self->Close();
  });
}

void KubeConnection::NeverExpire() {
  std::ignore = expiry_.expires_at(std::chrono::steady_clock::time_point::max());
}

void KubeConnection::Close() {
  is_closed_ = true;
  error_code ignored;
  std::ignore = socket_.close(ignored);
  std::ignore = expiry_.cancel();
}

bool KubeConnection::IsUsable() {
  if (!socket_.is_open() || received_.size() > 0) return false;
  std::array<char, 1> byte{};
  const ssize_t count =
      ::recv(socket_.native_handle(), byte.data(), byte.size(), MSG_PEEK | MSG_DONTWAIT);
  return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

std::string KubeConnection::Describe(const error_code& error) const {
  if (!expiry_text_.empty()) return expiry_text_;
  if (error == asio::error::operation_aborted) return "given up";
  return error.message();
}

}  // namespace offcut::api
