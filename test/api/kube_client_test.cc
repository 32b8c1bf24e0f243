// The client against a server that does what a test says. No test sleeps: each waits for an answer
// or for the server, and limits of a few ms are inputs of the tests that run into them.
#include "api/kube_client.h"

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/testing/kube_calls.h"
#include "test/testing/scripted_server.h"
#include "test/testing/temporary_folder.h"

namespace offcut::api {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Answers every request of every connection with `reply`.
Script Always(std::string reply) {
  return [reply = std::move(reply)](Peer& peer, int) {
    while (peer.ReadRequest()) peer.Send(reply);
  };
}

// ---- Calls -------------------------------------------------------------------------------------

TEST(KubeClientTest, HandsOverWhateverTheServerAnswers) {
  ScriptedServer server([](Peer& peer, int) {
    while (const auto request = peer.ReadRequest()) {
      peer.Send(Reply(request->target == "/a" ? 200 : 409,
                      request->method + request->target + request->body, "Retry-After: 5\r\n"));
    }
  });
  const auto client = StartClient(PlainConfig(server.Port()));
  const KubeResult read = Ask(*client, Get("/a"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->status, 200);
  EXPECT_EQ(read->body, "GET/a");
  const KubeResult bound = Ask(*client, Post("/b", "{}"));
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->status, 409);
  EXPECT_EQ(bound->body, "POST/b{}");
  EXPECT_EQ(bound->retry_after_s, 5);
}

TEST(KubeClientTest, KeepsAConnectionForTheNextCall) {
  ScriptedServer server(Always(Reply(200, "x")));
  const auto client = StartClient(PlainConfig(server.Port()));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Ask(*client, Get("/")));
  EXPECT_EQ(server.Connections(), 1);
}

TEST(KubeClientTest, KeepsNoConnectionThatTheServerWillClose) {
  ScriptedServer server([](Peer& peer, int) {
    if (peer.ReadRequest()) peer.Send(Reply(200, "x", "Connection: close\r\n"));
  });
  const auto client = StartClient(PlainConfig(server.Port()));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Ask(*client, Post("/", "{}")));
  EXPECT_EQ(server.Connections(), 3);
}

TEST(KubeClientTest, ClosesAConnectionThatWasIdleForTooLong) {
  std::promise<void> closed;
  ScriptedServer server([&closed](Peer& peer, int) {
    while (peer.ReadRequest()) peer.Send(Reply(200, "x"));
    closed.set_value();
  });
  KubeClientSettings settings;
  settings.idle_timeout = milliseconds{1};
  const auto client = StartClient(PlainConfig(server.Port()), settings);
  ASSERT_TRUE(Ask(*client, Get("/")));
  EXPECT_EQ(closed.get_future().wait_for(kKubePatience), std::future_status::ready);
}

// A read that meets the closing is repeated; more often the closing is seen before.
TEST(KubeClientTest, ReadsFromAServerThatClosesWithoutSayingSo) {
  ScriptedServer server([](Peer& peer, int) {
    if (peer.ReadRequest()) peer.Send(Reply(200, "x"));
  });
  const auto client = StartClient(PlainConfig(server.Port()));
  for (int i = 0; i < 20; ++i) {
    const KubeResult read = Ask(*client, Get("/"));
    ASSERT_TRUE(read) << read.error().message;
  }
}

TEST(KubeClientTest, SendsNoChangeOnAConnectionThatIsKnownToBeClosed) {
  std::promise<void> closed;
  ScriptedServer server([&closed](Peer& peer, int number) {
    peer.ReadRequest();
    peer.Send(Reply(201, ""));
    peer.Close();
    if (number == 0) closed.set_value();
  });
  const auto client = StartClient(PlainConfig(server.Port()));
  ASSERT_TRUE(Ask(*client, Post("/", "{}")));
  closed.get_future().wait();
  const KubeResult result = Ask(*client, Post("/", "{}"));
  EXPECT_TRUE(result) << result.error().message;
}

TEST(KubeClientTest, ReadsABodyOfManyMegabytes) {
  const std::string body(20'000'003, 'x');
  ScriptedServer server(Always(Reply(200, body)));
  const auto client = StartClient(PlainConfig(server.Port()));
  const KubeResult result = Ask(*client, Get("/"));
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->body == body);
}

TEST(KubeClientTest, SendsABodyOfManyMegabytes) {
  ScriptedServer server([](Peer& peer, int) {
    while (const auto request = peer.ReadRequest()) {
      peer.Send(Reply(201, std::to_string(request->body.size())));
    }
  });
  const auto client = StartClient(PlainConfig(server.Port()));
  const KubeResult result = Ask(*client, Post("/", std::string(20'000'003, 'x')));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->body, "20000003");
}

// ---- What is known about a call that failed ----------------------------------------------------

TEST(KubeClientTest, KnowsThatNothingWasSentWhereNobodyListens) {
  std::uint16_t port = 0;
  {
    port = ScriptedServer(Always("")).Port();
  }
  const auto client = StartClient(PlainConfig(port));
  const KubeResult result = Ask(*client, Post("/", "{}"));
  ASSERT_FALSE(result);
  EXPECT_FALSE(result.error().may_have_acted);
  EXPECT_THAT(result.error().message, HasSubstr("Connection refused"));
}

TEST(KubeClientTest, DoesNotKnowWhatBecameOfAPostThatGotNoAnswer) {
  for (const std::string_view part : {"", "HTTP/1.1 20", "HTTP/1.1 201 OK\r\n"}) {
    ScriptedServer server([part](Peer& peer, int) {
      peer.ReadRequest();
      peer.Send(part);
    });
    const auto client = StartClient(PlainConfig(server.Port()));
    const KubeResult result = Ask(*client, Post("/", "{}"));
    ASSERT_FALSE(result);
    EXPECT_TRUE(result.error().may_have_acted);
    EXPECT_EQ(OutcomeOf(result), CallOutcome::kUnknown);
    EXPECT_EQ(server.Connections(), 1) << "it was sent twice";
  }
}

TEST(KubeClientTest, DoesNotKnowWhatBecameOfAPostThatMetAClosingConnection) {
  std::atomic<int> requests = 0;
  ScriptedServer server([&requests](Peer& peer, int) {
    peer.ReadRequest();
    peer.Send(Reply(200, ""));
    if (peer.ReadRequest()) ++requests;  // and no answer
  });
  const auto client = StartClient(PlainConfig(server.Port()));
  ASSERT_TRUE(Ask(*client, Get("/")));
  const KubeResult result = Ask(*client, Post("/", "{}"));
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().may_have_acted);
  EXPECT_EQ(requests, 1);
}

TEST(KubeClientTest, RepeatsAReadThatMetAClosingConnection) {
  ScriptedServer server([](Peer& peer, int number) {
    peer.ReadRequest();
    peer.Send(Reply(200, std::to_string(number)));
    peer.ReadRequest();
    peer.Reset();
  });
  const auto client = StartClient(PlainConfig(server.Port()));
  EXPECT_EQ(Ask(*client, Get("/"))->body, "0");
  const KubeResult second = Ask(*client, Get("/"));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->body, "1");
}

TEST(KubeClientTest, DoesNotRepeatAReadOnAFreshConnection) {
  ScriptedServer server([](Peer& peer, int) { peer.ReadRequest(); });
  const auto client = StartClient(PlainConfig(server.Port()));
  EXPECT_FALSE(Ask(*client, Get("/")));
  EXPECT_EQ(server.Connections(), 1);
}

// On a kept connection, so that the request is written at once.
TEST(KubeClientTest, GivesUpAtTheDeadline) {
  ScriptedServer server([](Peer& peer, int) {
    peer.ReadRequest();
    peer.Send(Reply(200, ""));
    peer.WaitForClose();
  });
  const auto client = StartClient(PlainConfig(server.Port()));
  ASSERT_TRUE(Ask(*client, Get("/")));
  KubeRequest request = Post("/", "{}");
  request.timeout = milliseconds{20};
  const KubeResult result = Ask(*client, request);
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().may_have_acted);
  EXPECT_EQ(result.error().message, "no answer within 20 ms");
}

TEST(KubeClientTest, KnowsThatACallWhoseTurnNeverCameWasNotSent) {
  std::promise<void> arrived;
  ScriptedServer server([&arrived](Peer& peer, int) {
    peer.ReadRequest();
    arrived.set_value();
    peer.WaitForClose();
  });
  KubeClientSettings settings;
  settings.bindings_in_flight_max = 1;
  const auto client = StartClient(PlainConfig(server.Port()), settings);
  auto first = Begin(*client, Post("/", "{}"));
  arrived.get_future().wait();
  KubeRequest request = Post("/", "{}");
  request.timeout = milliseconds{1};
  const KubeResult second = Ask(*client, request);
  ASSERT_FALSE(second);
  EXPECT_FALSE(second.error().may_have_acted);
  EXPECT_EQ(second.error().message, "not sent within 1 ms");
  client->Stop();
  EXPECT_TRUE(WaitFor(first).error().may_have_acted);
}

// The process stands still between the call and its writing: then the deadline's timer is due, too,
// and may come second.
TEST(KubeClientTest, WritesNothingOnceTheDeadlineHasPassed) {
  ScriptedServer server(Always(Reply(200, "")));
  const auto client = StartClient(PlainConfig(server.Port()));
  ASSERT_TRUE(Ask(*client, Get("/")));  // a connection that is kept
  std::promise<KubeResult> answer;
  client->Post([&] {
    KubeRequest request = Post("/", "{}");
    request.timeout = milliseconds{1};
    request.limit = KubeLimit::kNone;
    client->Call(std::move(request),
                 [&](KubeResult result) { answer.set_value(std::move(result)); });
    const auto end = steady_clock::now() + milliseconds{2};
    while (steady_clock::now() < end) continue;
  });
  auto future = answer.get_future();
  const KubeResult result = WaitFor(future);
  ASSERT_FALSE(result);
  EXPECT_FALSE(result.error().may_have_acted);
}

TEST(KubeClientTest, RefusesAResponseThatIsTooLarge) {
  ScriptedServer server([](Peer& peer, int) {
    while (const auto request = peer.ReadRequest()) {
      peer.Send(request->target == "/header"
                    ? Reply(200, "", "X: " + std::string(1000, 'x') + "\r\n")
                    : Reply(200, "12345"));
    }
  });
  KubeClientSettings settings;
  settings.body_bytes_max = 4;
  settings.header_bytes_max = 500;
  const auto client = StartClient(PlainConfig(server.Port()), settings);
  EXPECT_THAT(Ask(*client, Get("/")).error().message, HasSubstr("exceeds 4 bytes"));
  EXPECT_THAT(Ask(*client, Get("/header")).error().message, HasSubstr("exceeds 500 bytes"));
}

TEST(KubeClientTest, RefusesARequestThatWouldForgeAHeader) {
  ScriptedServer server(Always(Reply(200, "")));
  const auto client = StartClient(PlainConfig(server.Port()));
  const KubeResult result = Ask(*client, Get("/a b"));
  ASSERT_FALSE(result);
  EXPECT_FALSE(result.error().may_have_acted);
  EXPECT_EQ(server.Connections(), 0);
}

// ---- Tokens ------------------------------------------------------------------------------------

// Takes the token "new" only, and answers with what it was shown.
Script WantsNewToken() {
  return [](Peer& peer, int) {
    while (const auto request = peer.ReadRequest()) {
      const bool is_new = request->Field("Authorization") == "Bearer new";
      peer.Send(Reply(is_new ? 200 : 401, request->Field("Authorization") + request->body));
    }
  };
}

TEST(KubeClientTest, RepeatsOnceWithTheNewTokenWhatWasRefusedWithTheOld) {
  const TemporaryFolder folder;
  ScriptedServer server(WantsNewToken());
  KubeConfig config = PlainConfig(server.Port());
  config.token_file = folder.Write("token", "old");
  const auto client = StartClient(config);
  EXPECT_EQ(Ask(*client, Get("/"))->status, 401);
  folder.Write("token", "new\n");
  const KubeResult result = Ask(*client, Post("/", "{}"));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(result->body, "Bearer new{}");
}

TEST(KubeClientTest, HandsOverA401WhereTheTokenIsGivenAtOnce) {
  std::atomic<int> requests = 0;
  ScriptedServer server([&requests](Peer& peer, int) {
    while (peer.ReadRequest()) {
      ++requests;
      peer.Send(Reply(401, ""));
    }
  });
  KubeConfig config = PlainConfig(server.Port());
  config.token = "given";
  const auto client = StartClient(config);
  EXPECT_EQ(Ask(*client, Get("/"))->status, 401);
  EXPECT_EQ(requests, 1);
}

// ---- Limits ------------------------------------------------------------------------------------

// With one in flight at a time one connection is enough for all.
TEST(KubeClientTest, SendsBindingsInTheirOrderAndNotTooManyAtOnce) {
  std::mutex mutex;
  std::vector<std::string> order;
  ScriptedServer server([&](Peer& peer, int) {
    while (const auto request = peer.ReadRequest()) {
      {
        const std::lock_guard lock(mutex);
        order.push_back(request->body);
      }
      peer.Send(Reply(201, ""));
    }
  });
  KubeClientSettings settings;
  settings.bindings_in_flight_max = 1;
  const auto client = StartClient(PlainConfig(server.Port()), settings);
  std::vector<std::future<KubeResult>> futures;
  std::vector<std::string> expected;
  for (int i = 0; i < 30; ++i) {
    expected.push_back(std::to_string(i));
    futures.push_back(Begin(*client, Post("/", expected.back())));
  }
  for (auto& future : futures) EXPECT_EQ(WaitFor(future)->status, 201);
  EXPECT_EQ(order, expected);
  EXPECT_EQ(server.Connections(), 1);
}

// Three connections are answered only when all three are there; a cap of two never gets there.
TEST(KubeClientTest, SendsAsManyBindingsAtOnceAsItMay) {
  std::latch together(3);
  ScriptedServer server([&together](Peer& peer, int) {
    while (peer.ReadRequest()) {
      together.arrive_and_wait();
      peer.Send(Reply(201, ""));
    }
  });
  KubeClientSettings settings;
  settings.bindings_in_flight_max = 3;
  const auto client = StartClient(PlainConfig(server.Port()), settings);
  std::vector<std::future<KubeResult>> futures;
  for (int i = 0; i < 3; ++i) futures.push_back(Begin(*client, Post("/", "{}")));
  for (auto& future : futures) EXPECT_TRUE(WaitFor(future));
}

// A rate of one call in 1,000 s: what does not pass the bucket passes, and the other one waits.
TEST(KubeClientTest, HoldsReadsBackAndNothingElse) {
  ScriptedServer server(Always(Reply(200, "")));
  KubeClientSettings settings;
  settings.qps = 0.001;
  settings.burst = 1;
  const auto client = StartClient(PlainConfig(server.Port()), settings);
  EXPECT_TRUE(Ask(*client, Get("/")));
  KubeRequest late = Get("/");
  late.timeout = milliseconds{10};
  EXPECT_EQ(Ask(*client, late).error().message, "not sent within 10 ms");
  EXPECT_TRUE(Ask(*client, Post("/", "{}")));
  KubeRequest lease = Get("/lease");
  lease.limit = KubeLimit::kNone;
  EXPECT_TRUE(Ask(*client, lease));
}

// The first call takes the only token, and others come 200 ms apart. Of the calls that wait, the
// event was first and goes last.
TEST(KubeClientTest, SendsEventsBehindTheReadsThatWait) {
  std::mutex mutex;
  std::vector<std::string> targets;
  ScriptedServer server([&](Peer& peer, int) {
    while (const auto request = peer.ReadRequest()) {
      {
        const std::lock_guard lock(mutex);
        targets.push_back(request->target);
      }
      peer.Send(Reply(200, ""));
    }
  });
  KubeClientSettings settings;
  settings.qps = 5;
  settings.burst = 1;
  const auto client = StartClient(PlainConfig(server.Port()), settings);
  KubeRequest event = Get("/event");
  event.limit = KubeLimit::kLast;
  std::vector<std::future<KubeResult>> futures(4);
  std::promise<void> begun;
  client->Post([&] {  // all at once
    futures[0] = Begin(*client, Get("/first"));
    futures[1] = Begin(*client, event);
    futures[2] = Begin(*client, Get("/read"));
    begun.set_value();
  });
  begun.get_future().wait();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(WaitFor(futures[static_cast<std::size_t>(i)]));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(targets, (std::vector<std::string>{"/first", "/read", "/event"}));
}

TEST(KubeClientTest, LetsReadsThroughAtTheRate) {
  ScriptedServer server(Always(Reply(200, "")));
  KubeClientSettings settings;
  settings.qps = 1000;
  settings.burst = 1;
  const auto client = StartClient(PlainConfig(server.Port()), settings);
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::future<KubeResult>> futures;
  for (int i = 0; i < 21; ++i) futures.push_back(Begin(*client, Get("/")));
  for (auto& future : futures) EXPECT_TRUE(WaitFor(future));
  EXPECT_GE(std::chrono::steady_clock::now() - start, milliseconds{19});
}

TEST(KubeClientTest, RefusesACallTooMany) {
  ScriptedServer server([](Peer& peer, int) {
    peer.ReadRequest();
    peer.WaitForClose();
  });
  KubeClientSettings settings;
  settings.calls_max = 2;
  const auto client = StartClient(PlainConfig(server.Port()), settings);
  auto first = Begin(*client, Get("/"));
  auto second = Begin(*client, Get("/"));
  const KubeResult third = Ask(*client, Get("/"));
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().message, "too many calls at once");
  EXPECT_FALSE(third.error().may_have_acted);
}

TEST(KubeClientTest, RefusesLimitsThatAreNone) {
  for (auto change : std::vector<void (*)(KubeClientSettings&)>{
           [](KubeClientSettings& s) { s.qps = 0; }, [](KubeClientSettings& s) { s.burst = 0.5; },
           [](KubeClientSettings& s) { s.calls_max = 0; },
           [](KubeClientSettings& s) { s.line_bytes_max = 0; },
           [](KubeClientSettings& s) { s.idle_timeout = milliseconds{0}; }}) {
    KubeClientSettings settings;
    change(settings);
    EXPECT_FALSE(KubeClient::Start(PlainConfig(1), settings));
  }
}

// ---- The thread --------------------------------------------------------------------------------

TEST(KubeClientTest, CancelsACall) {
  std::promise<void> arrived;
  std::promise<void> closed;
  ScriptedServer server([&](Peer& peer, int) {
    peer.ReadRequest();
    arrived.set_value();
    peer.WaitForClose();
    closed.set_value();
  });
  const auto client = StartClient(PlainConfig(server.Port()));
  std::atomic<int> answers = 0;
  const KubeTicket ticket = client->Call(Get("/"), [&answers](const KubeResult&) { ++answers; });
  arrived.get_future().wait();
  client->Cancel(ticket);
  EXPECT_EQ(closed.get_future().wait_for(kKubePatience), std::future_status::ready);
  client->Stop();
  EXPECT_EQ(answers, 0);
}

TEST(KubeClientTest, RunsEverythingOnOneThread) {
  ScriptedServer server(Always(Reply(200, "")));
  const auto client = StartClient(PlainConfig(server.Port()));
  std::latch done(3);
  std::atomic<int> here = 0;
  const auto count = [&] {
    if (client->RunsInThisThread()) ++here;
    done.count_down();
  };
  EXPECT_FALSE(client->RunsInThisThread());
  EXPECT_TRUE(client->Post(count));
  client->RunAfter(milliseconds{1}, count);
  client->Call(Get("/"), [count](const KubeResult&) { count(); });
  done.wait();
  EXPECT_EQ(here, 3);
}

TEST(KubeClientTest, RunsLaterWhatIsNotCancelledBefore) {
  const auto client = StartClient(PlainConfig(1));
  std::vector<int> ran;
  std::promise<void> done;
  client->Post([&] {
    const KubeTicket cancelled = client->RunAfter(milliseconds{1}, [&ran] { ran.push_back(1); });
    client->RunAfter(milliseconds{20}, [&] {
      ran.push_back(3);
      done.set_value();
    });
    client->RunAfter(milliseconds{2}, [&ran] { ran.push_back(2); });
    client->Cancel(cancelled);
  });
  done.get_future().wait();
  EXPECT_THAT(ran, ElementsAre(2, 3));
}

TEST(KubeClientTest, SurvivesAFunctionThatThrows) {
  ScriptedServer server(Always(Reply(200, "")));
  const auto client = StartClient(PlainConfig(server.Port()));
  client->Post([] { throw std::runtime_error("thrown by a test"); });
  client->Call(Get("/"), [](const KubeResult&) { throw 1; });
  EXPECT_TRUE(Ask(*client, Get("/")));
}

TEST(KubeClientTest, AnswersEveryCallWhenItStops) {
  ScriptedServer server([](Peer& peer, int) {
    peer.ReadRequest();
    peer.WaitForClose();
  });
  const auto client = StartClient(PlainConfig(server.Port()));
  std::vector<std::future<KubeResult>> futures;
  for (int i = 0; i < 150; ++i) futures.push_back(Begin(*client, Get("/")));
  client->Stop();
  for (auto& future : futures) {
    ASSERT_EQ(future.wait_for(milliseconds{0}), std::future_status::ready);
    EXPECT_EQ(future.get().error().message, "the client has stopped");
  }
  EXPECT_EQ(Ask(*client, Get("/")).error().message, "the client has stopped");
  EXPECT_FALSE(client->Post([] {}));
  client->Stop();
}

// ThreadSanitizer judges what this does.
TEST(KubeClientTest, TakesCallsFromManyThreadsWhileItStops) {
  ScriptedServer server(Always(Reply(200, "")));
  const auto client = StartClient(PlainConfig(server.Port()));
  std::atomic<int> answers = 0;
  std::vector<std::thread> threads;
  constexpr int thread_count = 4;
  constexpr int call_count = 50;
  std::latch begun(thread_count);
  for (int i = 0; i < thread_count; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < call_count; ++call) {
        client->Call(Get("/"), [&answers](const KubeResult&) { ++answers; });
        client->Cancel(client->RunAfter(milliseconds{1}, [] {}));
        if (call == 2) begun.count_down();
      }
    });
  }
  begun.wait();
  client->Stop();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answers, thread_count * call_count);
}

}  // namespace
}  // namespace offcut::api
