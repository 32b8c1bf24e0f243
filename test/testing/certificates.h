// Certificates made on the spot, by an authority of the test's own. What OpenSSL refuses ends the
// test program, since no test could mean anything.
#pragma once

#include <memory>
#include <string>

#include <openssl/evp.h>
#include <openssl/x509.h>

namespace offcut {

struct CertifiedKey {  // PEM
  std::string certificate;
  std::string key;
};

class CertificateAuthority {
 public:
  explicit CertificateAuthority(const std::string& name);

  std::string Pem() const;

  // `names` as OpenSSL writes them: "DNS:localhost,IP:127.0.0.1". Good for servers and clients.
  CertifiedKey Issue(const std::string& names) const;

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
  };
  using Key = std::unique_ptr<EVP_PKEY, Free>;
  using Certificate = std::unique_ptr<X509, Free>;

  Key key_;
  Certificate certificate_;
};

}  // namespace offcut
