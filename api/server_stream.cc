#include "api/server_stream.h"

#include <utility>

#include <openssl/bio.h>
#include <openssl/ssl.h>

namespace offcut::api {

using boost::asio::ip::tcp;
using boost::system::error_code;

ServerStream::ServerStream(ServerSocket socket, boost::asio::ssl::context* tls)
    : plain_(std::move(socket)) {
  if (tls != nullptr) tls_.emplace(plain_, *tls);
  error_code ignored;  // the peer may be gone already; the first read finds out
  std::ignore = plain_.socket().set_option(tcp::no_delay(true), ignored);
}

ServerAwaitable<error_code> ServerStream::ShakeHands() {
  const auto [error] =
      co_await tls_->async_handshake(boost::asio::ssl::stream_base::server, kServerAwait);
  co_return error;
}

ServerAwaitable<void> ServerStream::Finish(boost::asio::mutable_buffer scratch,
                                           std::size_t bytes_max) {
  // It may fail: the peer has closed already, or is in the middle of a body that we did not take,
  // or there was no handshake.
  if (tls_) std::ignore = co_await tls_->async_shutdown(kServerAwait);
  error_code ignored;
  std::ignore = plain_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  for (std::size_t bytes = 0; bytes < bytes_max;) {
    const auto [error, count] = co_await plain_.async_read_some(scratch, kServerAwait);
    if (error) co_return;
    bytes += count;
  }
}

bool ServerStream::NothingReceived() {
  error_code error;  // a dead socket has nothing for us
  if (plain_.socket().available(error) != 0 && !error) return false;
  if (!tls_) return true;
  SSL* const tls = tls_->native_handle();
  return SSL_pending(tls) == 0 && BIO_pending(SSL_get_rbio(tls)) == 0;
}

}  // namespace offcut::api
