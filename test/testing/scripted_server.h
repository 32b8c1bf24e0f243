// An HTTP server that does what a test says, byte by byte: what a real one would not do on demand.
// Each connection runs the script on a thread of its own, with blocking reads and writes that fail
// after 30 s.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <openssl/ssl.h>

#include "test/testing/certificates.h"

namespace offcut {

struct PeerRequest {
  std::string method;
  std::string target;
  std::string head;  // with the request line and the blank line
  std::string body;

  // The value of the field, or empty. Case matters.
  std::string Field(std::string_view name) const;
};

// The server's end of one connection.
class Peer {
 public:
  Peer(int socket, SSL* tls) : socket_(socket), tls_(tls) {}

  // nullopt: the client has closed.
  std::optional<PeerRequest> ReadRequest();
  bool Send(std::string_view bytes);
  // Waits for the client to close, and drops what it sends.
  void WaitForClose();
  // Closes now; on loopback the client's end knows it when this returns.
  void Close();
  // Ends the connection with a reset instead of in good order.
  void Reset();

 private:
  bool ReceiveSome();

  const int socket_;
  SSL* const tls_;  // null: plain
  std::string received_;
};

// The script of one connection; `number` counts from 0. The connection ends with it.
using Script = std::function<void(Peer& peer, int number)>;

struct ServerTls {
  CertifiedKey certified;
  std::string client_authorities;  // not empty: a client's certificate is required
};

class ScriptedServer {
 public:
  explicit ScriptedServer(Script script, std::optional<ServerTls> tls = std::nullopt);
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  ~ScriptedServer();  // ends all connections

  std::uint16_t Port() const { return port_; }
  int Connections() const;  // so far

 private:
  void Accept();
  void Serve(int socket, int number);

  Script script_;
  SSL_CTX* tls_ = nullptr;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  bool stopping_ = false;
  std::vector<int> sockets_;  // by number; -1: ended
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// "HTTP/1.1 200 OK" with the fields and the body.
std::string Reply(int status, std::string_view body, std::string_view more_fields = "");
// The head of a response whose body comes in chunks, and one chunk.
std::string ChunkedHead(int status = 200);
std::string Chunk(std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace offcut
