#include "api/server_connection.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <iterator>
#include <span>
#include <tuple>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace offcut::api {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using std::chrono::steady_clock;

using Parser = http::request_parser<http::empty_body>;

// One read of a header, and with it the whole of a small request.
constexpr std::size_t kReceiveBytes = std::size_t{16} * 1024;
constexpr int kShedRetryAfterS = 1;
// What a peer that we refused may still send before we reset it.
constexpr std::size_t kLingerBytesMax = std::size_t{8} * 1024 * 1024;
// What one record of TLS holds at most.
constexpr std::size_t kTlsRecordBytes = std::size_t{16} * 1024;
// The shortest end of a chunked body, "0\r\n\r\n".
constexpr std::size_t kLastChunkBytes = 5;

std::string_view ToStd(beast::string_view text) { return {text.data(), text.size()}; }

HttpResponse ErrorResponse(int status, std::string_view text) {
  HttpResponse response;
  response.status = status;
  response.body = fmt::format(R"({{"error":"{}"}})", text);
  return response;
}

std::unexpected<HttpRefusal> Refuse(int status, std::string text) {
  return std::unexpected(HttpRefusal{.status = status, .text = std::move(text)});
}
std::unexpected<HttpRefusal> Gone() { return std::unexpected(HttpRefusal{}); }

std::unexpected<HttpRefusal> RefuseUnparsed(error_code error, const ServerSettings& settings) {
  if (error == http::error::header_limit) {
    return Refuse(431, fmt::format("header exceeds {} bytes", settings.header_bytes_max));
  }
  if (error == http::error::body_limit) {
    return Refuse(413, fmt::format("body exceeds {} bytes", settings.body_bytes_max));
  }
  return Refuse(400, fmt::format("malformed HTTP request: {}", error.message()));
}

bool StatusHasBody(int status) { return status >= 200 && status != 204 && status != 304; }

// RFC 9112, 3.2: a request of HTTP/1.1 has one Host, which we take whatever it says.
bool HasGoodHost(const http::fields& fields, unsigned version) {
  const auto count = fields.count(http::field::host);
  return count == 1 || (count == 0 && version < 11);
}

// The target as the handlers know it. RFC 9112, 3.2.2: a server accepts "http://host/v1/filter",
// too, as a proxy is sent it, and is whatever host that names.
std::string_view OriginForm(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    const std::string_view start = target.substr(0, scheme.size());
    if (!beast::iequals(beast::string_view(start.data(), start.size()),
                        beast::string_view(scheme.data(), scheme.size()))) {
      continue;
    }
    const std::size_t path = target.find_first_of("/?", scheme.size());
    return path == std::string_view::npos ? "/" : target.substr(path);
  }
  return target;
}

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

}  // namespace

ServerConnection::ServerConnection(Listener& listener, ServerSocket socket,
                                   ConnectionPurpose purpose)
    : listener_(listener),
      settings_(listener.settings),
      stream_(std::move(socket), listener.Tls()),
      purpose_(purpose),
      id_(listener.Add(*this, purpose)),
      answered_(listener.GetExecutor()) {}

ServerAwaitable<void> ServerConnection::Run() {
  if (stream_.IsTls()) {
    const bool shook = co_await ShakeHands();
    if (!shook) co_return;
  }
  if (purpose_ == ConnectionPurpose::kServe) {
    co_await Serve();
  } else {
    co_await Shed();
  }
}

// A peer that fails in it gets an alert, if it speaks TLS at all.
ServerAwaitable<bool> ServerConnection::ShakeHands() {
  stream_.ExpireAfter(settings_.handshake_timeout);
  idle_ = true;  // it has asked nothing yet
  const auto [error] = co_await stream_.ShakeHands();
  idle_ = false;
  if (!error) co_return true;
  spdlog::debug("a TLS handshake failed: {}", error.message());
  co_await Linger();  // else a request sent in good faith would reset the alert
  co_return false;
}

ServerAwaitable<void> ServerConnection::Serve() {
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
void ServerConnection::ReleaseBody() {
  if (memory_.use_count() == 1) {
    listener_.bodies.GiveBack(std::exchange(memory_->body, BodyBuffer{}));
  } else {
    memory_ = std::make_shared<RequestMemory>();
  }
}

ServerAwaitable<void> ServerConnection::Shed() {
  HttpResponse response = ErrorResponse(503, "too many connections");
  response.retry_after_s = kShedRetryAfterS;
  const bool written = co_await Write(response, "close", true);
  if (written) co_await Linger();
}

void ServerConnection::Deliver(RequestId id, HttpResponse response) {
  if (!waits_for_answer_ || id != RequestId{id_, sequence_}) return;  // too late
  waits_for_answer_ = false;
  response_ = std::move(response);
  std::ignore = answered_.cancel();
}

void ServerConnection::CloseIfIdle() {
  if (idle_ && NothingReceived()) stream_.Cancel();
}

void ServerConnection::Abort() {
  stream_.Close();
  std::ignore = answered_.cancel();
}

ServerAwaitable<ServerConnection::Outcome> ServerConnection::ReadHead() {
  Parser& parser = memory_->parser.emplace();
  parser.header_limit(static_cast<std::uint32_t>(settings_.header_bytes_max));
  parser.body_limit(settings_.body_bytes_max);
  if (received_.size() == 0) {
    if (listener_.IsDraining() && NothingReceived()) co_return Gone();
    stream_.ExpireAfter(settings_.idle_timeout);
    idle_ = true;
    const bool received = co_await Receive();
    idle_ = false;
    if (!received) co_return Gone();
  }
  stream_.ExpireAfter(settings_.read_timeout);
  std::size_t head_bytes = 0;  // that the parser has taken; Beast's limit forgets them
  while (!parser.is_header_done()) {
    error_code error;
    const std::size_t taken = parser.put(received_.data(), error);
    received_.consume(taken);
    head_bytes += taken;
    const std::size_t waiting = parser.is_header_done() ? 0 : received_.size();
    if (head_bytes + waiting > settings_.header_bytes_max) {
      co_return RefuseUnparsed(http::error::header_limit, settings_);
    }
    if (error == http::error::need_more) {
      const bool received = co_await Receive();
      if (!received) co_return Gone();
    } else if (error) {
      co_return RefuseUnparsed(error, settings_);
    }
  }
  if (!HasGoodHost(parser.get(), parser.get().version())) {
    co_return Refuse(400, "Host is missing, or is there more than once");
  }
  co_return Outcome{};
}

ServerAwaitable<ServerConnection::Outcome> ServerConnection::ReadBody() {
  const Parser& parser = *memory_->parser;
  const auto encoding = parser.get().find(http::field::transfer_encoding);
  // Beast takes any other coding for a request without a body, whose body were the next request.
  if (encoding != parser.get().end() && !beast::iequals(encoding->value(), "chunked")) {
    co_return Refuse(501, "the only transfer coding supported is chunked");
  }
  if (parser.is_done()) co_return Outcome{};
  memory_->body = listener_.bodies.Take();
  stream_.ExpireAfter(settings_.write_timeout);
  const bool told = co_await SendContinue();
  if (!told) co_return Gone();
  stream_.ExpireAfter(settings_.read_timeout);
  if (parser.chunked()) {
    const Outcome outcome = co_await ReadChunks();
    co_return outcome;
  }
  const Outcome outcome = co_await ReadLength(static_cast<std::size_t>(*parser.content_length()));
  co_return outcome;
}

// Answers "Expect: 100-continue", unless the body is already on its way.
ServerAwaitable<bool> ServerConnection::SendContinue() {
  const auto& request = memory_->parser->get();
  const bool expected = beast::iequals(request[http::field::expect], "100-continue");
  if (!expected || request.version() < 11 || !NothingReceived()) co_return true;
  const bool written = co_await WriteAll("HTTP/1.1 100 Continue\r\n\r\n", {});
  co_return written;
}

// Reads the body past Beast, straight into its memory: that makes big bodies ten times faster.
ServerAwaitable<ServerConnection::Outcome> ServerConnection::ReadLength(std::size_t body_bytes) {
  BodyBuffer& body = memory_->body;
  const std::size_t early_bytes = std::min(received_.size(), body_bytes);
  const bool stored = body.Append({static_cast<const char*>(received_.data().data()), early_bytes});
  if (!stored) co_return Refuse(503, "no memory for this body now");
  received_.consume(early_bytes);
  while (body.size() < body_bytes) {
    const std::span<char> room = body.Prepare(body_bytes - body.size());
    if (room.empty()) co_return Refuse(503, "no memory for this body now");
    const auto [error, count] = co_await stream_.ReadSome(asio::buffer(room.data(), room.size()));
    if (error) co_return Gone();
    body.Commit(count);
  }
  co_return Outcome{};
}

ServerAwaitable<ServerConnection::Outcome> ServerConnection::ReadChunks() {
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
ServerAwaitable<bool> ServerConnection::Receive() {
  const auto room = received_.prepare(kReceiveBytes);
  const auto [error, count] = co_await stream_.ReadSome(room);
  if (error) co_return false;
  received_.commit(count);
  co_return true;
}

// Returns nullopt when the server stops before the answer comes.
ServerAwaitable<std::optional<HttpResponse>> ServerConnection::AskHandler() {
  ++sequence_;
  response_.reset();
  waits_for_answer_ = true;
  std::ignore = answered_.expires_at(steady_clock::time_point::max());
  CallHandler();
  while (waits_for_answer_ && !listener_.IsStopping()) {
    std::ignore = co_await answered_.async_wait(kServerAwait);
  }
  waits_for_answer_ = false;
  co_return std::move(response_);
}

void ServerConnection::CallHandler() {
  const RequestId id{id_, sequence_};
  const auto& head = memory_->parser->get();
  const HttpRequest request{.method = ToStd(head.method_string()),
                            .target = OriginForm(ToStd(head.target())),
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

ServerAwaitable<bool> ServerConnection::Write(const HttpResponse& response,
                                              std::string_view connection, bool with_body) {
  head_.clear();
  AppendHead(head_, response, connection, listener_.Date());
  stream_.ExpireAfter(settings_.write_timeout);
  const bool sends_body = with_body && StatusHasBody(response.status);
  std::string_view body = sends_body ? std::string_view{response.body} : std::string_view{};
  // TLS makes records, and thereby packets, of the two; a small answer shall be one.
  if (stream_.IsTls() && head_.size() + body.size() <= kTlsRecordBytes) {
    head_ += std::exchange(body, {});
  }
  const bool written = co_await WriteAll(head_, body);
  co_return written;
}

// In one write if the socket takes it; asio::async_write would cut it into pieces of 64 KiB.
ServerAwaitable<bool> ServerConnection::WriteAll(std::string_view head, std::string_view body) {
  while (!head.empty() || !body.empty()) {
    const auto [error, count] = co_await stream_.WriteSome(head, body);
    if (error) co_return false;
    const std::size_t head_count = std::min(count, head.size());
    head.remove_prefix(head_count);
    body.remove_prefix(count - head_count);
  }
  co_return true;
}

// Answers what the handler does not see. The connection ends with it: where the next request
// begins is unknown.
ServerAwaitable<void> ServerConnection::WriteRefusal(const HttpRefusal& refusal) {
  if (refusal.status == 0) co_return;
  if (listener_.events.request_refused) listener_.events.request_refused(refusal.status);
  spdlog::debug("refused a request with {}: {}", refusal.status, refusal.text);
  HttpResponse response = ErrorResponse(refusal.status, refusal.text);
  if (refusal.status == 503) response.retry_after_s = kShedRetryAfterS;
  const bool written = co_await Write(response, "close", true);
  if (written) co_await Linger();
}

ServerAwaitable<void> ServerConnection::Linger() {
  stream_.ExpireAfter(settings_.linger_timeout);
  received_.clear();
  const auto scratch = received_.prepare(kReceiveBytes);
  if (stream_.IsTls()) std::ignore = co_await stream_.EndTls();
  stream_.EndSending();
  for (std::size_t bytes = 0; bytes < kLingerBytesMax;) {
    const auto [error, count] = co_await stream_.ReadSomeRaw(scratch);
    if (error) co_return;
    bytes += count;
  }
}

bool ServerConnection::NothingReceived() {
  return received_.size() == 0 && stream_.NothingReceived();
}

}  // namespace offcut::api
