#include "test/testing/tls_client.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace offcut {
namespace {

constexpr int kPatienceS = 30;

void Require(bool is_good, const char* what) {
  if (is_good) return;
  std::perror(what);
  ERR_print_errors_fp(stderr);
  std::abort();
}

int Connect(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const timeval patience{.tv_sec = kPatienceS, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Require(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "connect");
  return socket;
}

void Certify(SSL_CTX* context, const CertifiedKey& certified) {
  BIO* certificate_bio = BIO_new_mem_buf(certified.certificate.data(), -1);
  BIO* key_bio = BIO_new_mem_buf(certified.key.data(), -1);
  X509* certificate = PEM_read_bio_X509(certificate_bio, nullptr, nullptr, nullptr);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(key_bio, nullptr, nullptr, nullptr);
  Require(SSL_CTX_use_certificate(context, certificate) == 1, "certificate");
  Require(SSL_CTX_use_PrivateKey(context, key) == 1, "key");
  X509_free(certificate);
  EVP_PKEY_free(key);
  BIO_free(certificate_bio);
  BIO_free(key_bio);
}

SSL_CTX* MakeContext(const TlsClientSettings& settings) {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  // The lowest of OpenSSL's security levels still knows TLS 1.1.
  SSL_CTX_set_security_level(context, 0);
  SSL_CTX_set_min_proto_version(context, 0);
  SSL_CTX_set_max_proto_version(context, settings.version_max);
  if (!settings.authorities.empty()) {
    BIO* bio = BIO_new_mem_buf(settings.authorities.data(), -1);
    X509* authority = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
    Require(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority) == 1, "authority");
    X509_free(authority);
    BIO_free(bio);
  }
  if (settings.certified) Certify(context, *settings.certified);
  return context;
}

// What OpenSSL, or the system below it, says of the last failure.
std::string LastError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "the connection ended";
  const char* const reason = ERR_reason_error_string(code);
  return reason == nullptr ? "unknown" : reason;
}

}  // namespace

TlsClient::TlsClient(std::uint16_t port, const TlsClientSettings& settings)
    : socket_(Connect(port)), context_(MakeContext(settings)), tls_(SSL_new(context_)) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that the server has closed
  Require(SSL_set_fd(tls_, socket_) == 1, "socket");
}

TlsClient::~TlsClient() {
  SSL_free(tls_);
  SSL_CTX_free(context_);
  ::close(socket_);
}

std::string TlsClient::ShakeHands() {
  ERR_clear_error();
  error_ = SSL_connect(tls_) == 1 ? "" : LastError();
  return error_;
}

bool TlsClient::Send(std::string_view bytes) {
  return SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size())) > 0;
}

bool TlsClient::SendRaw(std::string_view bytes) const {
  return ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

std::optional<std::string> TlsClient::Receive() {
  constexpr std::string_view blank_line = "\r\n\r\n";
  constexpr std::string_view field = "\r\nContent-Length: ";
  std::size_t end = received_.find(blank_line);
  while (end == std::string::npos) {
    if (!ReceiveSome()) return std::nullopt;
    end = received_.find(blank_line);
  }
  std::size_t length = 0;
  const std::size_t at = received_.find(field);
  if (at < end) {
    std::from_chars(received_.data() + at + field.size(), received_.data() + end, length);
  }
  received_.erase(0, end + blank_line.size());
  while (received_.size() < length) {
    if (!ReceiveSome()) return std::nullopt;
  }
  std::string body = received_.substr(0, length);
  received_.erase(0, length);
  return body;
}

std::optional<std::string> TlsClient::Ask(std::string_view request) {
  Send(request);
  return Receive();
}

bool TlsClient::EndsInGoodOrder() {
  while (ReceiveSome()) received_.clear();
  return (SSL_get_shutdown(tls_) & SSL_RECEIVED_SHUTDOWN) != 0 && error_.empty();
}

bool TlsClient::WaitForRawClose() const {
  std::array<char, 4096> bytes;
  ssize_t count = 1;
  while (count > 0) count = ::recv(socket_, bytes.data(), bytes.size(), 0);
  return count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

bool TlsClient::ReceiveSome() {
  std::array<char, 65536> bytes;
  ERR_clear_error();
  const int count = SSL_read(tls_, bytes.data(), static_cast<int>(bytes.size()));
  if (count > 0) {
    received_.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
  }
  error_ = SSL_get_error(tls_, count) == SSL_ERROR_ZERO_RETURN ? "" : LastError();
  return false;
}

}  // namespace offcut
