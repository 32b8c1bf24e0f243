#include "test/testing/certificates.h"

#include <cstdio>
#include <cstdlib>

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace offcut {
namespace {

constexpr long kLifeS = 24L * 60 * 60;

void Require(bool is_good) {
  if (is_good) return;
  ERR_print_errors_fp(stderr);
  std::abort();
}

// What `write` puts into a BIO.
template <typename Write>
std::string Pem(Write write) {
  BIO* bio = BIO_new(BIO_s_mem());
  Require(bio != nullptr && write(bio) == 1);
  char* bytes = nullptr;
  const long count = BIO_get_mem_data(bio, &bytes);
  std::string pem(bytes, static_cast<std::size_t>(count));
  BIO_free(bio);
  return pem;
}

void AddExtension(X509* certificate, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
  Require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

X509* NewCertificate(const std::string& name, long serial, EVP_PKEY* key) {
  X509* certificate = X509_new();
  Require(certificate != nullptr && X509_set_version(certificate, 2) == 1);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kLifeS);
  X509_gmtime_adj(X509_getm_notAfter(certificate), kLifeS);
  Require(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                     reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                     0) == 1);
  Require(X509_set_pubkey(certificate, key) == 1);
  return certificate;
}

EVP_PKEY* NewKey() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  Require(key != nullptr);
  return key;
}

}  // namespace

CertificateAuthority::CertificateAuthority(const std::string& name)
    : key_(NewKey()), certificate_(NewCertificate(name, 1, key_.get())) {
  X509* certificate = certificate_.get();
  Require(X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) == 1);
  AddExtension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
  AddExtension(certificate, certificate, NID_subject_key_identifier, "hash");
  Require(X509_sign(certificate, key_.get(), EVP_sha256()) > 0);
}

std::string CertificateAuthority::Pem() const {
  return offcut::Pem([this](BIO* bio) { return PEM_write_bio_X509(bio, certificate_.get()); });
}

CertifiedKey CertificateAuthority::Issue(const std::string& names) const {
  static long serial = 1;
  const Key key(NewKey());
  const Certificate certificate(NewCertificate("issued", ++serial, key.get()));
  Require(X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate_.get())) == 1);
  AddExtension(certificate.get(), certificate_.get(), NID_subject_alt_name, names);
  AddExtension(certificate.get(), certificate_.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  Require(X509_sign(certificate.get(), key_.get(), EVP_sha256()) > 0);
  return {.certificate =
              offcut::Pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate.get()); }),
          .key = offcut::Pem([&](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace offcut
