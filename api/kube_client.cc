// The loop is the one thread and what it owns. Whoever answers first wins: the coroutine that talks
// to the server, the deadline, a Cancel() or the end of the client.
#include "api/kube_client.h"

#include <atomic>
#include <cassert>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "api/http_response_reader.h"
#include "api/kube_connection.h"
#include "api/kube_credentials.h"
#include "api/kube_exchange.h"
#include "api/kube_pool.h"
#include "api/token_bucket.h"

namespace offcut::api {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::steady_clock;

constexpr int kStatusUnauthorized = 401;

// One try of a call.
struct Attempt {
  KubeResult result;
  bool met_closing = false;  // on a kept connection, before any byte of a response
};

KubeResult Failed(bool may_have_acted, std::string message) {
  return std::unexpected(
      KubeError{.may_have_acted = may_have_acted, .message = std::move(message)});
}

void LogEscape(const std::exception_ptr& escaped) {
  if (escaped == nullptr) return;
  RunGuarded([&escaped] { std::rethrow_exception(escaped); });
}

// The name of a limit that is out of range, or an empty view.
std::string_view FindBadLimit(const KubeClientSettings& settings) {
  constexpr std::chrono::milliseconds zero{0};
  if (!(settings.qps > 0)) return "qps";
  if (!(settings.burst >= 1)) return "burst";
  if (settings.bindings_in_flight_max == 0) return "bindings_in_flight_max";
  if (settings.calls_max == 0) return "calls_max";
  if (settings.connect_timeout <= zero) return "connect_timeout";
  if (settings.idle_timeout <= zero) return "idle_timeout";
  if (settings.idle_connections_max == 0) return "idle_connections_max";
  if (settings.credentials_recheck <= zero) return "credentials_recheck";
  if (settings.header_bytes_max == 0 || settings.header_bytes_max > UINT32_MAX / 2) {
    return "header_bytes_max";  // Beast counts them in 32 bits
  }
  if (settings.body_bytes_max == 0) return "body_bytes_max";
  if (settings.line_bytes_max == 0) return "line_bytes_max";
  return {};
}

}  // namespace

// Members belong to the thread, but for NextTicket(), Hand(), Post() and Stop().
class KubeClient::Loop {
 public:
  Loop(KubeCredentials credentials, const KubeClientSettings& settings)
      : settings_(settings),
        credentials_(std::move(credentials)),
        pool_(io_.get_executor(), settings.idle_connections_max, settings.idle_timeout),
        bucket_(settings.qps, settings.burst, steady_clock::now()),
        rate_timer_(io_.get_executor()) {}

  void StartThread() {
    thread_ = std::thread([this] { io_.run(); });
  }
  void Stop();

  KubeTicket NextTicket() { return ++last_ticket_; }
  bool IsHere() { return io_.get_executor().running_in_this_thread(); }
  bool Post(std::function<void()> run);

  // Runs `run` on the thread: now if it is this one. False: the client has stopped.
  bool Hand(std::function<void()> run);

  void Begin(KubeTicket ticket, KubeRequest request, KubeStream stream);
  void BeginTimer(KubeTicket ticket, std::chrono::milliseconds delay, std::function<void()> run);
  void Cancel(KubeTicket ticket);
  const KubeConfig& Config() const { return credentials_.Config(); }

 private:
  void Admit(const ExchangePointer& exchange);
  void PumpRate();
  void PumpBindings();
  void Launch(const ExchangePointer& exchange);

  KubeAwaitable<void> Run(ExchangePointer launched);
  // References in these live in the frame of Run().
  KubeAwaitable<Attempt> TryOnce(Exchange& exchange, const std::string& token, bool may_reuse);
  KubeAwaitable<KubeResult> ReadResponse(Exchange& exchange, HttpResponseReader& reader);
  void Keep(Exchange& exchange, const HttpResponseReader& reader, const KubeResult& result);

  void OnDeadline(KubeTicket ticket);
  void Finish(const ExchangePointer& exchange, KubeResult result);
  void Retire(const ExchangePointer& exchange);
  void BeginStop();

  const KubeClientSettings settings_;
  asio::io_context io_{1};  // 1: one thread runs it
  asio::executor_work_guard<KubeExecutor> work_{io_.get_executor()};
  KubeCredentials credentials_;
  KubePool pool_;
  TokenBucket bucket_;
  KubeTimer rate_timer_;
  bool rate_waits_ = false;                 // rate_timer_ runs
  std::deque<ExchangePointer> rate_queue_;  // finished ones are passed over
  std::deque<ExchangePointer> last_queue_;  // asked where rate_queue_ is empty; likewise
  std::deque<ExchangePointer> binding_queue_;
  std::size_t bindings_in_flight_ = 0;
  std::unordered_map<KubeTicket, ExchangePointer> exchanges_;
  std::unordered_map<KubeTicket, std::unique_ptr<KubeTimer>> timers_;
  bool stopping_ = false;

  std::atomic<KubeTicket> last_ticket_ = 0;
  std::mutex mutex_;  // of is_stopped_: nothing is posted behind BeginStop()
  bool is_stopped_ = false;
  std::thread thread_;
};

bool KubeClient::Loop::Post(std::function<void()> run) {
  const std::lock_guard lock(mutex_);
  if (is_stopped_ && !IsHere()) return false;
  asio::post(io_, [run = std::move(run)] { RunGuarded(run); });
  return true;
}

bool KubeClient::Loop::Hand(std::function<void()> run) {
  if (!IsHere()) return Post(std::move(run));
  RunGuarded(run);
  return true;
}

void KubeClient::Loop::Begin(KubeTicket ticket, KubeRequest request, KubeStream stream) {
  auto exchange =
      std::make_shared<Exchange>(io_.get_executor(), ticket, std::move(request), std::move(stream));
  exchanges_.emplace(ticket, exchange);
  const bool is_full = exchanges_.size() > settings_.calls_max;
  if (is_full || stopping_) {
    asio::post(io_, [this, exchange, is_full] {
      Finish(exchange,
             Failed(false, is_full ? "too many calls at once" : "the client has stopped"));
    });
    return;
  }
  std::ignore = exchange->deadline.expires_after(exchange->request.timeout);
  exchange->deadline.async_wait([this, ticket](error_code error) {
    if (!error) OnDeadline(ticket);
  });
  Admit(exchange);
}

void KubeClient::Loop::Admit(const ExchangePointer& exchange) {
  switch (exchange->request.limit) {
    case KubeLimit::kRate:
    case KubeLimit::kLast:
      (exchange->request.limit == KubeLimit::kRate ? rate_queue_ : last_queue_).push_back(exchange);
      if (!rate_waits_) PumpRate();
      return;
    case KubeLimit::kBindings:
      binding_queue_.push_back(exchange);
      PumpBindings();
      return;
    case KubeLimit::kNone:
      Launch(exchange);
      return;
  }
}

void KubeClient::Loop::PumpRate() {
  for (;;) {
    auto& queue = rate_queue_.empty() ? last_queue_ : rate_queue_;
    if (queue.empty()) return;
    if (!queue.front()->is_finished) {
      const auto wait = bucket_.Take(steady_clock::now());
      rate_waits_ = wait.count() > 0;
      if (rate_waits_) {
        std::ignore = rate_timer_.expires_after(wait);
        rate_timer_.async_wait([this](error_code error) {
          rate_waits_ = false;
          if (!error) PumpRate();
        });
        return;
      }
      Launch(queue.front());
    }
    queue.pop_front();
  }
}

void KubeClient::Loop::PumpBindings() {
  while (!binding_queue_.empty() && bindings_in_flight_ < settings_.bindings_in_flight_max) {
    const ExchangePointer exchange = std::move(binding_queue_.front());
    binding_queue_.pop_front();
    if (exchange->is_finished) continue;
    ++bindings_in_flight_;
    Launch(exchange);
  }
}

void KubeClient::Loop::Launch(const ExchangePointer& exchange) {
  exchange->is_admitted = true;
  // Not from here: it may answer at once, and that must not happen within Call().
  asio::post(io_, [this, exchange] { asio::co_spawn(io_, Run(exchange), LogEscape); });
}

KubeAwaitable<void> KubeClient::Loop::Run(ExchangePointer launched) {
  const ExchangePointer exchange = std::move(launched);
  bool may_reuse = true;
  bool has_new_token = false;
  while (!exchange->is_finished) {
    const std::string token = credentials_.Token(steady_clock::now());
    Attempt attempt = co_await TryOnce(*exchange, token, may_reuse);
    const bool may_repeat = !exchange->MayHaveActed() || IsRead(exchange->request);
    if (attempt.met_closing && may_repeat) {
      may_reuse = false;
      continue;
    }
    if (attempt.result && attempt.result->status == kStatusUnauthorized && !has_new_token &&
        credentials_.ReplaceToken(token, steady_clock::now())) {
      has_new_token = true;
      continue;
    }
    Finish(exchange, std::move(attempt.result));
  }
}

KubeAwaitable<Attempt> KubeClient::Loop::TryOnce(Exchange& exchange, const std::string& token,
                                                 bool may_reuse) {
  auto text = RequestText(exchange.request, credentials_.Config(), token);
  if (!text) co_return Attempt{Failed(false, std::move(text.error()))};
  const TlsContext tls = credentials_.Tls(steady_clock::now());
  exchange.connection = may_reuse ? pool_.Take(tls) : nullptr;
  const bool reuses = exchange.connection != nullptr;
  if (!reuses) {
    exchange.connection = std::make_shared<KubeConnection>(io_.get_executor(), tls);
    const KubeConnection::Result opened =
        co_await exchange.connection->Open(credentials_.Config(), settings_.connect_timeout);
    if (!opened) co_return Attempt{Failed(false, opened.error())};
  }
  // After a pause of the whole process this may run before the deadline's timer does.
  if (exchange.is_finished || exchange.IsLate()) {
    exchange.connection->Close();
    const auto timeout = exchange.request.timeout.count();
    co_return Attempt{Failed(false, fmt::format("not sent within {} ms", timeout))};
  }
  const KubeConnection::Result written = co_await exchange.connection->Write(*text);
  if (!written) {
    exchange.connection->Close();
    co_return Attempt{Failed(exchange.MayHaveActed(), written.error()), reuses};
  }
  HttpResponseReader reader(settings_.header_bytes_max);
  KubeResult result = co_await ReadResponse(exchange, reader);
  Keep(exchange, reader, result);
  const bool met_closing = reuses && !result && !reader.HasBegun();
  co_return Attempt{std::move(result), met_closing};
}

KubeAwaitable<KubeResult> KubeClient::Loop::ReadResponse(Exchange& exchange,
                                                         HttpResponseReader& reader) {
  KubeConnection& connection = *exchange.connection;
  BodyTaker body(exchange, reader, settings_);
  while (!reader.IsDone()) {
    if (exchange.IsStream() && reader.HasHead()) {
      exchange.has_deadline = false;
      connection.ExpireAfter(exchange.stream.silence_timeout);
    }
    const KubeConnection::Result received = co_await connection.Receive();
    if (!received) co_return Failed(true, received.error());
    const std::string_view bytes = connection.Received();
    const bool is_end = bytes.empty();
    const auto used = reader.Put(bytes, [&body](std::string_view part) { return body.Take(part); });
    if (!used) co_return Failed(true, used.error());
    connection.Consume(*used);
    if (!body.Problem().empty()) co_return Failed(true, body.Problem());
    if (exchange.is_finished) co_return Failed(true, "given up");
    if (is_end) {
      const auto ended = reader.PutEnd();
      if (!ended) co_return Failed(true, ended.error());
    }
  }
  KubeResponse response;
  response.status = reader.Status();
  response.retry_after_s = reader.RetryAfterS();
  response.body = body.TakeBody();
  co_return response;
}

// Keeps the connection for the next call, if it is good for one.
void KubeClient::Loop::Keep(Exchange& exchange, const HttpResponseReader& reader,
                            const KubeResult& result) {
  const bool is_good = result.has_value() && reader.IsDone() && reader.KeepsAlive() &&
                       !exchange.is_finished && !stopping_;
  if (!is_good) {
    exchange.connection->Close();
    return;
  }
  exchange.connection->NeverExpire();
  pool_.Give(std::exchange(exchange.connection, nullptr));
}

void KubeClient::Loop::OnDeadline(KubeTicket ticket) {
  const auto found = exchanges_.find(ticket);
  if (found == exchanges_.end() || !found->second->has_deadline) return;
  const ExchangePointer exchange = found->second;
  const std::string_view state = exchange->is_admitted ? "no answer" : "not sent";
  const bool may_have_acted = exchange->MayHaveActed();
  Finish(exchange, Failed(may_have_acted, fmt::format("{} within {} ms", state,
                                                      exchange->request.timeout.count())));
}

void KubeClient::Loop::Finish(const ExchangePointer& exchange, KubeResult result) {
  if (exchange->is_finished) return;
  Retire(exchange);
  if (exchange->stream.ended) RunGuarded(exchange->stream.ended, std::move(result));
}

void KubeClient::Loop::Retire(const ExchangePointer& exchange) {
  exchange->is_finished = true;
  std::ignore = exchange->deadline.cancel();
  if (exchange->connection != nullptr) exchange->connection->Close();
  exchanges_.erase(exchange->ticket);
  if (exchange->request.limit != KubeLimit::kBindings || !exchange->is_admitted) return;
  --bindings_in_flight_;
  if (!stopping_) PumpBindings();
}

void KubeClient::Loop::BeginTimer(KubeTicket ticket, std::chrono::milliseconds delay,
                                  std::function<void()> run) {
  if (stopping_) return;
  auto& timer = timers_[ticket] = std::make_unique<KubeTimer>(io_.get_executor());
  std::ignore = timer->expires_after(delay);
  timer->async_wait([this, ticket, run = std::move(run)](error_code error) {
    // Cancelled after it expired: then it is not there any more.
    if (error || timers_.erase(ticket) == 0) return;
    RunGuarded(run);
  });
}

void KubeClient::Loop::Cancel(KubeTicket ticket) {
  timers_.erase(ticket);
  const auto found = exchanges_.find(ticket);
  if (found == exchanges_.end()) return;
  const ExchangePointer exchange = found->second;
  Retire(exchange);
}

void KubeClient::Loop::Stop() {
  if (!thread_.joinable()) return;
  assert(!IsHere());
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    asio::post(io_, [this] { BeginStop(); });
  }
  thread_.join();
}

void KubeClient::Loop::BeginStop() {
  stopping_ = true;
  timers_.clear();
  std::ignore = rate_timer_.cancel();
  rate_queue_.clear();
  last_queue_.clear();
  binding_queue_.clear();
  pool_.Clear();
  const auto exchanges = std::exchange(exchanges_, {});
  for (const auto& [ticket, exchange] : exchanges) {
    Finish(exchange, Failed(exchange->MayHaveActed(), "the client has stopped"));
  }
  work_.reset();
}

std::expected<std::unique_ptr<KubeClient>, Error> KubeClient::Start(KubeConfig config,
                                                                    KubeClientSettings settings) {
  if (const std::string_view limit = FindBadLimit(settings); !limit.empty()) {
    return std::unexpected(Error{ErrorKind::kBadRequest, fmt::format("{} is out of range", limit)});
  }
  auto credentials =
      KubeCredentials::Load(std::move(config), steady_clock::now(), settings.credentials_recheck);
  if (!credentials) return std::unexpected(credentials.error());
  try {  // Asio and std::thread throw when file descriptors or threads are out
    auto loop = std::make_unique<Loop>(*std::move(credentials), settings);
    loop->StartThread();
    return std::unique_ptr<KubeClient>(new KubeClient(std::move(loop)));
  } catch (const std::exception& error) {
    return std::unexpected(Error{ErrorKind::kUnavailable,
                                 fmt::format("cannot start the API client: {}", error.what())});
  }
}

KubeClient::KubeClient(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

KubeClient::~KubeClient() {
  try {
    Stop();
  } catch (...) {  // out of memory: the thread cannot be told to end any more
    std::terminate();
  }
}

KubeTicket KubeClient::Call(KubeRequest request, KubeDone done) {
  return Stream(std::move(request), KubeStream{.line = nullptr, .ended = std::move(done)});
}

KubeTicket KubeClient::Stream(KubeRequest request, KubeStream stream) {
  const KubeTicket ticket = loop_->NextTicket();
  const KubeDone ended = stream.ended;
  const bool handed =
      loop_->Hand([loop = loop_.get(), ticket, request = std::move(request),
                   stream = std::move(stream)] { loop->Begin(ticket, request, stream); });
  if (!handed && ended) ended(Failed(false, "the client has stopped"));
  return ticket;
}

KubeTicket KubeClient::RunAfter(std::chrono::milliseconds delay, std::function<void()> run) {
  const KubeTicket ticket = loop_->NextTicket();
  loop_->Hand([loop = loop_.get(), ticket, delay, run = std::move(run)]() mutable {
    loop->BeginTimer(ticket, delay, std::move(run));
  });
  return ticket;
}

bool KubeClient::Post(std::function<void()> run) { return loop_->Post(std::move(run)); }

void KubeClient::Cancel(KubeTicket ticket) {
  loop_->Hand([loop = loop_.get(), ticket] { loop->Cancel(ticket); });
}

bool KubeClient::RunsInThisThread() const { return loop_->IsHere(); }

const KubeConfig& KubeClient::Config() const { return loop_->Config(); }

void KubeClient::Stop() { loop_->Stop(); }

}  // namespace offcut::api
