#include "bench/echo_server.h"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "api/http.h"
#include "api/server.h"

namespace offcut::bench {
namespace {

constexpr std::string_view kTarget = "/echo?bytes=";

std::size_t AnswerBytes(std::string_view target) {
  if (!target.starts_with(kTarget)) return 0;
  target.remove_prefix(kTarget.size());
  std::size_t bytes = 0;
  std::from_chars(target.data(), target.data() + target.size(), bytes);
  return std::min(bytes, kEchoBytesMax);
}

}  // namespace

std::string EchoTarget(std::size_t answer_bytes) {
  return fmt::format("{}{}", kTarget, answer_bytes);
}

std::expected<void, api::Error> RunEcho() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before the server's thread begins
  auto server =
      api::Server::Start({}, [](const api::HttpRequest& request, const api::Respond& respond) {
        respond({.body = std::string(AnswerBytes(request.target), ' '), .allow = {}});
      });
  if (!server) return std::unexpected(server.error());
  std::fputs(fmt::format("listening extender 127.0.0.1:{}\nready\n", (*server)->Port()).c_str(),
             stdout);
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  (*server)->Stop();
  return {};
}

}  // namespace offcut::bench
