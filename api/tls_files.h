// The certificate files of `offcut serve`. Reads files; keeps nothing.
#pragma once

#include <expected>
#include <optional>
#include <string>

#include "api/error.h"
#include "api/server_tls.h"

namespace offcut::api {

struct ServerTlsFiles {  // paths; empty: none
  std::string certificate;
  std::string private_key;
  std::string client_authorities;
};

// nullopt: plain HTTP, as no file is named.
// Errors: kBadRequest (a certificate without its key, a key without its certificate, authorities of
// clients without either; an empty file), or as ReadWholeFile() has them; by flag and file.
std::expected<std::optional<ServerTlsSettings>, Error> ReadServerTls(const ServerTlsFiles& files);

}  // namespace offcut::api
