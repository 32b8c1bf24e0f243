#include "api/log_sink.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>

#include <poll.h>
#include <unistd.h>

namespace offcut::api {
namespace {

// How often a line that waits looks whether waiting is over.
constexpr int kPollMs = 50;

}  // namespace

void PatientSink::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t line;
  formatter_->format(message, line);
  std::string_view rest{line.data(), line.size()};
  while (!rest.empty() && WaitForRoom()) {
    // A pipe that poll(2) calls writable takes so many bytes without waiting.
    const ssize_t written =
        ::write(descriptor_, rest.data(), std::min(rest.size(), std::size_t{PIPE_BUF}));
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR && errno != EAGAIN) {
      return;  // the reader has gone; there is nobody to tell
    }
  }
}

// False: waiting is over. An error of the descriptor counts as room: the write finds it.
bool PatientSink::WaitForRoom() const {
  while (true) {
    pollfd entry{.fd = descriptor_, .events = POLLOUT, .revents = 0};
    if (::poll(&entry, 1, 0) > 0) return true;
    if (std::chrono::steady_clock::now() >= deadline_.load()) return false;
    if (::poll(&entry, 1, kPollMs) > 0) return true;
  }
}

}  // namespace offcut::api
