// What the API client's loop keeps of a call, and how it takes a response's body.
// Owned by the client's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "api/http_response_reader.h"
#include "api/kube_call.h"
#include "api/kube_client.h"
#include "api/kube_connection.h"
#include "api/line_splitter.h"

namespace offcut::api {

// One call or stream, from Call() to its answer.
struct Exchange {
  Exchange(const KubeExecutor& executor, KubeTicket number, KubeRequest call, KubeStream lines)
      : ticket(number), request(std::move(call)), stream(std::move(lines)), deadline(executor) {}

  bool IsStream() const { return stream.line != nullptr; }
  bool IsLate() const {
    return has_deadline && deadline.expiry() <= std::chrono::steady_clock::now();
  }
  bool MayHaveActed() const { return connection != nullptr && connection->HasWritten(); }

  const KubeTicket ticket;
  const KubeRequest request;
  KubeStream stream;
  KubeTimer deadline;
  bool has_deadline = true;
  bool is_admitted = false;
  bool is_finished = false;  // answered or cancelled
  std::shared_ptr<KubeConnection> connection;
};
using ExchangePointer = std::shared_ptr<Exchange>;

// What is handed to the client must not end its thread.
template <typename Function, typename... Arguments>
void RunGuarded(const Function& function, Arguments&&... arguments) {
  try {
    function(std::forward<Arguments>(arguments)...);
  } catch (const std::exception& error) {
    spdlog::error("a function on the API client's thread threw: {}", error.what());
  } catch (...) {
    spdlog::error("a function on the API client's thread threw");
  }
}

// Takes the body of a response: as lines, or as a whole.
class BodyTaker {
 public:
  BodyTaker(Exchange& exchange, const HttpResponseReader& reader,
            const KubeClientSettings& settings)
      : exchange_(exchange),
        reader_(reader),
        body_bytes_max_(settings.body_bytes_max),
        lines_(settings.line_bytes_max) {}

  bool Take(std::string_view bytes) {
    const bool as_lines = exchange_.IsStream() && reader_.Status() == 200;
    if (as_lines) {
      const bool fits = lines_.Put(bytes, [this](std::string_view line) {
        RunGuarded(exchange_.stream.line, line);
        return !exchange_.is_finished;
      });
      if (!fits) problem_ = "a line is too long";
    } else if (body_.size() + bytes.size() > body_bytes_max_) {
      problem_ = fmt::format("the response exceeds {} bytes", body_bytes_max_);
    } else {
      body_ += bytes;
    }
    return problem_.empty() && !exchange_.is_finished;
  }

  const std::string& Problem() const { return problem_; }  // empty: none
  std::string TakeBody() { return std::move(body_); }

 private:
  Exchange& exchange_;
  const HttpResponseReader& reader_;
  std::size_t body_bytes_max_;
  LineSplitter lines_;
  std::string body_;
  std::string problem_;
};

}  // namespace offcut::api
