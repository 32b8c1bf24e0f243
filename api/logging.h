// The log: standard error, as text or as one JSON object a line, one line a decision.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "scheduler/decision.h"

namespace spdlog::details {
class thread_pool;  // NOLINT(readability-identifier-naming): spdlog names it
}

namespace offcut::api {

class PatientSink;

enum class LogFormat { kText, kJson };

inline constexpr int kStandardError = 2;

// While one lives, lines are written by a thread of its own, so that nobody who logs waits for
// whoever reads the log. Of kLogLinesMax lines that wait the oldest is dropped for a new one, and
// counted. What came from outside cannot forge a line: control characters are escaped in both
// formats. At most one at a time; make it before the first line.
class BackgroundLog {
 public:
  // Verbosity as klog has it: 0 warnings, 1 and 2 decisions, 3 and 4 debug.
  BackgroundLog(LogFormat format, int verbosity, int descriptor = kStandardError);
  BackgroundLog(const BackgroundLog&) = delete;
  BackgroundLog& operator=(const BackgroundLog&) = delete;
  // Writes what waits, for at most kLogCloseTimeout. Later lines go out if there is room at once.
  ~BackgroundLog();

  // Lines dropped until now. Thread-safe.
  std::uint64_t Dropped() const;

 private:
  const std::shared_ptr<PatientSink> sink_;
  std::shared_ptr<spdlog::details::thread_pool> writer_;
};

inline constexpr std::size_t kLogLinesMax = 8'192;
inline constexpr std::chrono::milliseconds kLogCloseTimeout{500};

// "filter team-a/train-7: 2 of 7 nodes fit; 4 gpus.taken, 1 node.reconfiguring"
void LogFilter(const scheduler::Pod& pod, std::span<const scheduler::Verdict> verdicts);
// "preempt team-a/train-7: 1 of 3 candidates kept"
void LogPreempt(const scheduler::Pod& pod, std::size_t kept, std::size_t offered);
void LogPreemptorWaits(const scheduler::Pod& pod);
// "bind team-a/train-7 to gpu-3: bound" or the reason's code.
void LogBind(std::string_view name_space, std::string_view name, std::string_view node,
             std::string_view outcome);
// "target workload 91c0ffee51abad1d: 12 classes, 480 requests"
void LogTargetWorkload(std::string_view hash, std::size_t classes, std::int64_t requests);

// "filter: answered 400: {...}"; at most kLogBodyBytesMax of the body.
void LogRefusedRequest(std::string_view verb, int status, std::string_view body);
// "filter team-a/train-7: pod cannot be read: Pod.spec.containers[0]..."
void LogUnreadablePod(std::string_view verb, std::string_view name, std::string_view problem);

inline constexpr std::size_t kLogNameBytesMax = 253;  // as long as names may be
inline constexpr std::size_t kLogBodyBytesMax = 512;

}  // namespace offcut::api
