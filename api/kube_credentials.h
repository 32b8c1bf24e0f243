// What proves us to the API server and it to us, kept fresh: tokens are replaced every hour,
// authorities and client certificates now and then, all by new files under the old names.
// Owned by the client's thread; reads small files there. Time comes in as an argument.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "api/error.h"
#include "api/kube_config.h"

namespace offcut::api {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

class KubeCredentials {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Reads every file once. `recheck` is the age at which a file is read again.
  // Errors: a file that cannot be read, or is no PEM; they name it.
  static std::expected<KubeCredentials, Error> Load(KubeConfig config, TimePoint now,
                                                    std::chrono::milliseconds recheck);

  // The bearer token, or empty. While its file cannot be read, the last one stays.
  const std::string& Token(TimePoint now);

  // After a 401 for `refused`: reads the file at once. True: there is another token now.
  bool ReplaceToken(const std::string& refused, TimePoint now);

  // For new connections; null without TLS. A new pointer means that the files have changed. While
  // they cannot be read or do not fit together (half of a pair has been replaced), the last one
  // stays.
  TlsContext Tls(TimePoint now);

  const KubeConfig& Config() const { return config_; }

 private:
  // What the files of the configuration say.
  struct Material {
    std::string authorities;
    std::string client_certificate;
    std::string client_key;
    bool operator==(const Material&) const = default;
  };

  KubeCredentials(KubeConfig config, std::chrono::milliseconds recheck)
      : config_(std::move(config)), recheck_(recheck) {}

  std::expected<void, Error> ReadToken(TimePoint now);
  std::expected<void, Error> ReadTls(TimePoint now);
  std::expected<Material, Error> ReadMaterial() const;
  std::expected<TlsContext, Error> MakeContext(const Material& material) const;

  KubeConfig config_;
  std::chrono::milliseconds recheck_;
  std::string token_;
  TimePoint token_read_;
  Material material_;
  TlsContext tls_;
  TimePoint tls_read_;
};

}  // namespace offcut::api
