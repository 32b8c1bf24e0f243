// Events on pods, made at a played API server. No test sleeps: each waits for the request that must
// come.
#include "api/event_recorder.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "test/testing/api_server.h"
#include "test/testing/kube_calls.h"

namespace offcut::api {
namespace {

using std::chrono::hours;
using ::testing::EndsWith;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr const char* kMade = "{}";

PodEvent EventOn(const std::string& pod, const std::string& key) {
  return {.name_space = "ml",
          .pod = pod,
          .pod_uid = "uid-" + pod,
          .node = {},
          .is_warning = true,
          .reason = "OffcutRefused",
          .action = "Filtering",
          .note = "no room: " + key,
          .key = key};
}

// A recorder whose API server makes what it is asked to, unless the test says otherwise.
class World {
 public:
  explicit World(EventRecorderSettings settings = {.series_period = hours{1},
                                                   .series_end = hours{1}}) {
    server.On("POST", {{Reply(201, kMade)}});
    server.On("PATCH", {{Reply(200, kMade)}});
    client = StartClient(PlainConfig(server.Port()));
    recorder =
        std::make_unique<EventRecorder>(*client, "offcut-0", settings, [this] { ++dropped; });
  }
  ~World() { client->Stop(); }

  void Record(const std::string& pod, const std::string& key) const {
    recorder->Record(EventOn(pod, key));
  }
  // The notes of the events made, once there are so many.
  std::vector<std::string> Notes(std::size_t count) {
    std::vector<std::string> notes;
    for (const PeerRequest& request : server.WaitForRequests("POST", count)) {
      notes.push_back(nlohmann::json::parse(request.body)["note"]);
    }
    return notes;
  }

  ApiServer server;
  std::atomic<int> dropped = 0;
  std::unique_ptr<KubeClient> client;
  std::unique_ptr<EventRecorder> recorder;
};

TEST(EventTest, SaysWhatKubectlShows) {
  PodEvent event = EventOn("train", "1");
  event.node = "n1";
  const std::chrono::system_clock::time_point time{std::chrono::seconds{1'700'000'000}};
  const auto body = nlohmann::json::parse(PrintEvent(event, "train.1", "offcut-0", time));
  EXPECT_EQ(body["apiVersion"], "events.k8s.io/v1");
  EXPECT_EQ(body["kind"], "Event");
  EXPECT_EQ(body["metadata"], (nlohmann::json{{"name", "train.1"}, {"namespace", "ml"}}));
  EXPECT_EQ(body["eventTime"], "2023-11-14T22:13:20.000000Z");
  EXPECT_EQ(body["type"], "Warning");
  EXPECT_EQ(body["reportingController"], "offcut");
  EXPECT_EQ(body["reportingInstance"], "offcut-0");
  EXPECT_EQ(body["regarding"]["uid"], "uid-train");
  EXPECT_EQ(body["related"]["name"], "n1");
  EXPECT_EQ(body["note"], "no room: 1");
}

TEST(EventTest, CutsALongNoteBetweenTwoCharacters) {
  PodEvent event = EventOn("a", "1");
  // 999 bytes, and a character of two: 1001 where 1000 may be.
  event.note = std::string(kEventNoteBytesMax - 1, 'x') + "é";
  const auto body = nlohmann::json::parse(PrintEvent(event, "a.1", "offcut-0", {}));
  EXPECT_EQ(body["note"], std::string(kEventNoteBytesMax - 1, 'x'));
}

TEST(EventTest, IsNamedByItsPodWithinTheLengthOfAName) {
  EXPECT_EQ(EventName("train", "18.1"), "train.18.1");
  // 253 - 1 - 4 = 248 bytes of the pod's name, which must not end with a dot or a dash.
  EXPECT_EQ(EventName(std::string(253, 'a'), "18.1"), std::string(248, 'a') + ".18.1");
  EXPECT_EQ(EventName(std::string(246, 'a') + ".-bcdef", "18.1"), std::string(246, 'a') + ".18.1");
}

TEST(EventRecorderTest, MakesOneEventOfWhatIsSaidAgain) {
  World world;
  world.Record("a", "full");
  EXPECT_THAT(world.Notes(1), SizeIs(1));
  // Once the server has answered, a repetition is counted on the event that was made.
  while (world.server.Count("PATCH") == 0) world.Record("a", "full");
  const PeerRequest patch = world.server.WaitForRequests("PATCH", 1).front();
  const std::string name = nlohmann::json::parse(
      world.server.WaitForRequests("POST", 1).front().body)["metadata"]["name"];
  EXPECT_THAT(patch.target, EndsWith("/namespaces/ml/events/" + name));
  EXPECT_GE(nlohmann::json::parse(patch.body)["series"]["count"], 2);
  world.Record("b", "full");  // an event of its own, and all that came before has been seen
  EXPECT_THAT(world.Notes(2), SizeIs(2));
  EXPECT_EQ(world.server.Count("PATCH"), 1U);
}

TEST(EventRecorderTest, MakesAnEventOfWhatIsNew) {
  World world;
  world.Record("a", "full");
  world.Record("a", "fragmented");
  EXPECT_THAT(world.Notes(2), UnorderedElementsAre("no room: full", "no room: fragmented"));
}

TEST(EventRecorderTest, MakesAnEventAgainAfterASeriesHasEnded) {
  World world({.series_end = std::chrono::milliseconds{0}});
  world.Record("a", "full");
  world.Record("a", "full");
  EXPECT_THAT(world.Notes(2), SizeIs(2));
}

TEST(EventRecorderTest, MakesAgainWhatTheServerHasNotMade) {
  World world;
  world.server.On("POST", {{Reply(500, "{}")}, {Reply(201, kMade)}});
  while (world.server.Count("POST") < 2) world.Record("a", "full");
  EXPECT_THAT(world.Notes(2), SizeIs(2));
}

TEST(EventRecorderTest, DropsWhatAServerThatHangsCannotTake) {
  World world({.in_flight_max = 2});
  world.server.On("POST", {{"", kHold}});
  for (int i = 0; i < 5; ++i) world.Record(fmt::format("p{}", i), "full");
  world.server.WaitForRequests("POST", 2);
  while (world.dropped < 3) std::this_thread::yield();
  EXPECT_EQ(world.server.Count("POST"), 2U);
}

TEST(EventRecorderTest, ForgetsThePodThatWasQuietLongest) {
  World world({.pods_max = 2, .series_period = hours{1}, .series_end = hours{1}});
  for (const char* pod : {"a", "b", "c"}) world.Record(pod, "full");  // c takes a's place
  world.Record("a", "full");                                          // and a takes b's
  EXPECT_THAT(world.Notes(4), SizeIs(4));
}

}  // namespace
}  // namespace offcut::api
