// All of the server that knows Beast, hence its length. A Listener is the one thread and what it
// owns; a Connection is one peer and its coroutine; an Answer is the way back from a handler,
// wherever that runs.
#include "api/server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <ctime>
#include <exception>
#include <future>
#include <iterator>
#include <optional>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "api/body_buffer.h"

namespace offcut::api {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::steady_clock;

using Executor = asio::io_context::executor_type;
using Socket = asio::basic_stream_socket<tcp, Executor>;
using Stream = beast::basic_stream<tcp, Executor>;  // a Socket whose operations have a deadline
using Timer = asio::basic_waitable_timer<steady_clock, asio::wait_traits<steady_clock>, Executor>;
using Parser = http::request_parser<http::empty_body>;
template <typename T>
using Awaitable = asio::awaitable<T, Executor>;

// Awaits without a throw: the error is the first element of the result.
constexpr asio::as_tuple_t<asio::use_awaitable_t<Executor>> kAwait{};

// One read of a header, and with it the whole of a small request.
constexpr std::size_t kReceiveBytes = std::size_t{16} * 1024;
constexpr int kAcceptBacklog = 1024;
// Connections over connections_max that are told so at one time; any more are closed in silence.
constexpr std::size_t kSheddingMax = 64;
constexpr int kShedRetryAfterS = 1;
// What a peer that we refused may still send before we reset it.
constexpr std::size_t kLingerBytesMax = std::size_t{8} * 1024 * 1024;
// A failed accept (out of file descriptors) would fail again at once.
constexpr std::chrono::milliseconds kAcceptRetryDelay{100};
// The shortest end of a chunked body, "0\r\n\r\n".
constexpr std::size_t kLastChunkBytes = 5;

std::string_view ToStd(beast::string_view text) { return {text.data(), text.size()}; }

HttpResponse ErrorResponse(int status, std::string_view text) {
  HttpResponse response;
  response.status = status;
  response.body = fmt::format(R"({{"error":"{}"}})", text);
  return response;
}

// Why a request does not get to the handler.
struct Refusal {
  int status = 0;  // 0: there is nobody to answer, or no time
  std::string text;
};
using Outcome = std::expected<void, Refusal>;

std::unexpected<Refusal> Refuse(int status, std::string text) {
  return std::unexpected(Refusal{.status = status, .text = std::move(text)});
}
std::unexpected<Refusal> Gone() { return std::unexpected(Refusal{}); }

std::unexpected<Refusal> RefuseUnparsed(error_code error, const ServerSettings& settings) {
  if (error == http::error::header_limit) {
    return Refuse(431, fmt::format("header exceeds {} bytes", settings.header_bytes_max));
  }
  if (error == http::error::body_limit) {
    return Refuse(413, fmt::format("body exceeds {} bytes", settings.body_bytes_max));
  }
  return Refuse(400, fmt::format("malformed HTTP request: {}", error.message()));
}

bool StatusHasBody(int status) { return status >= 200 && status != 204 && status != 304; }

// Appends the header of `response`. `connection` is the value of its Connection field, or empty.
void AppendHead(std::string& out, const HttpResponse& response, std::string_view connection,
                std::string_view date) {
  auto at = std::back_inserter(out);
  const auto reason = http::obsolete_reason(http::int_to_status(response.status));
  fmt::format_to(at, "HTTP/1.1 {} {}\r\nDate: {}\r\n", response.status, ToStd(reason), date);
  if (StatusHasBody(response.status)) {
    fmt::format_to(at, "Content-Type: {}\r\nContent-Length: {}\r\n", response.content_type,
                   response.body.size());
  }
  if (!response.allow.empty()) fmt::format_to(at, "Allow: {}\r\n", response.allow);
  if (response.retry_after_s > 0) fmt::format_to(at, "Retry-After: {}\r\n", response.retry_after_s);
  if (!connection.empty()) fmt::format_to(at, "Connection: {}\r\n", connection);
  out += "\r\n";
}

// What a handler's views point into. Shared with the Answer, so that it outlives the connection
// while a handler still reads; it has nothing of Asio in it and may die on any thread.
struct RequestMemory {
  std::optional<Parser> parser;
  BodyBuffer body;
};

// Which request of which connection an answer belongs to.
struct RequestId {
  std::uint64_t connection = 0;
  std::uint64_t sequence = 0;
  bool operator==(const RequestId&) const = default;
};

// What becomes of a new connection.
enum class Purpose { kServe, kShed };

class Connection;

}  // namespace

// All members but Port(), Deliver(), Drain() and Stop() belong to the listener's thread.
class Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(ServerSettings server_settings, HttpHandler http_handler, ServerEvents server_events)
      : settings(std::move(server_settings)),
        handler(std::move(http_handler)),
        events(std::move(server_events)) {}

  std::expected<void, Error> Listen();
  void StartThread();
  std::uint16_t Port() const { return port_; }
  bool Drain(steady_clock::time_point deadline);
  void Stop();

  // Hands `response` to the connection that waits for it, if it still does. From any thread.
  void Deliver(RequestId id, HttpResponse response);

  std::uint64_t Add(Connection& connection, Purpose purpose);
  void Remove(std::uint64_t connection_id, Purpose purpose);
  Executor GetExecutor() { return io_.get_executor(); }
  bool IsDraining() const { return draining_; }
  bool IsStopping() const { return stopping_; }
  std::string_view Date();

  const ServerSettings settings;
  const HttpHandler handler;
  const ServerEvents events;
  BodyPool bodies{settings.bodies_bytes_max};

 private:
  Awaitable<void> Accept();
  Awaitable<void> AcceptUntilCancelled();
  void Admit(Socket socket);
  void DeliverHere(RequestId id, HttpResponse response);
  void BeginDrain();
  void AdmitBacklog();
  void BeginStop();
  void AnnounceIfDrained();

  asio::io_context io_{1};  // 1: one thread runs it
  asio::executor_work_guard<Executor> work_{io_.get_executor()};
  asio::basic_socket_acceptor<tcp, Executor> acceptor_{io_.get_executor()};
  Timer accept_delay_{io_.get_executor()};
  std::uint16_t port_ = 0;
  std::unordered_map<std::uint64_t, Connection*> connections_;
  std::uint64_t last_connection_id_ = 0;
  std::size_t shedding_ = 0;  // of connections_
  bool accepting_ = true;
  bool draining_ = false;
  bool stopping_ = false;
  std::promise<void> drained_;
  std::future<void> drained_future_ = drained_.get_future();
  bool drain_announced_ = false;
  std::time_t date_s_ = 0;
  std::string date_;
  std::thread thread_;
};

namespace {

// The way back of one answer. It knows its connection by number only: that may be gone.
class Answer {
 public:
  Answer(std::weak_ptr<Listener> listener, RequestId id, std::shared_ptr<RequestMemory> memory)
      : listener_(std::move(listener)), id_(id), memory_(std::move(memory)) {}
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  ~Answer();

  void Send(HttpResponse response) {
    if (sent_.exchange(true)) return;
    memory_.reset();  // the next request of the connection may have it
    if (const auto listener = listener_.lock()) listener->Deliver(id_, std::move(response));
  }

 private:
  const std::weak_ptr<Listener> listener_;
  const RequestId id_;
  std::shared_ptr<RequestMemory> memory_;
  std::atomic<bool> sent_ = false;
};

// A handler that forgets to answer must not leave its peer waiting.
Answer::~Answer() {
  if (sent_) return;
  try {
    Send(ErrorResponse(500, "internal error"));
  } catch (...) {  // out of memory: the peer's own timeout ends it
    sent_ = true;
  }
}

// One peer: its requests, one after the other. Lives on the listener's thread.
class Connection {
 public:
  Connection(Listener& listener, Socket socket, Purpose purpose);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { listener_.Remove(id_, purpose_); }

  Awaitable<void> Run();

  void Deliver(RequestId id, HttpResponse response);
  void CloseIfIdle();
  void Abort();

 private:
  Awaitable<void> Serve();
  Awaitable<void> Shed();
  Awaitable<Outcome> ReadHead();
  Awaitable<Outcome> ReadBody();
  Awaitable<Outcome> ReadLength(std::size_t body_bytes);
  Awaitable<Outcome> ReadChunks();
  void ReleaseBody();
  Awaitable<bool> Receive();
  Awaitable<bool> SendContinue();
  Awaitable<std::optional<HttpResponse>> AskHandler();
  void CallHandler();
  Awaitable<bool> Write(const HttpResponse& response, std::string_view connection, bool with_body);
  Awaitable<bool> WriteAll(std::string_view head, std::string_view body);
  Awaitable<void> WriteRefusal(const Refusal& refusal);
  Awaitable<void> Linger();

  // True when the peer has sent nothing that we have not answered.
  bool NothingReceived();

  Listener& listener_;
  const ServerSettings& settings_;
  Stream stream_;
  const Purpose purpose_;
  const std::uint64_t id_;
  beast::flat_buffer received_;  // and not yet parsed
  std::shared_ptr<RequestMemory> memory_ = std::make_shared<RequestMemory>();
  Timer answered_;  // cancelled when the awaited answer is there
  std::uint64_t sequence_ = 0;
  std::optional<HttpResponse> response_;
  bool waits_for_answer_ = false;
  bool idle_ = false;
  std::string head_;
};

Connection::Connection(Listener& listener, Socket socket, Purpose purpose)
    : listener_(listener),
      settings_(listener.settings),
      stream_(std::move(socket)),
      purpose_(purpose),
      id_(listener.Add(*this, purpose)),
      answered_(listener.GetExecutor()) {
  error_code ignored;  // the peer may be gone already; the first read finds out
  std::ignore = stream_.socket().set_option(tcp::no_delay(true), ignored);
}

Awaitable<void> Connection::Run() {
  if (purpose_ == Purpose::kServe) {
    co_await Serve();
  } else {
    co_await Shed();
  }
}

Awaitable<void> Connection::Serve() {
  for (bool keep_alive = true; keep_alive;) {
    Outcome outcome = co_await ReadHead();
    if (outcome) outcome = co_await ReadBody();
    if (!outcome) {
      co_await WriteRefusal(outcome.error());
      co_return;
    }
    // Taken now: the handler's Answer may keep the memory.
    const Parser& parser = *memory_->parser;
    const bool wants_keep_alive = parser.keep_alive();
    const bool is_http_1_0 = parser.get().version() < 11;
    const bool with_body = parser.get().method() != http::verb::head;

    const std::optional<HttpResponse> response = co_await AskHandler();
    if (!response) co_return;
    keep_alive = wants_keep_alive && !(listener_.IsDraining() && NothingReceived());
    const std::string_view connection = !keep_alive ? "close" : is_http_1_0 ? "keep-alive" : "";
    ReleaseBody();
    const bool written = co_await Write(*response, connection, with_body);
    if (!written) co_return;
  }
  co_await Linger();
}

// After the answer: the handler, too, has let go of its views.
void Connection::ReleaseBody() {
  if (memory_.use_count() == 1) {
    listener_.bodies.GiveBack(std::exchange(memory_->body, BodyBuffer{}));
  } else {
    memory_ = std::make_shared<RequestMemory>();
  }
}

Awaitable<void> Connection::Shed() {
  HttpResponse response = ErrorResponse(503, "too many connections");
  response.retry_after_s = kShedRetryAfterS;
  const bool written = co_await Write(response, "close", true);
  if (written) co_await Linger();
}

void Connection::Deliver(RequestId id, HttpResponse response) {
  if (!waits_for_answer_ || id != RequestId{id_, sequence_}) return;  // too late
  waits_for_answer_ = false;
  response_ = std::move(response);
  std::ignore = answered_.cancel();
}

void Connection::CloseIfIdle() {
  if (idle_ && NothingReceived()) stream_.cancel();
}

void Connection::Abort() {
  stream_.close();
  std::ignore = answered_.cancel();
}

Awaitable<Outcome> Connection::ReadHead() {
  Parser& parser = memory_->parser.emplace();
  parser.header_limit(static_cast<std::uint32_t>(settings_.header_bytes_max));
  parser.body_limit(settings_.body_bytes_max);
  if (received_.size() == 0) {
    if (listener_.IsDraining() && NothingReceived()) co_return Gone();
    stream_.expires_after(settings_.idle_timeout);
    idle_ = true;
    const bool received = co_await Receive();
    idle_ = false;
    if (!received) co_return Gone();
  }
  stream_.expires_after(settings_.read_timeout);
  while (!parser.is_header_done()) {
    error_code error;
    received_.consume(parser.put(received_.data(), error));
    if (error == http::error::need_more) {
      const bool received = co_await Receive();
      if (!received) co_return Gone();
    } else if (error) {
      co_return RefuseUnparsed(error, settings_);
    }
  }
  co_return Outcome{};
}

Awaitable<Outcome> Connection::ReadBody() {
  const Parser& parser = *memory_->parser;
  const auto encoding = parser.get().find(http::field::transfer_encoding);
  // Beast takes any other coding for a request without a body, whose body were the next request.
  if (encoding != parser.get().end() && !beast::iequals(encoding->value(), "chunked")) {
    co_return Refuse(501, "the only transfer coding supported is chunked");
  }
  if (parser.is_done()) co_return Outcome{};
  memory_->body = listener_.bodies.Take();
  stream_.expires_after(settings_.write_timeout);
  const bool told = co_await SendContinue();
  if (!told) co_return Gone();
  stream_.expires_after(settings_.read_timeout);
  if (parser.chunked()) {
    const Outcome outcome = co_await ReadChunks();
    co_return outcome;
  }
  const Outcome outcome = co_await ReadLength(static_cast<std::size_t>(*parser.content_length()));
  co_return outcome;
}

// Answers "Expect: 100-continue", unless the body is already on its way.
Awaitable<bool> Connection::SendContinue() {
  const auto& request = memory_->parser->get();
  const bool expected = beast::iequals(request[http::field::expect], "100-continue");
  if (!expected || request.version() < 11 || !NothingReceived()) co_return true;
  const bool written = co_await WriteAll("HTTP/1.1 100 Continue\r\n\r\n", {});
  co_return written;
}

// Reads the body past Beast, straight into its memory: that makes big bodies ten times faster.
Awaitable<Outcome> Connection::ReadLength(std::size_t body_bytes) {
  BodyBuffer& body = memory_->body;
  const std::size_t early_bytes = std::min(received_.size(), body_bytes);
  const bool stored = body.Append({static_cast<const char*>(received_.data().data()), early_bytes});
  if (!stored) co_return Refuse(503, "no memory for this body now");
  received_.consume(early_bytes);
  while (body.size() < body_bytes) {
    const std::span<char> room = body.Prepare(body_bytes - body.size());
    if (room.empty()) co_return Refuse(503, "no memory for this body now");
    const auto [error, count] =
        co_await stream_.async_read_some(asio::buffer(room.data(), room.size()), kAwait);
    if (error) co_return Gone();
    body.Commit(count);
  }
  co_return Outcome{};
}

Awaitable<Outcome> Connection::ReadChunks() {
  Parser& parser = *memory_->parser;
  auto append = [this](std::uint64_t, beast::string_view bytes, error_code& error) {
    if (!memory_->body.Append(ToStd(bytes))) error = asio::error::no_memory;
    return bytes.size();
  };
  parser.on_chunk_body(append);
  while (!parser.is_done()) {
    error_code error = http::error::need_more;
    // Beast asserts, on bytes that a peer controls, that it is not given less than a last chunk
    // once it has seen the beginning of one. At least so many must follow anyway.
    if (received_.size() >= kLastChunkBytes) {
      received_.consume(parser.put(received_.data(), error));
    }
    if (error == http::error::need_more) {
      if (received_.size() > settings_.header_bytes_max) {  // a chunk's extension, or trailers
        co_return RefuseUnparsed(http::error::header_limit, settings_);
      }
      const bool received = co_await Receive();
      if (!received) co_return Gone();
    } else if (error == asio::error::no_memory) {
      co_return Refuse(503, "no memory for this body now");
    } else if (error) {
      co_return RefuseUnparsed(error, settings_);
    }
  }
  co_return Outcome{};
}

// Appends what comes to received_. False: nothing will come.
Awaitable<bool> Connection::Receive() {
  const auto room = received_.prepare(kReceiveBytes);
  const auto [error, count] = co_await stream_.async_read_some(room, kAwait);
  if (error) co_return false;
  received_.commit(count);
  co_return true;
}

// Returns nullopt when the server stops before the answer comes.
Awaitable<std::optional<HttpResponse>> Connection::AskHandler() {
  ++sequence_;
  response_.reset();
  waits_for_answer_ = true;
  std::ignore = answered_.expires_at(steady_clock::time_point::max());
  CallHandler();
  while (waits_for_answer_ && !listener_.IsStopping()) {
    std::ignore = co_await answered_.async_wait(kAwait);
  }
  waits_for_answer_ = false;
  co_return std::move(response_);
}

void Connection::CallHandler() {
  const RequestId id{id_, sequence_};
  const auto& head = memory_->parser->get();
  const HttpRequest request{.method = ToStd(head.method_string()),
                            .target = ToStd(head.target()),
                            .content_type = ToStd(head[http::field::content_type]),
                            .body = memory_->body.Padded()};
  auto answer = std::make_shared<Answer>(listener_.weak_from_this(), id, memory_);
  try {
    listener_.handler(request, [answer = std::move(answer)](HttpResponse response) {
      answer->Send(std::move(response));
    });
    return;
  } catch (const std::exception& error) {
    spdlog::error("the handler of {} {} threw: {}", request.method, request.target, error.what());
  } catch (...) {
    spdlog::error("the handler of {} {} threw", request.method, request.target);
  }
  Deliver(id, ErrorResponse(500, "internal error"));
  memory_ = std::make_shared<RequestMemory>();  // who kept the Respond may still read the old one
}

Awaitable<bool> Connection::Write(const HttpResponse& response, std::string_view connection,
                                  bool with_body) {
  head_.clear();
  AppendHead(head_, response, connection, listener_.Date());
  stream_.expires_after(settings_.write_timeout);
  const bool sends_body = with_body && StatusHasBody(response.status);
  const bool written =
      co_await WriteAll(head_, sends_body ? std::string_view{response.body} : std::string_view{});
  co_return written;
}

// In one write if the socket takes it; asio::async_write would cut it into pieces of 64 KiB.
Awaitable<bool> Connection::WriteAll(std::string_view head, std::string_view body) {
  while (!head.empty() || !body.empty()) {
    const std::array<asio::const_buffer, 2> buffers{asio::buffer(head.data(), head.size()),
                                                    asio::buffer(body.data(), body.size())};
    const auto [error, count] = co_await stream_.async_write_some(buffers, kAwait);
    if (error) co_return false;
    const std::size_t head_count = std::min(count, head.size());
    head.remove_prefix(head_count);
    body.remove_prefix(count - head_count);
  }
  co_return true;
}

// Answers what the handler does not see. The connection ends with it: where the next request
// begins is unknown.
Awaitable<void> Connection::WriteRefusal(const Refusal& refusal) {
  if (refusal.status == 0) co_return;
  if (listener_.events.request_refused) listener_.events.request_refused(refusal.status);
  spdlog::debug("refused a request with {}: {}", refusal.status, refusal.text);
  HttpResponse response = ErrorResponse(refusal.status, refusal.text);
  if (refusal.status == 503) response.retry_after_s = kShedRetryAfterS;
  const bool written = co_await Write(response, "close", true);
  if (written) co_await Linger();
}

Awaitable<void> Connection::Linger() {
  error_code ignored;  // the peer may have closed first
  std::ignore = stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  stream_.expires_after(settings_.linger_timeout);
  for (std::size_t bytes = 0; bytes < kLingerBytesMax; bytes += received_.size()) {
    received_.clear();
    const bool received = co_await Receive();
    if (!received) co_return;
  }
}

bool Connection::NothingReceived() {
  error_code error;  // a dead socket has nothing for us
  return received_.size() == 0 && (stream_.socket().available(error) == 0 || error);
}

Awaitable<void> RunAndForget(std::unique_ptr<Connection> connection) { co_await connection->Run(); }

void LogEscape(const std::exception_ptr& escaped) {
  if (escaped == nullptr) return;
  try {
    std::rethrow_exception(escaped);
  } catch (const std::exception& error) {
    spdlog::error("a connection ended by an exception: {}", error.what());
  } catch (...) {
    spdlog::error("a connection ended by an exception");
  }
}

}  // namespace

std::expected<void, Error> Listener::Listen() {
  error_code error;
  const auto address = asio::ip::make_address(settings.address, error);
  if (error) {
    return std::unexpected(
        Error{ErrorKind::kBadRequest, fmt::format("'{}' is not an IP address", settings.address)});
  }
  const tcp::endpoint endpoint{address, settings.port};
  std::ignore = acceptor_.open(endpoint.protocol(), error);
  if (!error) std::ignore = acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) std::ignore = acceptor_.bind(endpoint, error);
  if (!error) std::ignore = acceptor_.listen(kAcceptBacklog, error);
  if (!error) port_ = acceptor_.local_endpoint(error).port();
  if (error) {
    return std::unexpected(Error{ErrorKind::kUnavailable,
                                 fmt::format("cannot listen on {} port {}: {}", settings.address,
                                             settings.port, error.message())});
  }
  return {};
}

void Listener::StartThread() {
  asio::co_spawn(io_, Accept(), LogEscape);
  thread_ = std::thread([this] { io_.run(); });
}

Awaitable<void> Listener::Accept() {
  co_await AcceptUntilCancelled();
  // Who is in the backlog has perhaps sent a request already.
  if (draining_ && !stopping_) AdmitBacklog();
  error_code ignored;
  std::ignore = acceptor_.close(ignored);
  accepting_ = false;
  AnnounceIfDrained();
}

Awaitable<void> Listener::AcceptUntilCancelled() {
  while (!draining_ && !stopping_) {
    auto [error, socket] = co_await acceptor_.async_accept(kAwait);
    if (error == asio::error::operation_aborted || stopping_) co_return;
    if (!error) {
      Admit(std::move(socket));
      continue;
    }
    spdlog::warn("cannot accept on {} port {}: {}", settings.address, port_, error.message());
    std::ignore = accept_delay_.expires_after(kAcceptRetryDelay);
    std::ignore = co_await accept_delay_.async_wait(kAwait);
  }
}

void Listener::AdmitBacklog() {
  error_code error;
  std::ignore = acceptor_.non_blocking(true, error);
  for (int i = 0; i < kAcceptBacklog && !error; ++i) {
    Socket socket{io_.get_executor()};
    std::ignore = acceptor_.accept(socket, error);
    if (!error) Admit(std::move(socket));
  }
}

void Listener::Admit(Socket socket) {
  const bool full = connections_.size() - shedding_ >= settings.connections_max;
  const auto& event = full ? events.connection_shed : events.connection_accepted;
  if (event) event();
  if (full && shedding_ >= kSheddingMax) return;
  auto connection = std::make_unique<Connection>(*this, std::move(socket),
                                                 full ? Purpose::kShed : Purpose::kServe);
  asio::co_spawn(io_, RunAndForget(std::move(connection)), LogEscape);
}

std::uint64_t Listener::Add(Connection& connection, Purpose purpose) {
  if (purpose == Purpose::kShed) ++shedding_;
  connections_.emplace(++last_connection_id_, &connection);
  return last_connection_id_;
}

void Listener::Remove(std::uint64_t connection_id, Purpose purpose) {
  if (purpose == Purpose::kShed) --shedding_;
  connections_.erase(connection_id);
  AnnounceIfDrained();
}

void Listener::Deliver(RequestId id, HttpResponse response) {
  if (io_.get_executor().running_in_this_thread()) {
    DeliverHere(id, std::move(response));
    return;
  }
  // Once the thread has ended this only waits to be destroyed, with io_.
  asio::post(io_, [this, id, response = std::move(response)]() mutable {
    DeliverHere(id, std::move(response));
  });
}

void Listener::DeliverHere(RequestId id, HttpResponse response) {
  const auto found = connections_.find(id.connection);
  if (found != connections_.end()) found->second->Deliver(id, std::move(response));
}

bool Listener::Drain(steady_clock::time_point deadline) {
  if (!thread_.joinable()) return true;
  asio::post(io_, [this] { BeginDrain(); });
  return drained_future_.wait_until(deadline) == std::future_status::ready;
}

void Listener::BeginDrain() {
  draining_ = true;
  error_code ignored;
  std::ignore = acceptor_.cancel(ignored);
  std::ignore = accept_delay_.cancel();
  for (const auto& [id, connection] : connections_) connection->CloseIfIdle();
  AnnounceIfDrained();
}

void Listener::AnnounceIfDrained() {
  if (!draining_ || accepting_ || !connections_.empty() || drain_announced_) return;
  drain_announced_ = true;
  drained_.set_value();
}

void Listener::Stop() {
  if (!thread_.joinable()) return;
  assert(thread_.get_id() != std::this_thread::get_id());
  asio::post(io_, [this] { BeginStop(); });
  thread_.join();
  assert(connections_.empty());
}

void Listener::BeginStop() {
  stopping_ = true;
  error_code ignored;
  std::ignore = acceptor_.cancel(ignored);
  std::ignore = accept_delay_.cancel();
  for (const auto& [id, connection] : connections_) connection->Abort();
  work_.reset();
}

// The value of a Date field, made once a second.
std::string_view Listener::Date() {
  const std::time_t now_s = std::time(nullptr);
  if (now_s != date_s_) {
    date_s_ = now_s;
    date_ = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(now_s));
  }
  return date_;
}

namespace {

// Returns what is wrong with `settings`, or an empty view.
std::string_view FindBadLimit(const ServerSettings& settings) {
  constexpr std::chrono::milliseconds zero{0};
  if (settings.body_bytes_max == 0) return "body_bytes_max";
  // Beast counts header bytes in 32 bits.
  if (settings.header_bytes_max == 0 || settings.header_bytes_max > UINT32_MAX / 2) {
    return "header_bytes_max";
  }
  if (settings.bodies_bytes_max == 0) return "bodies_bytes_max";
  if (settings.connections_max == 0) return "connections_max";
  if (settings.idle_timeout <= zero) return "idle_timeout";
  if (settings.read_timeout <= zero) return "read_timeout";
  if (settings.write_timeout <= zero) return "write_timeout";
  if (settings.linger_timeout <= zero) return "linger_timeout";
  return {};
}

}  // namespace

std::expected<std::unique_ptr<Server>, Error> Server::Start(ServerSettings settings,
                                                            HttpHandler handler,
                                                            ServerEvents events) {
  if (const std::string_view limit = FindBadLimit(settings); !limit.empty()) {
    return std::unexpected(Error{ErrorKind::kBadRequest, fmt::format("{} is out of range", limit)});
  }
  try {  // Asio and std::thread throw when file descriptors or threads are out
    auto listener =
        std::make_shared<Listener>(std::move(settings), std::move(handler), std::move(events));
    if (auto listens = listener->Listen(); !listens) return std::unexpected(listens.error());
    listener->StartThread();
    return std::unique_ptr<Server>(new Server(std::move(listener)));
  } catch (const std::exception& error) {
    return std::unexpected(
        Error{ErrorKind::kUnavailable, fmt::format("cannot start a server: {}", error.what())});
  }
}

Server::Server(std::shared_ptr<Listener> listener) : listener_(std::move(listener)) {}

Server::~Server() {
  try {
    Stop();
  } catch (...) {  // out of memory: the thread cannot be told to end any more
    std::terminate();
  }
}

std::uint16_t Server::Port() const { return listener_->Port(); }

bool Server::Drain(steady_clock::time_point deadline) { return listener_->Drain(deadline); }

void Server::Stop() { listener_->Stop(); }

}  // namespace offcut::api
