// Who a server is to its clients, and which clients it takes: certificates and keys in PEM. Pure.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "api/error.h"

namespace offcut::api {

struct NamedPem {
  std::string name;  // for errors: "--tls-cert-file (/etc/offcut/tls.crt)"
  std::string text;
};

struct ServerTlsSettings {
  NamedPem certificate_chain;  // the server's own first, then who signed it
  NamedPem private_key;        // without a passphrase: there is nobody to ask
  // A client must show a certificate of one of these authorities (mutual TLS).
  std::optional<NamedPem> client_authorities;
};

// TLS 1.2 or newer. May be shared by threads, as no setting changes later.
// Errors: kBadRequest, by the name of what has no PEM of its kind, does not fit, or has a
// passphrase.
std::expected<std::shared_ptr<boost::asio::ssl::context>, Error> MakeServerTls(
    const ServerTlsSettings& settings);

}  // namespace offcut::api
