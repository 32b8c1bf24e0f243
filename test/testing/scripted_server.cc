#include "test/testing/scripted_server.h"

#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
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

SSL_CTX* MakeContext(const ServerTls& tls) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  BIO* certificate_bio = BIO_new_mem_buf(tls.certified.certificate.data(), -1);
  BIO* key_bio = BIO_new_mem_buf(tls.certified.key.data(), -1);
  X509* certificate = PEM_read_bio_X509(certificate_bio, nullptr, nullptr, nullptr);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(key_bio, nullptr, nullptr, nullptr);
  Require(SSL_CTX_use_certificate(context, certificate) == 1, "certificate");
  Require(SSL_CTX_use_PrivateKey(context, key) == 1, "key");
  X509_free(certificate);
  EVP_PKEY_free(key);
  BIO_free(certificate_bio);
  BIO_free(key_bio);
  if (!tls.client_authorities.empty()) {
    BIO* bio = BIO_new_mem_buf(tls.client_authorities.data(), -1);
    X509* authority = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
    Require(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority) == 1, "authority");
    X509_free(authority);
    BIO_free(bio);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

}  // namespace

std::string PeerRequest::Field(std::string_view name) const {
  const std::string start = fmt::format("\r\n{}: ", name);
  const std::size_t at = head.find(start);
  if (at == std::string::npos) return {};
  const std::size_t value = at + start.size();
  return head.substr(value, head.find("\r\n", value) - value);
}

std::optional<PeerRequest> Peer::ReadRequest() {
  constexpr std::string_view blank_line = "\r\n\r\n";
  std::size_t end = received_.find(blank_line);
  while (end == std::string::npos) {
    if (!ReceiveSome()) return std::nullopt;
    end = received_.find(blank_line);
  }
  PeerRequest request;
  request.head = received_.substr(0, end + blank_line.size());
  received_.erase(0, request.head.size());
  const std::size_t space = request.head.find(' ');
  request.method = request.head.substr(0, space);
  request.target = request.head.substr(space + 1, request.head.find(' ', space + 1) - space - 1);
  const std::string length_text = request.Field("Content-Length");
  std::size_t length = 0;
  std::from_chars(length_text.data(), length_text.data() + length_text.size(), length);
  while (received_.size() < length) {
    if (!ReceiveSome()) return std::nullopt;
  }
  request.body = received_.substr(0, length);
  received_.erase(0, length);
  return request;
}

bool Peer::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = tls_ != nullptr
                           ? SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()))
                           : static_cast<int>(::send(socket_, bytes.data(), bytes.size(), 0));
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool Peer::ReceiveSome() {
  std::array<char, 65536> bytes;
  const int size = static_cast<int>(bytes.size());
  const int count = tls_ != nullptr
                        ? SSL_read(tls_, bytes.data(), size)
                        : static_cast<int>(::recv(socket_, bytes.data(), bytes.size(), 0));
  if (count <= 0) return false;
  received_.append(bytes.data(), static_cast<std::size_t>(count));
  return true;
}

void Peer::WaitForClose() {
  while (ReceiveSome()) received_.clear();
}

void Peer::Close() {
  if (tls_ != nullptr) SSL_shutdown(tls_);
  ::shutdown(socket_, SHUT_RDWR);
}

void Peer::Reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

ScriptedServer::ScriptedServer(Script script, std::optional<ServerTls> tls)
    : script_(std::move(script)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets that the client has closed
  if (tls) tls_ = MakeContext(*tls);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  Require(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0, "bind");
  Require(::listen(listener_, SOMAXCONN) == 0, "listen");
  Require(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0, "name");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

ScriptedServer::~ScriptedServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const int socket : sockets_) {
      if (socket >= 0) ::shutdown(socket, SHUT_RDWR);
    }
  }
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  ::close(listener_);
  SSL_CTX_free(tls_);
}

int ScriptedServer::Connections() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(sockets_.size());
}

void ScriptedServer::Accept() {
  for (;;) {
    const int socket = ::accept(listener_, nullptr, nullptr);
    if (socket < 0) return;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const timeval patience{.tv_sec = kPatienceS, .tv_usec = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      ::close(socket);
      return;
    }
    const int number = static_cast<int>(sockets_.size());
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket, number] { Serve(socket, number); });
  }
}

void ScriptedServer::Serve(int socket, int number) {
  SSL* tls = nullptr;
  bool is_open = true;
  if (tls_ != nullptr) {
    tls = SSL_new(tls_);
    SSL_set_fd(tls, socket);
    is_open = SSL_accept(tls) == 1;
  }
  if (is_open) {
    Peer peer(socket, tls);
    script_(peer, number);
    if (tls != nullptr) SSL_shutdown(tls);
  }
  SSL_free(tls);
  const std::lock_guard lock(mutex_);
  sockets_[static_cast<std::size_t>(number)] = -1;
  ::close(socket);
}

std::string Reply(int status, std::string_view body, std::string_view more_fields) {
  return fmt::format("HTTP/1.1 {} Text\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(),
                     more_fields, body);
}

std::string ChunkedHead(int status) {
  return fmt::format("HTTP/1.1 {} Text\r\nTransfer-Encoding: chunked\r\n\r\n", status);
}

std::string Chunk(std::string_view bytes) {
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

}  // namespace offcut
