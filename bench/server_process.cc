#include "bench/server_process.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace offcut::bench {
namespace {

using api::Error;
using api::ErrorKind;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookInterval{2};
constexpr int kCannotRunStatus = 127;  // as a shell says it

std::unexpected<Error> Unavailable(std::string message) {
  return std::unexpected(Error{ErrorKind::kUnavailable, std::move(message)});
}

// The file's last bytes. Read by position, since the child's writes move the shared offset.
std::string ReadTail(int file, std::size_t bytes_max) {
  struct stat status = {};
  if (fstat(file, &status) != 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  std::string text(std::min(size, bytes_max), '\0');
  const ssize_t count =
      pread(file, text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return text;
}

std::vector<std::string> ArgumentsFor(const std::string& program,
                                      const std::vector<std::string>& snapshots) {
  std::vector<std::string> arguments = {program, "serve"};
  for (const std::string& snapshot : snapshots) {
    arguments.emplace_back("--snapshot");
    arguments.push_back(snapshot);
  }
  for (const char* option : {"--bind-address", "--health-bind-address", "--metrics-bind-address"}) {
    arguments.emplace_back(option);
    arguments.emplace_back("127.0.0.1:0");
  }
  return arguments;
}

// In the child: async-signal-safe calls alone, and no return.
[[noreturn]] void Become(char* const* arguments, int output, int errors) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  execv(arguments[0], arguments);
  const char* reason = strerrordesc_np(errno);
  if (write(STDERR_FILENO, reason, std::strlen(reason)) < 0) _exit(kCannotRunStatus);
  _exit(kCannotRunStatus);
}

// The port of a line "listening NAME 127.0.0.1:PORT", or 0.
std::uint16_t PortOf(std::string_view output, std::string_view name) {
  const std::string start = fmt::format("listening {} 127.0.0.1:", name);
  const std::size_t line = output.find(start);
  if (line == std::string_view::npos) return 0;
  const std::string_view digits = output.substr(line + start.size());
  std::uint16_t port = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return port;
}

}  // namespace

std::expected<ServerProcess, Error> ServerProcess::StartOffcut(
    const std::string& program, const std::vector<std::string>& snapshots,
    const std::vector<std::string>& more) {
  std::vector<std::string> command = ArgumentsFor(program, snapshots);
  command.insert(command.end(), more.begin(), more.end());
  return Start(std::move(command));
}

std::expected<ServerProcess, Error> ServerProcess::Start(std::vector<std::string> command) {
  const int output = memfd_create("offcut-output", MFD_CLOEXEC);
  const int errors = memfd_create("offcut-errors", MFD_CLOEXEC);
  const std::string program = command.front();
  std::vector<char*> argument_pointers;
  argument_pointers.reserve(command.size() + 1);
  for (std::string& argument : command) argument_pointers.push_back(argument.data());
  argument_pointers.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) Become(argument_pointers.data(), output, errors);
  ServerProcess process(pid, output, errors);
  if (pid < 0 || output < 0 || errors < 0) {
    return Unavailable(fmt::format("cannot start {}: {}", program, strerrordesc_np(errno)));
  }
  const auto ready = process.WaitUntilReady();
  if (!ready) return Unavailable(fmt::format("{}: {}", program, ready.error().message));
  return process;
}

ServerProcess::ServerProcess(ServerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::exchange(other.output_, -1)),
      errors_(std::exchange(other.errors_, -1)),
      extender_port_(other.extender_port_),
      metrics_port_(other.metrics_port_) {}

ServerProcess::~ServerProcess() {
  if (pid_ > 0) {
    // A shell's children, too; until it has its group, it has no children.
    if (kill(-pid_, SIGKILL) != 0) kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (output_ >= 0) close(output_);
  if (errors_ >= 0) close(errors_);
}

std::expected<void, Error> ServerProcess::WaitUntilReady() {
  const auto deadline = Clock::now() + kReadyTimeout;
  while (Clock::now() < deadline) {
    if (ReadPorts(ReadTail(output_, std::string().max_size()))) return {};
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return Unavailable(fmt::format("ended before it was ready: {}", LastWords()));
    }
    std::this_thread::sleep_for(kLookInterval);
  }
  return Unavailable(
      fmt::format("was not ready within {} s: {}", kReadyTimeout.count() / 1000, LastWords()));
}

bool ServerProcess::ReadPorts(const std::string& output) {
  if (!output.starts_with("ready\n") && output.find("\nready\n") == std::string::npos) return false;
  extender_port_ = PortOf(output, "extender");
  metrics_port_ = PortOf(output, "metrics");
  return extender_port_ != 0;
}

ServerProcess::Memory ServerProcess::ReadMemory() const {
  Memory memory;
  std::ifstream status(fmt::format("/proc/{}/status", pid_));
  for (std::string key; status >> key;) {
    if (key == "VmRSS:") status >> memory.resident_kib;
    if (key == "VmHWM:") status >> memory.resident_peak_kib;
  }
  return memory;
}

// The first number of a task's schedstat is its time on a processor.
std::chrono::nanoseconds ServerProcess::ReadCpuTime() const {
  std::chrono::nanoseconds total{0};
  std::error_code ignored;
  const std::filesystem::path tasks = fmt::format("/proc/{}/task", pid_);
  for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
    std::int64_t on_processor = 0;
    std::ifstream(task.path() / "schedstat") >> on_processor;
    total += std::chrono::nanoseconds(on_processor);
  }
  return total;
}

std::string ServerProcess::LastWords() const { return ReadTail(errors_, kLastWordsBytesMax); }

std::expected<void, Error> ServerProcess::Stop() {
  int status = 0;
  if (pid_ < 0 || waitpid(pid_, &status, WNOHANG) == pid_) {
    pid_ = -1;
    return Unavailable(fmt::format("offcut ended too early: {}", LastWords()));
  }
  kill(pid_, SIGTERM);
  const auto deadline = Clock::now() + kStopTimeout;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (Clock::now() >= deadline) {
      kill(pid_, SIGKILL);
      waitpid(std::exchange(pid_, -1), nullptr, 0);
      return Unavailable(
          fmt::format("offcut did not end within {} s of SIGTERM", kStopTimeout.count() / 1000));
    }
    std::this_thread::sleep_for(kLookInterval);
  }
  pid_ = -1;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Unavailable(fmt::format("offcut ended with status {}: {}", status, LastWords()));
  }
  return {};
}

}  // namespace offcut::bench
