#include "api/list_watch.h"

#include <algorithm>
#include <exception>
#include <expected>
#include <future>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "api/kube_status.h"
#include "api/watch_event.h"

namespace offcut::api {

using std::chrono::steady_clock;

// All members belong to the client's thread.
class Reflector : public std::enable_shared_from_this<Reflector> {
 public:
  Reflector(KubeClient& client, WatchedKind kind, WatchSinks sinks, std::mt19937_64 random,
            const ListWatchSettings& settings)
      : client_(client),
        kind_(std::move(kind)),
        sinks_(std::move(sinks)),
        settings_(settings),
        random_(random),
        backoff_(settings.backoff, random_()) {}

  void List();  // by stream or by pages
  void End();

 private:
  // What the open stream brings.
  enum class Phase { kInitialEvents, kChanges };

  // A list by pages, so far.
  struct Pages {
    std::vector<nlohmann::json> items;
    std::size_t count = 0;
  };

  void Watch();
  void OpenStream(Phase phase);
  std::string StreamTarget(Phase phase);
  void OnLine(std::string_view line);
  void OnError(const nlohmann::json& object);
  void OnInitialEvent(WatchEventType type, nlohmann::json object);
  void OnChange(WatchEventType type, nlohmann::json object);
  void OnStreamEnd(const KubeResult& result);
  void OnWatchCut(const std::string& problem);
  void GiveUpStreamingLists(const std::string& problem);

  void AskPage(Pages pages, const std::string& continue_token, bool as_a_whole);
  void OnPage(Pages pages, const std::string& continue_token, const KubeResult& result);

  void HandOver(std::vector<nlohmann::json> items, std::string resource_version);
  void Recover(const KubeStatus& status, int retry_after_s);
  void RetryLater(void (Reflector::*step)(), int retry_after_s);
  void CloseStream();
  void OnUnreadableLine();
  void SkipNameless();
  void Failed(const std::string& problem);
  void Observe();

  KubeClient& client_;
  const WatchedKind kind_;
  const WatchSinks sinks_;
  const ListWatchSettings settings_;
  std::mt19937_64 random_;
  Backoff backoff_;

  bool has_ended_ = false;
  WatchStatus status_;
  bool streams_lists_ = true;
  std::string list_version_;  // a streaming list must not be older; empty: the newest there is
  Phase phase_ = Phase::kInitialEvents;
  std::map<std::string, nlohmann::json> initial_;  // by key, until all have come
  steady_clock::time_point opened_;
  bool had_change_ = false;  // the stream has brought something

  KubeTicket stream_ = 0;  // 0: none is open
  KubeTicket page_ = 0;
  KubeTicket initial_timer_ = 0;
  KubeTicket retry_timer_ = 0;
};

void Reflector::List() {
  if (has_ended_) return;
  if (streams_lists_) {
    OpenStream(Phase::kInitialEvents);
  } else {
    AskPage({}, {}, /*as_a_whole=*/false);
  }
}

void Reflector::Watch() {
  if (has_ended_) return;
  if (status_.resource_version.empty()) {  // the list did not say from where
    List();
  } else {
    OpenStream(Phase::kChanges);
  }
}

std::string Reflector::StreamTarget(Phase phase) {
  std::uniform_int_distribution<std::int64_t> timeout_s(settings_.watch_timeout_min.count(),
                                                        settings_.watch_timeout_max.count());
  const bool is_list = phase == Phase::kInitialEvents;
  std::string target = fmt::format("{}?watch=1&allowWatchBookmarks=true&timeoutSeconds={}",
                                   kind_.path, timeout_s(random_));
  if (is_list) target += "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
  const std::string& version = is_list ? list_version_ : status_.resource_version;
  if (!version.empty()) target += "&resourceVersion=" + PercentEncoded(version);
  if (!kind_.field_selector.empty()) {
    target += "&fieldSelector=" + PercentEncoded(kind_.field_selector);
  }
  return target;
}

void Reflector::OpenStream(Phase phase) {
  phase_ = phase;
  opened_ = steady_clock::now();
  had_change_ = false;
  initial_.clear();
  KubeRequest request;
  request.target = StreamTarget(phase);
  KubeStream stream;
  stream.silence_timeout = settings_.silence_timeout;
  stream.line = [weak = weak_from_this()](std::string_view line) {
    if (const auto self = weak.lock()) self->OnLine(line);
  };
  stream.ended = [weak = weak_from_this()](const KubeResult& result) {
    if (const auto self = weak.lock()) self->OnStreamEnd(result);
  };
  stream_ = client_.Stream(std::move(request), std::move(stream));
  if (phase == Phase::kChanges) {
    status_.is_watching = true;
    Observe();
    return;
  }
  initial_timer_ = client_.RunAfter(settings_.initial_events_timeout, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->GiveUpStreamingLists("its end did not come");
  });
}

void Reflector::OnLine(std::string_view line) {
  if (has_ended_) return;
  status_.last_event = steady_clock::now();
  std::optional<WatchEvent> event = ParseWatchEvent(line);
  if (!event) {
    OnUnreadableLine();
  } else if (event->type == WatchEventType::kError) {
    OnError(event->object);
  } else if (event->type != WatchEventType::kBookmark && !ObjectKey(event->object)) {
    SkipNameless();
  } else if (phase_ == Phase::kInitialEvents) {
    OnInitialEvent(event->type, std::move(event->object));
  } else {
    OnChange(event->type, std::move(event->object));
  }
  Observe();
}

// It may have said anything, that an object is gone, say: only a list can tell.
void Reflector::OnUnreadableLine() {
  CloseStream();
  Failed("a line of the watch cannot be read");
  if (phase_ == Phase::kChanges) list_version_ = status_.resource_version;
  RetryLater(&Reflector::List, 0);
}

void Reflector::OnError(const nlohmann::json& object) {
  const KubeStatus status = ReadStatus(object).value_or(KubeStatus{});
  CloseStream();
  Failed(StatusText(status));
  Recover(status, status.retry_after_s);
}

// The versions of these come in no order, and say nothing yet.
void Reflector::OnInitialEvent(WatchEventType type, nlohmann::json object) {
  if (type == WatchEventType::kBookmark) {
    if (!EndsInitialEvents(object)) return;
    std::vector<nlohmann::json> items;
    items.reserve(initial_.size());
    for (auto& [key, item] : initial_) items.push_back(std::move(item));
    initial_.clear();
    client_.Cancel(std::exchange(initial_timer_, 0));
    phase_ = Phase::kChanges;
    had_change_ = true;
    status_.is_watching = true;
    HandOver(std::move(items), ResourceVersionOf(object));
    return;
  }
  const std::string key = ObjectKey(object).value_or("");
  if (type == WatchEventType::kDeleted) {
    initial_.erase(key);
  } else {
    initial_.insert_or_assign(key, std::move(object));
  }
  if (initial_.size() <= settings_.objects_max) return;
  CloseStream();
  Failed("too many objects");
  RetryLater(&Reflector::List, 0);
}

void Reflector::OnChange(WatchEventType type, nlohmann::json object) {
  const std::string version = ResourceVersionOf(object);
  if (!version.empty()) status_.resource_version = version;
  if (type == WatchEventType::kBookmark) return;
  had_change_ = true;
  const auto& sink = type == WatchEventType::kDeleted ? sinks_.remove : sinks_.upsert;
  if (sink) sink(std::move(object));
}

void Reflector::OnStreamEnd(const KubeResult& result) {
  if (has_ended_) return;
  stream_ = 0;
  CloseStream();
  if (result && result->status != 200) {
    const KubeStatus status = ReadStatusBody(result->status, result->body);
    if (phase_ == Phase::kInitialEvents && RefusesStreamingLists(status)) {
      GiveUpStreamingLists(StatusText(status));
    } else {
      Failed(StatusText(status));
      Recover(status, std::max(result->retry_after_s, status.retry_after_s));
    }
  } else if (phase_ == Phase::kInitialEvents) {
    Failed(result ? "the list ended before it was whole" : result.error().message);
    RetryLater(&Reflector::List, 0);
  } else {
    OnWatchCut(result ? "" : result.error().message);
  }
  Observe();
}

// `problem` is empty where the server has ended the watch in good order. What brought something may
// go on at once; what did not, waits, or it could be in vain for ever.
void Reflector::OnWatchCut(const std::string& problem) {
  const bool is_short = !had_change_ && steady_clock::now() - opened_ < settings_.short_watch;
  if (!problem.empty()) {
    Failed(problem);
  } else if (is_short) {
    Failed("the watch ended at once");
  }
  if (is_short || (!problem.empty() && !had_change_)) {
    RetryLater(&Reflector::Watch, 0);
  } else {
    Watch();
  }
}

void Reflector::GiveUpStreamingLists(const std::string& problem) {
  if (has_ended_) return;
  spdlog::info("{}: no streaming list, so pages: {}", kind_.name, problem);
  CloseStream();
  streams_lists_ = false;
  List();
}

// All pages are one state, unless the token that leads to the next one has expired: then the whole
// list is asked for at once.
void Reflector::AskPage(Pages pages, const std::string& continue_token, bool as_a_whole) {
  std::vector<std::string> query;
  if (!as_a_whole) query.push_back(fmt::format("limit={}", settings_.page_size));
  if (!continue_token.empty()) query.push_back("continue=" + PercentEncoded(continue_token));
  if (!kind_.field_selector.empty()) {
    query.push_back("fieldSelector=" + PercentEncoded(kind_.field_selector));
  }
  KubeRequest request;
  request.target =
      fmt::format("{}{}{}", kind_.path, query.empty() ? "" : "?", fmt::join(query, "&"));
  request.timeout = settings_.list_timeout;
  const auto shared = std::make_shared<Pages>(std::move(pages));
  page_ = client_.Call(std::move(request),
                       [weak = weak_from_this(), shared, continue_token](const KubeResult& result) {
                         const auto self = weak.lock();
                         if (self) self->OnPage(std::move(*shared), continue_token, result);
                       });
}

void Reflector::OnPage(Pages pages, const std::string& continue_token, const KubeResult& result) {
  if (has_ended_) return;
  page_ = 0;
  if (!result || result->status != 200) {
    Failed(ResultText(result));
    const bool has_expired = result && result->status == 410 && !continue_token.empty();
    if (has_expired) {
      AskPage({}, {}, /*as_a_whole=*/true);
    } else {
      RetryLater(&Reflector::List, result ? result->retry_after_s : 0);
    }
    Observe();
    return;
  }
  std::expected<ListPage, std::string> page = ParseListPage(result->body);
  // Pages without items would never come to an end.
  const std::size_t pages_max = settings_.objects_max / settings_.page_size + 1;
  if (!page || ++pages.count > pages_max ||
      pages.items.size() + page->items.size() > settings_.objects_max) {
    Failed(page ? "too many objects" : page.error());
    RetryLater(&Reflector::List, 0);
    Observe();
    return;
  }
  status_.skipped += page->skipped;
  std::ranges::move(page->items, std::back_inserter(pages.items));
  if (!page->continue_token.empty()) {
    AskPage(std::move(pages), page->continue_token, /*as_a_whole=*/false);
    return;
  }
  HandOver(std::move(pages.items), std::move(page->resource_version));
  Watch();
  Observe();
}

void Reflector::HandOver(std::vector<nlohmann::json> items, std::string resource_version) {
  if (status_.is_synced) ++status_.relists;
  status_.is_synced = true;
  status_.last_event = steady_clock::now();
  list_version_ = resource_version;
  status_.resource_version = std::move(resource_version);
  if (sinks_.replace) sinks_.replace(std::move(items));
}

// After the server has refused a stream, or ended it with an error.
void Reflector::Recover(const KubeStatus& status, int retry_after_s) {
  const WatchRemedy remedy = RemedyFor(status);
  if (phase_ == Phase::kInitialEvents) {
    // Also where the version of the last list has expired.
    if (remedy != WatchRemedy::kRewatch) list_version_.clear();
    RetryLater(&Reflector::List, retry_after_s);
  } else if (remedy == WatchRemedy::kRewatch) {
    RetryLater(&Reflector::Watch, retry_after_s);
  } else {
    // The server is there; what failed before it was, counts no more.
    backoff_.Reset();
    list_version_ = remedy == WatchRemedy::kRelist ? status_.resource_version : std::string();
    RetryLater(&Reflector::List, retry_after_s);
  }
}

void Reflector::RetryLater(void (Reflector::*step)(), int retry_after_s) {
  const std::chrono::milliseconds asked = std::min<std::chrono::milliseconds>(
      std::chrono::seconds{retry_after_s}, settings_.retry_after_max);
  const std::chrono::milliseconds delay = std::max(backoff_.Next(steady_clock::now()), asked);
  retry_timer_ = client_.RunAfter(delay, [weak = weak_from_this(), step] {
    if (const auto self = weak.lock()) (self.get()->*step)();
  });
}

void Reflector::CloseStream() {
  client_.Cancel(std::exchange(stream_, 0));
  client_.Cancel(std::exchange(initial_timer_, 0));
  initial_.clear();
  status_.is_watching = false;
}

void Reflector::SkipNameless() {
  ++status_.skipped;
  spdlog::warn("{}: left out an object without a name", kind_.name);
}

void Reflector::Failed(const std::string& problem) {
  ++status_.watch_errors;
  status_.last_error = problem;
  spdlog::warn("{}: {}", kind_.name, problem);
}

void Reflector::Observe() {
  if (sinks_.observe && !has_ended_) sinks_.observe(status_);
}

void Reflector::End() {
  has_ended_ = true;
  CloseStream();
  client_.Cancel(page_);
  client_.Cancel(retry_timer_);
}

ListWatch::ListWatch(KubeClient& client, WatchedKind kind, WatchSinks sinks, std::mt19937_64 random,
                     ListWatchSettings settings)
    : client_(client),
      reflector_(std::make_shared<Reflector>(client, std::move(kind), std::move(sinks), random,
                                             settings)) {}

ListWatch::~ListWatch() {
  try {
    Stop();
  } catch (...) {  // out of memory: the client's thread cannot be told any more
    std::terminate();
  }
}

void ListWatch::Start() {
  client_.Post([reflector = reflector_] { reflector->List(); });
}

void ListWatch::Stop() {
  if (client_.RunsInThisThread()) {
    reflector_->End();
    return;
  }
  auto ended = std::make_shared<std::promise<void>>();
  std::future<void> future = ended->get_future();
  const bool posted = client_.Post([reflector = reflector_, ended] {
    reflector->End();
    ended->set_value();
  });
  if (posted) future.wait();
}

}  // namespace offcut::api
