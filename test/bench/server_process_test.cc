#include "bench/server_process.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/testing/waiting.h"

namespace offcut::bench {
namespace {

using ::testing::HasSubstr;

// A Python script that stands in for the program.
class Script {
 public:
  explicit Script(const std::string& text)
      : path_(::testing::TempDir() + "/" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::ofstream(path_) << "#!/usr/bin/env python3\nimport signal, sys\n" << text;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~Script() { std::filesystem::remove(path_); }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Says that it is ready, waits for SIGTERM, and ends with that status.
std::string ServerThatEndsWith(int status) {
  return "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})\n"
         "for name, port in ('extender', 1234), ('health', 1235), ('metrics', 1236):\n"
         "    print('listening', name, f'127.0.0.1:{port}')\n"
         "print('ready', flush=True)\n"
         "signal.sigwait({signal.SIGTERM})\n"
         "sys.exit(" +
         std::to_string(status) + ")\n";
}

TEST(ServerProcessTest, KnowsThePortsOnceTheProgramIsReady) {
  const Script script(ServerThatEndsWith(0));
  auto process = ServerProcess::StartOffcut(script.path(), {"a.yaml"});
  ASSERT_TRUE(process.has_value()) << process.error().message;
  EXPECT_EQ(process->ExtenderPort(), 1234);
  EXPECT_EQ(process->MetricsPort(), 1236);
  EXPECT_GT(process->ReadMemory().resident_kib, 0);
  EXPECT_TRUE(process->Stop().has_value());
}

TEST(ServerProcessTest, AsksForFreePortsAndPassesTheSnapshots) {
  const Script script("sys.exit(' '.join(sys.argv[1:]))\n");
  const auto process = ServerProcess::StartOffcut(script.path(), {"a.yaml", "b.yaml"});
  ASSERT_FALSE(process.has_value());
  EXPECT_THAT(process.error().message,
              HasSubstr("serve --snapshot a.yaml --snapshot b.yaml --bind-address 127.0.0.1:0 "
                        "--health-bind-address 127.0.0.1:0 --metrics-bind-address 127.0.0.1:0"));
}

// A shell that waits for its child. Of a process that has ended, no command line can be read.
TEST(ServerProcessTest, WhatItsCommandStartedEndsWithIt) {
  const std::string file = ::testing::TempDir() + "/server-process-child";
  std::string pid;
  {
    const auto process =
        ServerProcess::Start({"/bin/sh", "-c",
                              "sleep 1000 & echo $! >" + file +
                                  "; echo listening extender 127.0.0.1:1; echo ready; wait"});
    ASSERT_TRUE(process.has_value()) << process.error().message;
    std::ifstream(file) >> pid;
  }
  std::filesystem::remove(file);
  ASSERT_FALSE(pid.empty());
  EXPECT_TRUE(offcut::testing::WaitUntil([&] {
    std::string line;
    return !std::getline(std::ifstream("/proc/" + pid + "/cmdline"), line);
  }));
}

TEST(ServerProcessTest, TellsTheLastWordsOfAProgramThatEndsBeforeItIsReady) {
  const Script script("sys.exit('no such policy')\n");
  const auto process = ServerProcess::StartOffcut(script.path(), {});
  ASSERT_FALSE(process.has_value());
  EXPECT_THAT(process.error().message, HasSubstr("ended before it was ready: no such policy"));
}

TEST(ServerProcessTest, TellsAProgramThatCannotBeRun) {
  const auto process = ServerProcess::StartOffcut("/nonexistent/offcut", {});
  ASSERT_FALSE(process.has_value());
  EXPECT_THAT(process.error().message, HasSubstr("No such file or directory"));
}

TEST(ServerProcessTest, TellsAProgramThatEndsWithAFailure) {
  const Script script(ServerThatEndsWith(5));
  auto process = ServerProcess::StartOffcut(script.path(), {});
  ASSERT_TRUE(process.has_value()) << process.error().message;
  EXPECT_FALSE(process->Stop().has_value());
}

}  // namespace
}  // namespace offcut::bench
