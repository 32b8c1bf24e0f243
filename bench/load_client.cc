#include "bench/load_client.h"

#include <array>
#include <optional>
#include <utility>
#include <variant>

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

namespace offcut::bench {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using api::Error;
using api::ErrorKind;
using Socket = asio::ip::tcp::socket;
using TlsStream = asio::ssl::stream<Socket>;

// Beast reads as much at once as its buffer has room for.
constexpr std::size_t kReadBytes = std::size_t{256} * 1024;

std::unexpected<Error> Failed(std::string_view what, const boost::system::error_code& code) {
  return std::unexpected(
      Error{ErrorKind::kUnavailable, fmt::format("cannot {}: {}", what, code.message())});
}

// A blocking call on a server that is stuck would never end.
void SetTimeouts(Socket& socket) {
  const timeval timeout{.tv_sec = kLoadCallTimeout.count(), .tv_usec = 0};
  setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(socket.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
}

template <typename Stream>
std::expected<void, Error> Exchange(Stream& stream, beast::flat_buffer& buffer,
                                    std::string_view header, std::string_view body,
                                    http::response<http::string_body>& answer) {
  boost::system::error_code code;
  const std::array<asio::const_buffer, 2> parts = {asio::buffer(header), asio::buffer(body)};
  asio::write(stream, parts, code);
  if (code) return Failed("send", code);
  http::response_parser<http::string_body> parser;
  parser.body_limit(boost::none);
  parser.get().body().swap(answer.body());  // its memory is used again
  parser.get().body().clear();
  http::read(stream, buffer, parser, code);
  if (code) return Failed("read the answer", code);
  answer = parser.release();
  return {};
}

}  // namespace

struct LoadClient::Connection {
  asio::io_context context;
  asio::ssl::context tls{asio::ssl::context::tls_client};
  std::variant<std::monostate, Socket, TlsStream> stream;
  beast::flat_buffer buffer;
  std::string header;
  http::response<http::string_body> answer;
};

LoadClient::LoadClient(std::unique_ptr<Connection> connection)
    : connection_(std::move(connection)) {}
LoadClient::~LoadClient() = default;
LoadClient::LoadClient(LoadClient&&) noexcept = default;
LoadClient& LoadClient::operator=(LoadClient&&) noexcept = default;

std::expected<LoadClient, Error> LoadClient::Connect(std::uint16_t port, bool with_tls) {
  auto connection = std::make_unique<Connection>();
  connection->buffer.reserve(kReadBytes);
  boost::system::error_code code;
  Socket socket(connection->context);
  if (socket.connect({asio::ip::address_v4::loopback(), port}, code)) {
    return Failed("connect", code);
  }
  if (socket.set_option(asio::ip::tcp::no_delay(true), code)) return Failed("connect", code);
  SetTimeouts(socket);
  if (with_tls) {
    auto& stream = connection->stream.emplace<TlsStream>(std::move(socket), connection->tls);
    if (stream.handshake(asio::ssl::stream_base::client, code)) {
      return Failed("shake hands", code);
    }
  } else {
    connection->stream.emplace<Socket>(std::move(socket));
  }
  return LoadClient(std::move(connection));
}

std::expected<std::string_view, Error> LoadClient::Post(std::string_view target,
                                                        std::string_view body) {
  Connection& connection = *connection_;
  connection.header = fmt::format(
      "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n",
      target, body.size());
  const auto exchange = [&](auto& stream) -> std::expected<void, Error> {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(stream)>, std::monostate>) {
      std::unreachable();
    } else {
      return Exchange(stream, connection.buffer, connection.header, body, connection.answer);
    }
  };
  const auto done = std::visit(exchange, connection.stream);
  if (!done) return std::unexpected(done.error());
  if (connection.answer.result_int() != 200) {
    return std::unexpected(Error{
        ErrorKind::kUnavailable,
        fmt::format("{} was answered with status {}: {}", target, connection.answer.result_int(),
                    connection.answer.body().substr(0, 200))});
  }
  return connection.answer.body();
}

}  // namespace offcut::bench
