#include "api/tls_files.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "api/kube_config.h"
#include "api/text_fields.h"

namespace offcut::api {
namespace {

std::unexpected<Error> Bad(std::string message) {
  return std::unexpected(Error{ErrorKind::kBadRequest, std::move(message)});
}

// `flag` is the one that names the file.
std::expected<NamedPem, Error> ReadPemFile(std::string_view flag, const std::string& file) {
  auto text = ReadWholeFile(file, kCredentialBytesMax);
  if (!text) {
    return std::unexpected(
        Error{text.error().kind, fmt::format("{}: {}", flag, text.error().message)});
  }
  if (WithoutBlanks(*text).empty()) return Bad(fmt::format("{}: {} is empty", flag, file));
  return NamedPem{.name = fmt::format("{} ({})", flag, file), .text = *std::move(text)};
}

}  // namespace

std::expected<std::optional<ServerTlsSettings>, Error> ReadServerTls(const ServerTlsFiles& files) {
  constexpr std::string_view certificate_flag = "--tls-cert-file";
  constexpr std::string_view key_flag = "--tls-private-key-file";
  constexpr std::string_view authorities_flag = "--tls-client-ca-file";
  const bool has_certificate = !files.certificate.empty();
  if (has_certificate != !files.private_key.empty()) {
    return Bad(fmt::format("{} needs {}", has_certificate ? certificate_flag : key_flag,
                           has_certificate ? key_flag : certificate_flag));
  }
  if (!has_certificate) {
    if (files.client_authorities.empty()) return std::nullopt;
    return Bad(fmt::format("{} needs {} and {}", authorities_flag, certificate_flag, key_flag));
  }
  auto certificate = ReadPemFile(certificate_flag, files.certificate);
  if (!certificate) return std::unexpected(certificate.error());
  auto key = ReadPemFile(key_flag, files.private_key);
  if (!key) return std::unexpected(key.error());
  ServerTlsSettings settings{.certificate_chain = *std::move(certificate),
                             .private_key = *std::move(key),
                             .client_authorities = std::nullopt};
  if (files.client_authorities.empty()) return settings;
  auto authorities = ReadPemFile(authorities_flag, files.client_authorities);
  if (!authorities) return std::unexpected(authorities.error());
  settings.client_authorities = *std::move(authorities);
  return settings;
}

}  // namespace offcut::api
