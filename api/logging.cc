#include "api/logging.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "api/extender_types.h"

namespace offcut::api {
namespace {

// The message without what could end the line or steer a terminal.
class PlainMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& line) override {
    for (const char c : std::string_view(message.payload.data(), message.payload.size())) {
      const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
      line.push_back(is_control ? '?' : c);
    }
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

}  // namespace

void SetUpLogging(LogFormat format, int verbosity) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<PlainMessage>('*').add_flag<JsonMessage>('J');
  formatter->set_pattern(format == LogFormat::kJson
                             ? R"({"ts":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l","msg":%J})"
                             : "%Y-%m-%dT%H:%M:%S.%eZ %L %*");
  auto logger =
      std::make_shared<spdlog::logger>("offcut", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_formatter(std::move(formatter));
  logger->set_level(verbosity == 0   ? spdlog::level::warn
                    : verbosity <= 2 ? spdlog::level::info
                                     : spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
}

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

void LogBind(std::string_view name_space, std::string_view name, std::string_view node,
             std::string_view outcome) {
  spdlog::info("bind {}/{} to {}: {}", name_space, name, node, outcome);
}

}  // namespace offcut::api
