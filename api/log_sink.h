// Where log lines go: a file descriptor whose reader may have stopped reading.
//
// A write(2) to a full pipe waits for its reader, for ever if need be. This sink asks poll(2)
// first, so that whoever ends the log can say when waiting is over.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string_view>

#include <spdlog/sinks/base_sink.h>

namespace offcut::api {

class PatientSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // `descriptor` stays the caller's.
  explicit PatientSink(int descriptor) : descriptor_(descriptor) {}

  // From now on a line waits for its reader until `deadline` at most, and is lost after it.
  // Thread-safe, also while a line waits.
  void LimitWaiting(std::chrono::steady_clock::time_point deadline) { deadline_ = deadline; }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}  // nothing is kept back

 private:
  bool WaitForRoom() const;

  const int descriptor_;
  std::atomic<std::chrono::steady_clock::time_point> deadline_ =
      std::chrono::steady_clock::time_point::max();
};

}  // namespace offcut::api
