#include "api/kube_credentials.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/system/error_code.hpp>
#include <fmt/format.h>
#include <openssl/ssl.h>
#include <spdlog/spdlog.h>

#include "api/text_fields.h"

namespace offcut::api {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

std::expected<std::string, Error> ReadPem(const PemSource& source) {
  if (!source.pem.empty() || source.file.empty()) return source.pem;
  return ReadWholeFile(source.file, kCredentialBytesMax);
}

std::unexpected<Error> BadPem(std::string_view what, const PemSource& source, error_code error) {
  const std::string_view place = source.pem.empty() ? std::string_view(source.file) : "inline";
  return std::unexpected(
      Error{ErrorKind::kBadRequest, fmt::format("{} ({}): {}", what, place, error.message())});
}

// A token goes into a header line as it is.
std::expected<std::string, Error> CheckToken(std::string_view text, const std::string& file) {
  const std::string_view token = WithoutBlanks(text);
  if (std::ranges::any_of(token, [](char c) { return c <= ' ' || c >= '\x7f'; })) {
    return std::unexpected(
        Error{ErrorKind::kBadRequest, fmt::format("the token{}{} has characters that no token has",
                                                  file.empty() ? "" : " of ", file)});
  }
  if (token.empty() && !file.empty()) {
    return std::unexpected(Error{ErrorKind::kBadRequest, fmt::format("{} is empty", file)});
  }
  return std::string(token);
}

}  // namespace

std::expected<KubeCredentials, Error> KubeCredentials::Load(KubeConfig config, TimePoint now,
                                                            std::chrono::milliseconds recheck) {
  auto token = CheckToken(config.token, "");
  if (!token) return std::unexpected(token.error());
  KubeCredentials credentials(std::move(config), recheck);
  credentials.token_ = *std::move(token);
  if (!credentials.config_.token_file.empty()) {
    const auto read = credentials.ReadToken(now);
    if (!read && credentials.token_.empty()) return std::unexpected(read.error());
  }
  if (credentials.config_.tls) {
    const auto read = credentials.ReadTls(now);
    if (!read) return std::unexpected(read.error());
  }
  return credentials;
}

const std::string& KubeCredentials::Token(TimePoint now) {
  if (!config_.token_file.empty() && now - token_read_ >= recheck_) {
    const auto read = ReadToken(now);
    if (!read) spdlog::warn("the token stays as it is: {}", read.error().message);
  }
  return token_;
}

bool KubeCredentials::ReplaceToken(const std::string& refused, TimePoint now) {
  if (config_.token_file.empty()) return false;
  const auto read = ReadToken(now);
  if (!read) spdlog::warn("the token was refused, and stays: {}", read.error().message);
  return token_ != refused;
}

std::expected<void, Error> KubeCredentials::ReadToken(TimePoint now) {
  token_read_ = now;
  const auto text = ReadWholeFile(config_.token_file, kCredentialBytesMax);
  if (!text) return std::unexpected(text.error());
  auto token = CheckToken(*text, config_.token_file);
  if (!token) return std::unexpected(token.error());
  token_ = *std::move(token);
  return {};
}

TlsContext KubeCredentials::Tls(TimePoint now) {
  const bool has_files = !config_.authorities.file.empty() ||
                         !config_.client_certificate.file.empty() ||
                         !config_.client_key.file.empty();
  if (config_.tls && has_files && now - tls_read_ >= recheck_) {
    const auto read = ReadTls(now);
    if (!read) spdlog::warn("the certificates stay as they are: {}", read.error().message);
  }
  return tls_;
}

std::expected<void, Error> KubeCredentials::ReadTls(TimePoint now) {
  tls_read_ = now;
  auto material = ReadMaterial();
  if (!material) return std::unexpected(material.error());
  if (tls_ != nullptr && *material == material_) return {};
  auto context = MakeContext(*material);
  if (!context) return std::unexpected(context.error());
  material_ = *std::move(material);
  tls_ = *std::move(context);
  return {};
}

std::expected<KubeCredentials::Material, Error> KubeCredentials::ReadMaterial() const {
  auto authorities = ReadPem(config_.authorities);
  if (!authorities) return std::unexpected(authorities.error());
  auto certificate = ReadPem(config_.client_certificate);
  if (!certificate) return std::unexpected(certificate.error());
  auto key = ReadPem(config_.client_key);
  if (!key) return std::unexpected(key.error());
  return Material{.authorities = *std::move(authorities),
                  .client_certificate = *std::move(certificate),
                  .client_key = *std::move(key)};
}

std::expected<TlsContext, Error> KubeCredentials::MakeContext(const Material& material) const {
  error_code error;
  auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  const bool verify = !config_.insecure_skip_tls_verify;
  std::ignore = context->set_verify_mode(verify ? ssl::verify_peer : ssl::verify_none, error);
  if (config_.authorities.IsEmpty()) {
    std::ignore = context->set_default_verify_paths(error);
    if (error) return BadPem("the system's authorities", config_.authorities, error);
  } else {
    std::ignore =
        context->add_certificate_authority(boost::asio::buffer(material.authorities), error);
    if (error) return BadPem("the certificate authority", config_.authorities, error);
  }
  if (config_.client_certificate.IsEmpty()) return context;
  std::ignore =
      context->use_certificate_chain(boost::asio::buffer(material.client_certificate), error);
  if (error) return BadPem("the client certificate", config_.client_certificate, error);
  std::ignore =
      context->use_private_key(boost::asio::buffer(material.client_key), ssl::context::pem, error);
  if (error) return BadPem("the client key", config_.client_key, error);
  return context;
}

}  // namespace offcut::api
