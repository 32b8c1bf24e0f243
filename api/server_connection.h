// One peer of a Server: its requests, one after the other, in one coroutine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "api/body_buffer.h"
#include "api/http.h"
#include "api/server.h"
#include "api/server_asio.h"
#include "api/server_listener.h"
#include "api/server_stream.h"

namespace offcut::api {

// What a handler's views point into. Shared with the way back of the answer, so that it outlives
// the connection while a handler still reads; it has nothing of Asio in it and may die on any
// thread.
struct RequestMemory {
  std::optional<boost::beast::http::request_parser<boost::beast::http::empty_body>> parser;
  BodyBuffer body;
};

// Why a request does not get to the handler.
struct HttpRefusal {
  int status = 0;  // 0: there is nobody to answer, or no time
  std::string text;
};

// Lives on the listener's thread.
class ServerConnection {
 public:
  ServerConnection(Listener& listener, ServerSocket socket, ConnectionPurpose purpose);
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;
  ~ServerConnection() { listener_.Remove(id_, purpose_); }

  ServerAwaitable<void> Run();

  void Deliver(RequestId id, HttpResponse response);
  void CloseIfIdle();
  void Abort();

 private:
  using Outcome = std::expected<void, HttpRefusal>;

  ServerAwaitable<bool> ShakeHands();
  ServerAwaitable<void> Serve();
  ServerAwaitable<void> Shed();
  ServerAwaitable<Outcome> ReadHead();
  ServerAwaitable<Outcome> ReadBody();
  ServerAwaitable<Outcome> ReadLength(std::size_t body_bytes);
  ServerAwaitable<Outcome> ReadChunks();
  void ReleaseBody();
  ServerAwaitable<bool> Receive();
  ServerAwaitable<bool> SendContinue();
  ServerAwaitable<std::optional<HttpResponse>> AskHandler();
  void CallHandler();
  ServerAwaitable<bool> Write(const HttpResponse& response, std::string_view connection,
                              bool with_body);
  ServerAwaitable<bool> WriteAll(std::string_view head, std::string_view body);
  ServerAwaitable<void> WriteRefusal(const HttpRefusal& refusal);
  ServerAwaitable<void> Linger();

  // True when the peer has sent nothing that we have not answered.
  bool NothingReceived();

  Listener& listener_;
  const ServerSettings& settings_;
  ServerStream stream_;
  const ConnectionPurpose purpose_;
  const std::uint64_t id_;
  boost::beast::flat_buffer received_;  // and not yet parsed
  std::shared_ptr<RequestMemory> memory_ = std::make_shared<RequestMemory>();
  ServerTimer answered_;  // cancelled when the awaited answer is there
  std::uint64_t sequence_ = 0;
  std::optional<HttpResponse> response_;
  bool waits_for_answer_ = false;
  bool idle_ = false;
  std::string head_;
};

}  // namespace offcut::api
