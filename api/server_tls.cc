#include "api/server_tls.h"

#include <string_view>
#include <tuple>

#include <boost/asio/buffer.hpp>
#include <boost/system/error_code.hpp>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

namespace offcut::api {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

// Sessions are only resumed where they were begun with the same question for a certificate.
constexpr std::string_view kSessionContext = "offcut";

std::unexpected<Error> Bad(const NamedPem& pem, std::string_view what) {
  return std::unexpected(Error{ErrorKind::kBadRequest, fmt::format("{}: {}", pem.name, what)});
}

// Tells clients by name whose certificates we take, so that one with several can choose. Returns
// how many authorities there are.
int NameAuthorities(SSL_CTX* context, std::string_view pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  int count = 0;
  while (X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr)) {
    count += SSL_CTX_add_client_CA(context, certificate);
    X509_free(certificate);
  }
  ERR_clear_error();  // the end of the text is an error to OpenSSL
  BIO_free(bio);
  return count;
}

std::expected<void, Error> RequireClients(ssl::context& context, const NamedPem& authorities) {
  if (NameAuthorities(context.native_handle(), authorities.text) == 0) {
    return Bad(authorities, "no certificate in it");
  }
  error_code error;
  std::ignore = context.add_certificate_authority(boost::asio::buffer(authorities.text), error);
  if (error) return Bad(authorities, error.message());
  std::ignore = context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, error);
  return {};
}

}  // namespace

std::expected<std::shared_ptr<ssl::context>, Error> MakeServerTls(
    const ServerTlsSettings& settings) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  // A client that asks for new keys again and again would keep the one thread busy.
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_id_context(native,
                                 reinterpret_cast<const unsigned char*>(kSessionContext.data()),
                                 static_cast<unsigned>(kSessionContext.size()));
  error_code error;
  // Without it OpenSSL would ask on the terminal.
  std::ignore = context->set_password_callback(
      [](std::size_t, ssl::context::password_purpose) { return std::string(); }, error);
  std::ignore =
      context->use_certificate_chain(boost::asio::buffer(settings.certificate_chain.text), error);
  if (error) return Bad(settings.certificate_chain, error.message());
  std::ignore = context->use_private_key(boost::asio::buffer(settings.private_key.text),
                                         ssl::context::pem, error);
  // OpenSSL compares the two where both are there.
  if (error) return Bad(settings.private_key, error.message());
  if (settings.client_authorities) {
    const auto required = RequireClients(*context, *settings.client_authorities);
    if (!required) return std::unexpected(required.error());
  }
  return context;
}

}  // namespace offcut::api
