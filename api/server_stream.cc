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

void ServerStream::EndSending() {
  error_code ignored;  // the peer may have closed first
  std::ignore = plain_.socket().shutdown(tcp::socket::shutdown_send, ignored);
}

bool ServerStream::NothingReceived() {
  error_code error;  // a dead socket has nothing for us
  if (plain_.socket().available(error) != 0 && !error) return false;
  if (!tls_) return true;
  SSL* const tls = tls_->native_handle();
  return SSL_pending(tls) == 0 && BIO_pending(SSL_get_rbio(tls)) == 0;
}

}  // namespace offcut::api
