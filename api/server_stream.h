// A connection's bytes, plain or by TLS, with a deadline. One branch an operation tells the two
// apart, and both are the same Awaitable: plain HTTP pays nothing else for TLS.
// Owned by the listener's thread; one operation at a time.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/system/error_code.hpp>

#include "api/server_asio.h"

namespace offcut::api {

class ServerStream {
 public:
  // How an operation ended, and how many bytes it moved.
  using Moved = std::tuple<boost::system::error_code, std::size_t>;

  // `tls` is null for plain bytes; it must outlive the stream.
  ServerStream(ServerSocket socket, boost::asio::ssl::context* tls);

  bool IsTls() const { return tls_.has_value(); }

  // For the operations that begin from now on, all together; then they fail and the socket closes.
  void ExpireAfter(std::chrono::milliseconds timeout) { plain_.expires_after(timeout); }

  // The server's side of the handshake. Requires: IsTls().
  ServerAwaitable<std::tuple<boost::system::error_code>> ShakeHands() {
    return tls_->async_handshake(boost::asio::ssl::stream_base::server, kServerAwait);
  }

  ServerAwaitable<Moved> ReadSome(boost::asio::mutable_buffer room) {
    return tls_ ? tls_->async_read_some(room, kServerAwait)
                : plain_.async_read_some(room, kServerAwait);
  }

  // Writes some of `head`, or where that is empty of `body`; plain also of both in one step.
  ServerAwaitable<Moved> WriteSome(std::string_view head, std::string_view body) {
    const std::array<boost::asio::const_buffer, 2> buffers{
        boost::asio::buffer(head.data(), head.size()),
        boost::asio::buffer(body.data(), body.size())};
    return tls_ ? tls_->async_write_some(buffers, kServerAwait)
                : plain_.async_write_some(buffers, kServerAwait);
  }

  // Says under TLS that nothing will follow, and waits for the peer to say so, too. Fails where
  // the peer has closed already, is in the middle of a body, or never shook hands. Requires:
  // IsTls().
  ServerAwaitable<std::tuple<boost::system::error_code>> EndTls() {
    return tls_->async_shutdown(kServerAwait);
  }

  // Says below TLS that nothing will follow.
  void EndSending();

  // Takes bytes as they come, below TLS: to drop them after EndSending().
  ServerAwaitable<Moved> ReadSomeRaw(boost::asio::mutable_buffer room) {
    return plain_.async_read_some(room, kServerAwait);
  }

  // True when nothing of the peer waits to be read.
  bool NothingReceived();

  void Cancel() { plain_.cancel(); }  // what is awaited ends with an error
  void Close() { plain_.close(); }

 private:
  using Plain = boost::beast::basic_stream<boost::asio::ip::tcp, ServerExecutor>;

  Plain plain_;
  std::optional<boost::asio::ssl::stream<Plain&>> tls_;
};

}  // namespace offcut::api
