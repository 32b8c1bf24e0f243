// Rules about lists and watches that need no server.
#include "api/watch_event.h"

#include <chrono>
#include <map>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/backoff.h"
#include "test/api/text_files.h"

namespace offcut::api {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(WatchEventTest, ReadsEveryType) {
  const auto type_of = [](const std::string& type) {
    return ParseWatchEvent(R"({"type":")" + type + R"(","object":{"kind":"Pod"}})")->type;
  };
  EXPECT_EQ(type_of("ADDED"), WatchEventType::kAdded);
  EXPECT_EQ(type_of("MODIFIED"), WatchEventType::kModified);
  EXPECT_EQ(type_of("DELETED"), WatchEventType::kDeleted);
  EXPECT_EQ(type_of("BOOKMARK"), WatchEventType::kBookmark);
  EXPECT_EQ(type_of("ERROR"), WatchEventType::kError);
}

TEST(WatchEventTest, TakesNothingElseForAnEvent) {
  for (const char* line : {"", "{", "null", "7", "[]", "{}", R"({"type":"ADDED"})",
                           R"({"type":"ADDED","object":null})", R"({"type":"ADDED","object":[]})",
                           R"({"type":"added","object":{}})", R"({"type":1,"object":{}})",
                           R"({"type":"ADDED","object":{}} x)"}) {
    EXPECT_FALSE(ParseWatchEvent(line)) << line;
  }
}

TEST(WatchEventTest, KnowsTheBookmarkThatEndsAList) {
  const auto ends = [](const char* text) { return EndsInitialEvents(json::parse(text)); };
  EXPECT_TRUE(ends(R"({"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}})"));
  EXPECT_FALSE(ends(R"({"metadata":{"annotations":{"k8s.io/initial-events-end":"false"}}})"));
  EXPECT_FALSE(ends(R"({"metadata":{"annotations":{"k8s.io/initial-events-end":true}}})"));
  EXPECT_FALSE(ends(R"({"metadata":{"annotations":7}})"));
  EXPECT_FALSE(ends(R"({"metadata":{"resourceVersion":"7"}})"));
}

TEST(WatchEventTest, TellsObjectsApartByNamespaceAndName) {
  const auto key = [](const char* text) { return ObjectKey(json::parse(text)).value_or("none"); };
  EXPECT_EQ(key(R"({"metadata":{"name":"a","namespace":"b"}})"), "b/a");
  EXPECT_EQ(key(R"({"metadata":{"name":"a"}})"), "/a");
  for (const char* nameless : {"7", "{}", R"({"metadata":7})", R"({"metadata":{"name":""}})",
                               R"({"metadata":{"name":7}})"}) {
    EXPECT_EQ(key(nameless), "none") << nameless;
  }
}

TEST(WatchEventTest, GivesTheItemsOfAListTheirType) {
  const auto page = ParseListPage(R"({"kind":"PodList","apiVersion":"v1",
"metadata":{"resourceVersion":"42","continue":"next"},"items":[{"metadata":{"name":"a"}},7,
{"metadata":{}},{"kind":"Own","apiVersion":"own/v1","metadata":{"name":"b"}}]})");
  ASSERT_TRUE(page) << page.error();
  EXPECT_EQ(page->resource_version, "42");
  EXPECT_EQ(page->continue_token, "next");
  EXPECT_EQ(page->skipped, 2U);
  ASSERT_EQ(page->items.size(), 2U);
  EXPECT_EQ(page->items[0]["kind"], "Pod");
  EXPECT_EQ(page->items[0]["apiVersion"], "v1");
  EXPECT_EQ(page->items[1]["kind"], "Own");
  EXPECT_EQ(page->items[1]["apiVersion"], "own/v1");
}

TEST(WatchEventTest, LeavesOutWhoHasWrittenWhat) {
  const char* object = R"({"metadata":{"name":"a","managedFields":[{"manager":"kubelet"}]}})";
  const auto event = ParseWatchEvent(R"({"type":"ADDED","object":)" + std::string(object) + "}");
  EXPECT_EQ(event->object, json::parse(R"({"metadata":{"name":"a"}})"));
  const auto page = ParseListPage(R"({"metadata":{"resourceVersion":"7"},"items":[)" +
                                  std::string(object) + "]}");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items[0], json::parse(R"({"metadata":{"name":"a"}})"));
}

TEST(WatchEventTest, ReadsAListWithoutItems) {
  const auto page =
      ParseListPage(R"({"kind":"PodList","metadata":{"resourceVersion":"7"},"items":null})");
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->items.empty());
}

TEST(WatchEventTest, RefusesABodyThatIsNoList) {
  for (const char* body : {"", "<html>", "[]", "{}", R"({"items":{}})", R"({"items":"a"})"}) {
    EXPECT_FALSE(ParseListPage(body)) << body;
  }
}

// ---- What kube-apiserver 1.37.2 wrote ----------------------------------------------------------

TEST(WatchEventTest, ReadsARecordedWatch) {
  std::istringstream lines(ReadTextFile(DataPath("recorded/v1.37.2-names/watch-from-1.jsonl")));
  std::map<WatchEventType, int> counts;
  for (std::string line; std::getline(lines, line);) {
    const auto event = ParseWatchEvent(line);
    ASSERT_TRUE(event) << line;
    EXPECT_TRUE(ObjectKey(event->object));
    EXPECT_NE(ResourceVersionOf(event->object), "");
    ++counts[event->type];
  }
  EXPECT_EQ(counts[WatchEventType::kAdded], 31);
  EXPECT_EQ(counts[WatchEventType::kModified], 57);
  EXPECT_EQ(counts[WatchEventType::kDeleted], 10);
}

TEST(WatchEventTest, ReadsARecordedPage) {
  const auto page =
      ParseListPage(ReadTextFile(DataPath("recorded/v1.37.2-names/list-page-1.json")));
  ASSERT_TRUE(page) << page.error();
  EXPECT_EQ(page->items.size(), 3U);
  EXPECT_EQ(page->items[0]["kind"], "Pod");
  EXPECT_EQ(page->resource_version, "413");
  EXPECT_NE(page->continue_token, "");
}

// ---- Refusals ----------------------------------------------------------------------------------

KubeStatus Status(int code, const std::string& reason, const std::string& cause = "") {
  KubeStatus status;
  status.code = code;
  status.reason = reason;
  if (!cause.empty()) status.causes.push_back({.reason = cause, .message = {}, .field = {}});
  return status;
}

TEST(WatchEventTest, ListsAnewWhereTheVersionIsTooOld) {
  EXPECT_EQ(RemedyFor(Status(410, "")), WatchRemedy::kRelist);
  EXPECT_EQ(RemedyFor(Status(0, "Expired")), WatchRemedy::kRelist);
  EXPECT_EQ(RemedyFor(Status(0, "Gone")), WatchRemedy::kRelist);
}

TEST(WatchEventTest, ListsWhateverIsNewestWhereTheVersionIsNotKnown) {
  EXPECT_EQ(RemedyFor(Status(504, "Timeout", "ResourceVersionTooLarge")),
            WatchRemedy::kRelistNewest);
  KubeStatus by_text = Status(504, "Timeout");
  by_text.message = "Too large resource version: 9, current: 5";
  EXPECT_EQ(RemedyFor(by_text), WatchRemedy::kRelistNewest);
  EXPECT_EQ(RemedyFor(Status(400, "BadRequest")), WatchRemedy::kRelistNewest);
}

TEST(WatchEventTest, WatchesAgainAfterEverythingElse) {
  for (const int code : {401, 403, 429, 500, 503, 504}) {
    EXPECT_EQ(RemedyFor(Status(code, "")), WatchRemedy::kRewatch) << code;
  }
}

TEST(WatchEventTest, TakesOnlyInvalidForARefusalOfStreamingLists) {
  EXPECT_TRUE(RefusesStreamingLists(Status(400, "BadRequest")));
  EXPECT_TRUE(RefusesStreamingLists(Status(422, "Invalid")));
  for (const int code : {401, 403, 404, 410, 429, 500, 504}) {
    EXPECT_FALSE(RefusesStreamingLists(Status(code, ""))) << code;
  }
}

// ---- Waiting -----------------------------------------------------------------------------------

TEST(BackoffTest, DoublesUpToItsLimitAndAddsUpToAsMuchAgain) {
  const Backoff::TimePoint start{seconds{1000}};
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Backoff backoff({}, seed);
    for (const int base_ms : {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000}) {
      const milliseconds wait = backoff.Next(start);
      ASSERT_GE(wait, milliseconds{base_ms});
      ASSERT_LE(wait, milliseconds{2 * base_ms});
    }
  }
}

TEST(BackoffTest, BeginsAnewWhenNothingFailedForTwoMinutes) {
  const Backoff::TimePoint start{seconds{1000}};
  Backoff backoff({}, 1);
  for (int i = 0; i < 5; ++i) backoff.Next(start);
  EXPECT_GE(backoff.Next(start + seconds{120}), milliseconds{25600});
  EXPECT_LE(backoff.Next(start + seconds{241}), milliseconds{1600});
}

TEST(BackoffTest, BeginsAnewWhenItIsTold) {
  const Backoff::TimePoint start{seconds{1000}};
  Backoff backoff({}, 1);
  for (int i = 0; i < 5; ++i) backoff.Next(start);
  backoff.Reset();
  EXPECT_LE(backoff.Next(start), milliseconds{1600});
}

TEST(BackoffTest, WaitsTheSameForTheSameSeed) {
  const Backoff::TimePoint start{seconds{1000}};
  Backoff one({}, 7);
  Backoff other({}, 7);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(one.Next(start), other.Next(start));
}

}  // namespace
}  // namespace offcut::api
