// `offcut serve`, or another server that says where it listens as that does, as a child process on
// free ports of the loopback interface.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include <sys/types.h>

#include "api/error.h"

namespace offcut::bench {

inline constexpr std::chrono::milliseconds kReadyTimeout{60'000};
inline constexpr std::chrono::milliseconds kStopTimeout{30'000};

// Not synchronised. The child dies with the thread that started it.
class ServerProcess {
 public:
  // Returns once the program has said on which ports it listens ("listening extender
  // 127.0.0.1:PORT"), and that it is ready ("ready"). `command` is the program's path and its
  // arguments. Errors: the program cannot be run, ended before it was ready, or was not ready in
  // time; its last words on standard error are in the message.
  static std::expected<ServerProcess, api::Error> Start(std::vector<std::string> command);

  // `offcut serve` with the snapshots, and with further arguments.
  static std::expected<ServerProcess, api::Error> StartOffcut(
      const std::string& program, const std::vector<std::string>& snapshots,
      const std::vector<std::string>& more = {});

  ~ServerProcess();  // kills what still runs
  ServerProcess(ServerProcess&& other) noexcept;
  ServerProcess& operator=(ServerProcess&&) = delete;

  std::uint16_t ExtenderPort() const { return extender_port_; }
  std::uint16_t MetricsPort() const { return metrics_port_; }  // 0: it has none

  // Of resident memory, now and at most so far; 0: not known.
  struct Memory {
    std::int64_t resident_kib = 0;
    std::int64_t resident_peak_kib = 0;
  };
  Memory ReadMemory() const;

  // Time that all of its threads had a processor so far; 0: not known.
  std::chrono::nanoseconds ReadCpuTime() const;

  // What it wrote to standard error, the last kLastWordsBytesMax of it.
  std::string LastWords() const;

  // Sends SIGTERM and waits. Errors: it had ended before, did not end in time (it is killed then),
  // or ended with a status other than 0.
  std::expected<void, api::Error> Stop();

 private:
  ServerProcess(pid_t pid, int output, int errors) : pid_(pid), output_(output), errors_(errors) {}

  std::expected<void, api::Error> WaitUntilReady();
  bool ReadPorts(const std::string& output);

  pid_t pid_ = -1;   // -1: ended, and waited for
  int output_ = -1;  // files in memory: a child never blocks on them, however much it writes
  int errors_ = -1;
  std::uint16_t extender_port_ = 0;
  std::uint16_t metrics_port_ = 0;
};

inline constexpr std::size_t kLastWordsBytesMax = 4096;

}  // namespace offcut::bench
