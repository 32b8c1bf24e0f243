#include "api/logging.h"

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <spdlog/async.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/spdlog.h>

#include "api/extender_types.h"
#include "api/log_sink.h"
#include "api/printable.h"

namespace offcut::api {
namespace {

// The message without what could end the line or steer a terminal.
class PlainMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& line) override {
    const std::string text =
        Printable(std::string_view(message.payload.data(), message.payload.size()));
    line.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PlainMessage>();
  }
};

// The message as a JSON string.
class JsonMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& line) override {
    std::string text;
    AppendJsonString(text, std::string_view(message.payload.data(), message.payload.size()));
    line.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonMessage>();
  }
};

std::unique_ptr<spdlog::formatter> MakeFormatter(LogFormat format) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<PlainMessage>('*').add_flag<JsonMessage>('J');
  formatter->set_pattern(format == LogFormat::kJson
                             ? R"({"ts":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l","msg":%J})"
                             : "%Y-%m-%dT%H:%M:%S.%eZ %L %*");
  return formatter;
}

spdlog::level::level_enum LevelOf(int verbosity) {
  if (verbosity == 0) return spdlog::level::warn;
  return verbosity <= 2 ? spdlog::level::info : spdlog::level::debug;
}

// Signals are for the thread that waits for them.
void BlockAllSignals() {
  sigset_t signals;
  sigfillset(&signals);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

BackgroundLog::BackgroundLog(LogFormat format, int verbosity, int descriptor)
    : sink_(std::make_shared<PatientSink>(descriptor)),
      writer_(std::make_shared<spdlog::details::thread_pool>(kLogLinesMax, 1, BlockAllSignals)) {
  sink_->set_formatter(MakeFormatter(format));
  auto logger = std::make_shared<spdlog::async_logger>(
      "offcut", sink_, writer_, spdlog::async_overflow_policy::overrun_oldest);
  logger->set_level(LevelOf(verbosity));
  spdlog::set_default_logger(std::move(logger));
}

BackgroundLog::~BackgroundLog() {
  auto later = std::make_shared<spdlog::logger>("offcut", sink_);
  later->set_level(spdlog::default_logger()->level());
  sink_->LimitWaiting(std::chrono::steady_clock::now() + kLogCloseTimeout);
  spdlog::set_default_logger(std::move(later));
  writer_.reset();  // joins its thread
}

std::uint64_t BackgroundLog::Dropped() const { return writer_->overrun_counter(); }

void LogFilter(const scheduler::Pod& pod, std::span<const scheduler::Verdict> verdicts) {
  if (!spdlog::should_log(spdlog::level::info)) return;
  std::vector<int> counts(scheduler::Reasons().size(), 0);
  for (const scheduler::Verdict& verdict : verdicts) {
    ++counts[static_cast<std::size_t>(verdict.reason)];
  }
  std::vector<std::string> refusals;
  for (const scheduler::ReasonInfo& info : scheduler::Reasons()) {
    const int count = counts[static_cast<std::size_t>(info.reason)];
    if (info.reason == scheduler::Reason::kFits || count == 0) continue;
    refusals.push_back(fmt::format("{} {}", count, info.code));
  }
  spdlog::info("filter {}/{}: {} of {} nodes fit{}{}", pod.name_space, pod.name,
               counts[static_cast<std::size_t>(scheduler::Reason::kFits)], verdicts.size(),
               refusals.empty() ? "" : "; ", fmt::join(refusals, ", "));
}

void LogPreempt(const scheduler::Pod& pod, std::size_t kept, std::size_t offered) {
  spdlog::info("preempt {}/{}: {} of {} candidates kept", pod.name_space, pod.name, kept, offered);
}

void LogPreemptorWaits(const scheduler::Pod& pod) {
  spdlog::info("preempt {}/{}: no candidate kept; it waits for {}, which is being freed for it",
               pod.name_space, pod.name, pod.nominated_node_name);
}

void LogBind(std::string_view name_space, std::string_view name, std::string_view node,
             std::string_view outcome) {
  spdlog::info("bind {}/{} to {}: {}", name_space, name, node, outcome);
}

void LogTargetWorkload(std::string_view hash, std::size_t classes, std::int64_t requests) {
  spdlog::info("target workload {}: {} classes, {} requests", hash, classes, requests);
}

void LogRefusedRequest(std::string_view verb, int status, std::string_view body) {
  spdlog::info("{}: answered {}: {}", verb, status, body.substr(0, kLogBodyBytesMax));
}

void LogUnreadablePod(std::string_view verb, std::string_view name, std::string_view problem) {
  spdlog::info("{} {}: pod cannot be read: {}", verb, name, problem.substr(0, kLogBodyBytesMax));
}

}  // namespace offcut::api
