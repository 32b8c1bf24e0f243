// The loop of lists and watches against a server that does what a test says. No test sleeps: each
// waits for what the sinks are told, and waits between tries are 1 ms.
#include "api/list_watch.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/watch_event.h"
#include "test/api/text_files.h"
#include "test/testing/kube_calls.h"
#include "test/testing/scripted_server.h"

namespace offcut::api {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// "a@5" of a pod "a" with the resource version 5.
std::string Name(const json& object) {
  return object["metadata"]["name"].get<std::string>() + "@" + ResourceVersionOf(object);
}

// What the sinks were told, a line each: "= a@1 b@2" (replace), "+ a@3" (upsert), "- b@4" (remove).
class Told {
 public:
  WatchSinks Sinks() {
    WatchSinks sinks;
    sinks.replace = [this](const std::vector<json>& items) {
      std::string line = "=";
      for (const json& item : items) line += " " + Name(item);
      Add(line);
    };
    sinks.upsert = [this](const json& object) { Add("+ " + Name(object)); };
    sinks.remove = [this](const json& object) { Add("- " + Name(object)); };
    sinks.observe = [this](const WatchStatus& status) {
      const std::lock_guard lock(mutex_);
      status_ = status;
      changed_.notify_all();
    };
    return sinks;
  }

  // The lines, once there are so many.
  std::vector<std::string> WaitForLines(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kKubePatience, [&] { return lines_.size() >= count; });
    return lines_;
  }

  WatchStatus WaitForStatus(const std::function<bool(const WatchStatus&)>& is_so) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kKubePatience, [&] { return is_so(status_); }));
    return status_;
  }

  std::vector<std::string> Lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  void Add(const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
  WatchStatus status_;
};

// What the server does at one request, in the order of the requests.
struct Step {
  std::string reply;
  enum class Then { kGoOn, kCut, kHold } then = Then::kGoOn;
};

// A server of these steps; behind the last one it answers nothing more.
class SteppedServer {
 public:
  explicit SteppedServer(std::vector<Step> steps)
      : steps_(std::move(steps)), server_([this](Peer& peer, int) { Serve(peer); }) {}

  std::uint16_t Port() const { return server_.Port(); }

  std::vector<std::string> Targets() {
    const std::lock_guard lock(mutex_);
    return targets_;
  }

  // The target of the request with this number, once it has come.
  std::string WaitForTarget(std::size_t index) {
    std::unique_lock lock(mutex_);
    const bool came =
        arrived_.wait_for(lock, kKubePatience, [&] { return targets_.size() > index; });
    return came ? targets_[index] : "no such request";
  }

 private:
  void Serve(Peer& peer) {
    while (const auto request = peer.ReadRequest()) {
      const Step step = Take(request->target);
      peer.Send(step.reply);
      if (step.then == Step::Then::kCut) return;
      if (step.then == Step::Then::kHold) peer.WaitForClose();
    }
  }

  Step Take(const std::string& target) {
    const std::lock_guard lock(mutex_);
    targets_.push_back(target);
    arrived_.notify_all();
    const std::size_t index = targets_.size() - 1;
    return index < steps_.size() ? steps_[index] : Step{"", Step::Then::kHold};
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::string> targets_;
  std::vector<Step> steps_;
  ScriptedServer server_;
};

std::string Pod(const std::string& name, int version) {
  return fmt::format(R"({{"kind":"Pod","metadata":{{"name":"{}","resourceVersion":"{}"}}}})", name,
                     version);
}

std::string Event(const std::string& type, const std::string& object) {
  return Chunk(fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object));
}
std::string Added(const std::string& name, int version) {
  return Event("ADDED", Pod(name, version));
}
std::string Modified(const std::string& name, int version) {
  return Event("MODIFIED", Pod(name, version));
}
std::string Deleted(const std::string& name, int version) {
  return Event("DELETED", Pod(name, version));
}
std::string Bookmark(int version) {
  return Event("BOOKMARK", fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}}}})", version));
}
std::string EndOfList(int version) {
  return Event("BOOKMARK", fmt::format(R"({{"metadata":{{"resourceVersion":"{}","annotations":)"
                                       R"({{"k8s.io/initial-events-end":"true"}}}}}})",
                                       version));
}

std::string StatusBody(int code, const std::string& reason, const std::string& cause = "") {
  return fmt::format(
      R"({{"kind":"Status","code":{},"reason":"{}","details":{{"causes":[{{"reason":"{}"}}]}}}})",
      code, reason, cause);
}

std::string List(const std::string& items, int version, const std::string& next = "") {
  return Reply(200, fmt::format(R"({{"kind":"PodList","apiVersion":"v1","metadata":)"
                                R"({{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})",
                                version, next, items));
}

// A streaming list of the pod a@1, as of version 5.
std::string ListOfA() { return ChunkedHead() + Added("a", 1) + EndOfList(5); }

ListWatchSettings QuickSettings() {
  ListWatchSettings settings;
  settings.backoff = {.first = milliseconds{1}, .max = milliseconds{2}};
  settings.retry_after_max = milliseconds{1};
  settings.silence_timeout = kKubePatience;
  settings.initial_events_timeout = kKubePatience;
  return settings;
}

// A server, a client, and the loop between them.
class World {
 public:
  explicit World(std::vector<Step> steps, ListWatchSettings settings = QuickSettings(),
                 KubeClientSettings client_settings = {})
      : server(std::move(steps)),
        client(StartClient(PlainConfig(server.Port()), client_settings)),
        watch(*client,
              {.name = "pods", .path = "/api/v1/pods", .field_selector = "spec.nodeName!="},
              told.Sinks(), std::mt19937_64{1}, settings) {
    watch.Start();
  }

  Told told;
  SteppedServer server;
  std::unique_ptr<KubeClient> client;
  ListWatch watch;
};

constexpr auto kCut = Step::Then::kCut;
constexpr auto kHold = Step::Then::kHold;

// ---- Lists -------------------------------------------------------------------------------------

TEST(ListWatchTest, HandsOverAStreamingListAtItsBookmarkAndGoesOnWithTheSameStream) {
  World world({{ChunkedHead() + Added("b", 2) + Added("a", 1) + EndOfList(7) + Modified("a", 8) +
                    Deleted("b", 9),
                kHold}});
  EXPECT_THAT(world.told.WaitForLines(3), ElementsAre("= a@1 b@2", "+ a@8", "- b@9"));
  const WatchStatus status =
      world.told.WaitForStatus([](const WatchStatus& now) { return now.resource_version == "9"; });
  EXPECT_TRUE(status.is_synced);
  EXPECT_TRUE(status.is_watching);
  EXPECT_EQ(status.relists, 0U);
  EXPECT_EQ(status.watch_errors, 0U);
  EXPECT_THAT(world.server.Targets(), SizeIs(1));
}

TEST(ListWatchTest, AsksForAStreamingListAsTheServerWantsIt) {
  World world({{ListOfA(), kHold}});
  const std::string target = world.server.WaitForTarget(0);
  EXPECT_THAT(target, HasSubstr("/api/v1/pods?watch=1&allowWatchBookmarks=true&timeoutSeconds="));
  EXPECT_THAT(target, HasSubstr("&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"));
  EXPECT_THAT(target, HasSubstr("&fieldSelector=spec.nodeName%21%3D"));
  EXPECT_THAT(target, Not(HasSubstr("resourceVersion=")));
  const int timeout_s = std::stoi(target.substr(target.find("Seconds=") + 8));
  EXPECT_GE(timeout_s, 300);
  EXPECT_LE(timeout_s, 600);
}

TEST(ListWatchTest, CountsWhatChangesWhileTheListComes) {
  World world({{ChunkedHead() + Added("a", 1) + Added("b", 2) + Bookmark(3) + Deleted("a", 4) +
                    Modified("b", 5) + EndOfList(6),
                kHold}});
  EXPECT_THAT(world.told.WaitForLines(1), ElementsAre("= b@5"));
}

TEST(ListWatchTest, HandsOverNothingOfAListThatWasCut) {
  World world({{ChunkedHead() + Added("a", 1) + Added("b", 2), kCut},
               {ChunkedHead() + Added("a", 1) + std::string(kLastChunk)},
               {ListOfA(), kHold}});
  EXPECT_THAT(world.told.WaitForLines(1), ElementsAre("= a@1"));
  EXPECT_EQ(
      world.told.WaitForStatus([](const WatchStatus& now) { return now.is_watching; }).watch_errors,
      2U);
}

TEST(ListWatchTest, AsksForPagesWhereStreamingListsAreRefused) {
  for (const int refusal : {400, 422}) {
    World world({{Reply(refusal, StatusBody(refusal, "Invalid"))},
                 {List(Pod("a", 1) + "," + Pod("b", 2), 5, "next=")},
                 {List(Pod("c", 3), 5)},
                 {ChunkedHead() + Added("d", 6), kHold}});
    EXPECT_THAT(world.told.WaitForLines(2), ElementsAre("= a@1 b@2 c@3", "+ d@6"));
    EXPECT_EQ(world.server.WaitForTarget(1),
              "/api/v1/pods?limit=500&fieldSelector=spec.nodeName%21%3D");
    EXPECT_EQ(world.server.WaitForTarget(2),
              "/api/v1/pods?limit=500&continue=next%3D&fieldSelector=spec.nodeName%21%3D");
    EXPECT_THAT(world.server.WaitForTarget(3), HasSubstr("&resourceVersion=5&"));
    EXPECT_THAT(world.server.WaitForTarget(3), Not(HasSubstr("sendInitialEvents")));
  }
}

// An old server sends the objects and never the bookmark. What it answers depends on the request
// alone, since the time may be over before the first one arrives.
TEST(ListWatchTest, AsksForPagesWhereTheListDoesNotEnd) {
  ScriptedServer server([](Peer& peer, int) {
    while (const auto request = peer.ReadRequest()) {
      const bool is_page = request->target.find("limit=") != std::string::npos;
      const bool is_list = request->target.find("sendInitialEvents") != std::string::npos;
      peer.Send(is_page   ? List(Pod("a", 1), 5)
                : is_list ? ChunkedHead() + Added("a", 1)
                          : ChunkedHead() + Added("b", 6));
      if (!is_page) peer.WaitForClose();
    }
  });
  ListWatchSettings settings = QuickSettings();
  settings.initial_events_timeout = milliseconds{20};
  Told told;
  const auto client = StartClient(PlainConfig(server.Port()));
  ListWatch watch(*client, {.name = "pods", .path = "/api/v1/pods", .field_selector = ""},
                  told.Sinks(), std::mt19937_64{1}, settings);
  watch.Start();
  EXPECT_THAT(told.WaitForLines(2), ElementsAre("= a@1", "+ b@6"));
}

TEST(ListWatchTest, AsksForTheWholeListWhereTheNextPageHasExpired) {
  World world({{Reply(422, StatusBody(422, "Invalid"))},
               {List(Pod("a", 1), 5, "next")},
               {Reply(410, StatusBody(410, "Expired"))},
               {List(Pod("b", 6), 7)},
               {ChunkedHead(), kHold}});
  EXPECT_THAT(world.told.WaitForLines(1), ElementsAre("= b@6"));
  EXPECT_EQ(world.server.WaitForTarget(3), "/api/v1/pods?fieldSelector=spec.nodeName%21%3D");
  EXPECT_THAT(world.server.WaitForTarget(4), HasSubstr("&resourceVersion=7&"));
}

TEST(ListWatchTest, BeginsAnewWhereAPageFails) {
  World world({{Reply(422, StatusBody(422, "Invalid"))},
               {List(Pod("a", 1), 5, "next")},
               {Reply(500, "")},
               {Reply(200, "<html>")},
               {List(Pod("b", 6), 7)}});
  EXPECT_THAT(world.told.WaitForLines(1), ElementsAre("= b@6"));
  EXPECT_THAT(world.server.WaitForTarget(3), Not(HasSubstr("continue")));
}

TEST(ListWatchTest, TriesAgainUntilTheServerLetsItIn) {
  World world({{Reply(403, StatusBody(403, "Forbidden"))},
               {"", kCut},
               {Reply(429, "", "Retry-After: 1\r\n")},
               {ListOfA(), kHold}});
  EXPECT_THAT(world.told.WaitForLines(1), ElementsAre("= a@1"));
  EXPECT_THAT(world.server.WaitForTarget(3), HasSubstr("sendInitialEvents=true"));
}

TEST(ListWatchTest, LimitsTheObjectsOfAList) {
  ListWatchSettings settings = QuickSettings();
  settings.objects_max = 1;
  World world(
      {{ChunkedHead() + Added("a", 1) + Added("b", 2) + EndOfList(3), kHold}, {ListOfA(), kHold}},
      settings);
  EXPECT_THAT(world.told.WaitForLines(1), ElementsAre("= a@1"));
  EXPECT_EQ(
      world.told.WaitForStatus([](const WatchStatus& now) { return now.is_synced; }).last_error,
      "too many objects");
}

// ---- Watches -----------------------------------------------------------------------------------

TEST(ListWatchTest, WatchesOnFromTheLastBookmarkWhenAWatchEnds) {
  World world({{ListOfA() + Modified("a", 6) + Bookmark(9) + std::string(kLastChunk)},
               {ChunkedHead() + Modified("a", 10), kHold}});
  EXPECT_THAT(world.told.WaitForLines(3), ElementsAre("= a@1", "+ a@6", "+ a@10"));
  EXPECT_THAT(world.server.WaitForTarget(1), HasSubstr("&resourceVersion=9&"));
  EXPECT_EQ(
      world.told.WaitForStatus([](const WatchStatus& now) { return now.is_watching; }).watch_errors,
      0U);
}

TEST(ListWatchTest, WatchesOnFromWhatWasSeenWhenTheConnectionIsCut) {
  World world({{ListOfA() + Modified("a", 6) + "99\r\n{\"type\":\"MODI", kCut},
               {"", kCut},
               {Reply(429, "", "Retry-After: 1\r\n")},
               {Reply(503, "")},
               {ChunkedHead() + Modified("a", 7), kHold}});
  EXPECT_THAT(world.told.WaitForLines(3), ElementsAre("= a@1", "+ a@6", "+ a@7"));
  for (std::size_t i = 1; i <= 4; ++i) {
    EXPECT_THAT(world.server.WaitForTarget(i), HasSubstr("&resourceVersion=6&"));
  }
  const WatchStatus status =
      world.told.WaitForStatus([](const WatchStatus& now) { return now.resource_version == "7"; });
  EXPECT_EQ(status.watch_errors, 4U);
  EXPECT_EQ(status.relists, 0U);
}

TEST(ListWatchTest, ConnectsAnewWhenAWatchIsSilent) {
  ListWatchSettings settings = QuickSettings();
  settings.silence_timeout = milliseconds{20};
  World world({{ListOfA(), kHold}, {ChunkedHead() + Modified("a", 6), kHold}}, settings);
  EXPECT_THAT(world.told.WaitForLines(2), ElementsAre("= a@1", "+ a@6"));
  EXPECT_THAT(world.server.WaitForTarget(1), HasSubstr("&resourceVersion=5&"));
}

TEST(ListWatchTest, CountsAWatchThatEndsAtOnceAsAFailure) {
  World world({{ListOfA() + std::string(kLastChunk)},
               {ChunkedHead() + std::string(kLastChunk)},
               {ChunkedHead() + Modified("a", 6), kHold}});
  EXPECT_THAT(world.told.WaitForLines(2), ElementsAre("= a@1", "+ a@6"));
  const WatchStatus status =
      world.told.WaitForStatus([](const WatchStatus& now) { return now.resource_version == "6"; });
  EXPECT_EQ(status.watch_errors, 1U);
  EXPECT_EQ(status.last_error, "the watch ended at once");
}

TEST(ListWatchTest, SkipsAndCountsWhatIsNoObjectWithAName) {
  World world(
      {{ListOfA() + Event("ADDED", "{}") + Event("ADDED", R"({"metadata":{}})") + Modified("a", 6),
        kHold}});
  EXPECT_THAT(world.told.WaitForLines(2), ElementsAre("= a@1", "+ a@6"));
  const WatchStatus status =
      world.told.WaitForStatus([](const WatchStatus& now) { return now.resource_version == "6"; });
  EXPECT_EQ(status.skipped, 2U);
  EXPECT_EQ(status.watch_errors, 0U);
}

// The line might have said that a is gone: so it has.
TEST(ListWatchTest, ListsAnewBehindALineThatCannotBeRead) {
  for (const char* line : {"rubbish\n", "{\"type\":\"NEW\",\"object\":{}}\n"}) {
    World world({{ListOfA() + Chunk(line) + Modified("a", 6), kHold},
                 {ChunkedHead() + Added("b", 7) + EndOfList(8), kHold}});
    EXPECT_THAT(world.told.WaitForLines(2), ElementsAre("= a@1", "= b@7"));
    EXPECT_THAT(world.server.WaitForTarget(1), HasSubstr("&resourceVersion=5"));
  }
}

TEST(ListWatchTest, BeginsAListAnewBehindALineThatCannotBeRead) {
  World world({{ChunkedHead() + Added("a", 1) + Chunk("rubbish\n") + EndOfList(5), kHold},
               {ListOfA(), kHold}});
  EXPECT_THAT(world.told.WaitForLines(1), ElementsAre("= a@1"));
  EXPECT_THAT(world.server.WaitForTarget(1), HasSubstr("sendInitialEvents"));
}

// Or a server that sends one bookmark a watch would be asked without end.
TEST(ListWatchTest, CountsAWatchOfBookmarksThatEndsAtOnceAsAFailure) {
  World world({{ListOfA() + std::string(kLastChunk)},
               {ChunkedHead() + Bookmark(6) + std::string(kLastChunk)},
               {ChunkedHead() + Modified("a", 7), kHold}});
  EXPECT_THAT(world.told.WaitForLines(2), ElementsAre("= a@1", "+ a@7"));
  EXPECT_EQ(
      world.told.WaitForStatus([](const WatchStatus& now) { return now.resource_version == "7"; })
          .watch_errors,
      1U);
}

TEST(ListWatchTest, GoesOnBehindALineThatIsTooLong) {
  KubeClientSettings client_settings;
  client_settings.line_bytes_max = 1000;
  World world({{ListOfA() + Added(std::string(1000, 'x'), 6), kHold},
               {ChunkedHead() + Modified("a", 7), kHold}},
              QuickSettings(), client_settings);
  EXPECT_THAT(world.told.WaitForLines(2), ElementsAre("= a@1", "+ a@7"));
}

// ---- Versions ----------------------------------------------------------------------------------

TEST(ListWatchTest, ListsAnewNotOlderThanWhatWasSeenWhereTheVersionHasExpired) {
  const std::string by_event = Event("ERROR", StatusBody(410, "Expired"));
  World world({{ListOfA() + Added("b", 6) + by_event, kHold},
               {ChunkedHead() + Added("b", 6) + EndOfList(9) + std::string(kLastChunk)},
               {Reply(410, StatusBody(410, "Gone"))},
               {ChunkedHead() + EndOfList(12), kHold}});
  EXPECT_THAT(world.told.WaitForLines(4), ElementsAre("= a@1", "+ b@6", "= b@6", "="));
  EXPECT_THAT(world.server.WaitForTarget(1), HasSubstr("sendInitialEvents=true"));
  EXPECT_THAT(world.server.WaitForTarget(1), HasSubstr("&resourceVersion=6&"));
  EXPECT_THAT(world.server.WaitForTarget(2), HasSubstr("&resourceVersion=9&"));
  EXPECT_THAT(world.server.WaitForTarget(3), HasSubstr("sendInitialEvents=true"));
  EXPECT_THAT(world.server.WaitForTarget(3), HasSubstr("&resourceVersion=9&"));
  EXPECT_EQ(world.told.WaitForStatus([](const WatchStatus& now) { return now.relists == 2; })
                .resource_version,
            "12");
}

TEST(ListWatchTest, ListsWhateverIsNewestWhereEvenTheListsVersionHasExpired) {
  World world({{ListOfA() + Event("ERROR", StatusBody(410, "Expired")), kHold},
               {Reply(410, StatusBody(410, "Expired"))},
               {ChunkedHead() + EndOfList(3), kHold}});
  EXPECT_THAT(world.told.WaitForLines(2), ElementsAre("= a@1", "="));
  EXPECT_THAT(world.server.WaitForTarget(1), HasSubstr("&resourceVersion=5&"));
  EXPECT_THAT(world.server.WaitForTarget(2), Not(HasSubstr("&resourceVersion=")));
}

// A server that was restored from a backup is behind us.
TEST(ListWatchTest, ListsWhateverIsNewestWhereTheServerDoesNotKnowTheVersionYet) {
  World world(
      {{ListOfA() + Event("ERROR", StatusBody(504, "Timeout", "ResourceVersionTooLarge")), kHold},
       {ChunkedHead() + Added("c", 2) + EndOfList(3), kHold}});
  EXPECT_THAT(world.told.WaitForLines(2), ElementsAre("= a@1", "= c@2"));
  EXPECT_THAT(world.server.WaitForTarget(1), Not(HasSubstr("&resourceVersion=")));
}

TEST(ListWatchTest, WatchesOnAfterAnErrorThatIsNotAboutTheVersion) {
  World world({{ListOfA() + Event("ERROR", StatusBody(500, "InternalError")), kHold},
               {ChunkedHead() + Modified("a", 6), kHold}});
  EXPECT_THAT(world.told.WaitForLines(2), ElementsAre("= a@1", "+ a@6"));
  EXPECT_THAT(world.server.WaitForTarget(1), HasSubstr("&resourceVersion=5&"));
  EXPECT_THAT(world.server.WaitForTarget(1), Not(HasSubstr("sendInitialEvents")));
}

// ---- The end -----------------------------------------------------------------------------------

TEST(ListWatchTest, CallsNoSinkOnceItHasStopped) {
  World world({{ListOfA(), kHold}});
  world.told.WaitForLines(1);
  world.watch.Stop();
  const std::size_t lines = world.told.Lines().size();
  world.client->Stop();
  EXPECT_EQ(world.told.Lines().size(), lines);
  world.watch.Stop();
}

TEST(ListWatchTest, MayBeStoppedByItsOwnSink) {
  SteppedServer server({{ListOfA() + Modified("a", 6) + Modified("a", 7), kHold}});
  const auto client = StartClient(PlainConfig(server.Port()));
  std::vector<std::string> lines;
  std::promise<void> stopped;
  std::unique_ptr<ListWatch> watch;
  WatchSinks sinks;
  sinks.upsert = [&](const json& object) {
    lines.push_back(Name(object));
    watch.reset();
    stopped.set_value();
  };
  watch = std::make_unique<ListWatch>(*client, WatchedKind{"pods", "/api/v1/pods", ""}, sinks,
                                      std::mt19937_64{1}, QuickSettings());
  watch->Start();
  EXPECT_EQ(stopped.get_future().wait_for(kKubePatience), std::future_status::ready);
  client->Stop();
  EXPECT_THAT(lines, ElementsAre("a@6"));
}

TEST(ListWatchTest, StopsWhenTheClientHasStopped) {
  World world({{ListOfA(), kHold}});
  world.told.WaitForLines(1);
  world.client->Stop();
  world.watch.Stop();
  EXPECT_THAT(world.told.Lines(), ElementsAre("= a@1"));
}

TEST(ListWatchTest, StopsBeforeItHasConnected) {
  World world({{"", kHold}});
  world.watch.Stop();
  EXPECT_THAT(world.told.Lines(), IsEmpty());
}

// ---- A real server's words ---------------------------------------------------------------------

TEST(ListWatchTest, UnderstandsARecordedStreamingList) {
  const std::string text =
      ReadTextFile(DataPath("recorded/v1.37.2-names/watch-streaming-list.jsonl"));
  World world({{ChunkedHead() + Chunk(text), kHold}});
  const std::vector<std::string> lines = world.told.WaitForLines(1);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(std::ranges::count(lines[0], '@'), 21);
  const WatchStatus status =
      world.told.WaitForStatus([](const WatchStatus& now) { return now.is_watching; });
  EXPECT_EQ(status.skipped, 0U);
  EXPECT_EQ(status.watch_errors, 0U);
  EXPECT_EQ(status.resource_version, "412");
}

}  // namespace
}  // namespace offcut::api
