// Streams of lines from a server that does what a test says.
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/kube_client.h"
#include "test/testing/kube_calls.h"
#include "test/testing/scripted_server.h"

namespace offcut::api {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct StreamEnd {
  std::vector<std::string> lines;
  KubeResult result;
};

// Follows a stream to its end.
StreamEnd Follow(KubeClient& client, milliseconds silence = kKubePatience) {
  auto lines = std::make_shared<std::vector<std::string>>();
  auto promise = std::make_shared<std::promise<KubeResult>>();
  std::future<KubeResult> future = promise->get_future();
  KubeStream stream;
  stream.line = [lines](std::string_view line) { lines->emplace_back(line); };
  stream.ended = [promise](KubeResult result) { promise->set_value(std::move(result)); };
  stream.silence_timeout = silence;
  client.Stream(Get("/watch"), stream);
  KubeResult result = WaitFor(future);
  return {*lines, std::move(result)};
}

StreamEnd FollowText(const std::vector<std::string>& parts, KubeClientSettings settings = {}) {
  ScriptedServer server([&parts](Peer& peer, int) {
    peer.ReadRequest();
    for (const std::string& part : parts) peer.Send(part);
  });
  const auto client = StartClient(PlainConfig(server.Port()), settings);
  return Follow(*client);
}

TEST(KubeStreamTest, HandsOverAStreamLineByLine) {
  const StreamEnd end = FollowText(
      {ChunkedHead(), Chunk("{1}\n{2"), Chunk("}"), Chunk("\n"), std::string(kLastChunk)});
  EXPECT_THAT(end.lines, ElementsAre("{1}", "{2}"));
  ASSERT_TRUE(end.result) << end.result.error().message;
  EXPECT_EQ(end.result->status, 200);
}

TEST(KubeStreamTest, HandsOverNoPartOfALine) {
  const StreamEnd end = FollowText({ChunkedHead(), Chunk("{1}\n{2"), "5\r\n"});
  EXPECT_THAT(end.lines, ElementsAre("{1}"));
  ASSERT_FALSE(end.result);
  EXPECT_THAT(end.result.error().message, HasSubstr("in the midst"));
}

// The line has come although neither its chunk nor the stream goes on: the test would not end.
TEST(KubeStreamTest, HandsOverALineAtOnce) {
  std::promise<void> seen;
  ScriptedServer server([](Peer& peer, int) {
    peer.ReadRequest();
    peer.Send(ChunkedHead() + "4\r\n{1}\n");
    peer.WaitForClose();
  });
  const auto client = StartClient(PlainConfig(server.Port()));
  KubeStream stream;
  stream.line = [&seen](std::string_view) { seen.set_value(); };
  client->Stream(Get("/"), stream);
  EXPECT_EQ(seen.get_future().wait_for(kKubePatience), std::future_status::ready);
}

TEST(KubeStreamTest, EndsAStreamWhoseLineIsTooLong) {
  KubeClientSettings settings;
  settings.line_bytes_max = 100;
  const StreamEnd end =
      FollowText({ChunkedHead(), Chunk("{1}\n"), Chunk(std::string(101, 'x'))}, settings);
  EXPECT_THAT(end.lines, ElementsAre("{1}"));
  ASSERT_FALSE(end.result);
  EXPECT_THAT(end.result.error().message, HasSubstr("too long"));
}

TEST(KubeStreamTest, EndsAStreamThatIsSilent) {
  ScriptedServer server([](Peer& peer, int) {
    peer.ReadRequest();
    peer.Send(ChunkedHead() + Chunk("{1}\n"));
    peer.WaitForClose();
  });
  const auto client = StartClient(PlainConfig(server.Port()));
  const StreamEnd end = Follow(*client, milliseconds{20});
  ASSERT_FALSE(end.result);
  EXPECT_EQ(end.result.error().message, "nothing came within 20 ms");
}

TEST(KubeStreamTest, HandsOverTheRefusalOfAStream) {
  const StreamEnd end = FollowText({Reply(410, "gone")});
  EXPECT_THAT(end.lines, SizeIs(0));
  ASSERT_TRUE(end.result);
  EXPECT_EQ(end.result->status, 410);
  EXPECT_EQ(end.result->body, "gone");
}

TEST(KubeStreamTest, EndsAStreamAtOnceThatItsLineCancels) {
  std::promise<void> closed;
  ScriptedServer server([&closed](Peer& peer, int) {
    peer.ReadRequest();
    peer.Send(ChunkedHead() + Chunk("{1}\n{2}\n{3}\n"));
    peer.WaitForClose();
    closed.set_value();
  });
  const auto client = StartClient(PlainConfig(server.Port()));
  std::atomic<int> lines = 0;
  std::atomic<int> ends = 0;
  client->Post([&] {
    auto ticket = std::make_shared<KubeTicket>();
    KubeStream stream;
    stream.line = [&, ticket](std::string_view) {
      if (++lines == 2) client->Cancel(*ticket);
    };
    stream.ended = [&ends](const KubeResult&) { ++ends; };
    *ticket = client->Stream(Get("/"), stream);
  });
  EXPECT_EQ(closed.get_future().wait_for(kKubePatience), std::future_status::ready);
  client->Stop();
  EXPECT_EQ(lines, 2);
  EXPECT_EQ(ends, 0);
}

}  // namespace
}  // namespace offcut::api
