// A client that speaks TLS with blocking reads and writes, each of which fails after 30 s: what a
// test of a server needs to see of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

#include "test/testing/certificates.h"

namespace offcut {

struct TlsClientSettings {
  std::string authorities;                // PEM, of the server
  std::optional<CertifiedKey> certified;  // who the client is
  int version_max = 0;                    // TLS1_2_VERSION and its like; 0: any
};

class TlsClient {
 public:
  // Connects to loopback. The handshake is the caller's.
  TlsClient(std::uint16_t port, const TlsClientSettings& settings);
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;
  ~TlsClient();

  // Empty: it is done. Else why not, in OpenSSL's words.
  std::string ShakeHands();

  // False: the server takes no more.
  bool Send(std::string_view bytes);

  // Below TLS: bytes that no handshake is made of.
  bool SendRaw(std::string_view bytes) const;

  // The body of a response with a Content-Length; nullopt: none came. Error() says why.
  std::optional<std::string> Receive();

  // `request`, and its response's body.
  std::optional<std::string> Ask(std::string_view request);

  // True: the server has said that nothing follows. False: the connection just ended.
  bool EndsInGoodOrder();

  // Waits until the server closes the connection below TLS, and drops what it sends.
  bool WaitForRawClose() const;

  // What the last operation met.
  const std::string& Error() const { return error_; }

 private:
  bool ReceiveSome();

  const int socket_;
  SSL_CTX* const context_;
  SSL* const tls_;
  std::string received_;
  std::string error_;
};

}  // namespace offcut
