// Whatever a server and a network do to a watch, in the end what was told equals what there is.
#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/list_watch.h"
#include "api/watch_event.h"
#include "test/testing/kube_calls.h"
#include "test/testing/scripted_server.h"

namespace offcut::api {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

using Objects = std::map<std::string, std::string>;  // name to resource version

// What the sinks were told, put together.
class Replica {
 public:
  WatchSinks Sinks() {
    WatchSinks sinks;
    sinks.replace = [this](const std::vector<json>& items) {
      Change([&] {
        objects_.clear();
        for (const json& item : items) objects_[NameOf(item)] = ResourceVersionOf(item);
      });
    };
    sinks.upsert = [this](const json& object) {
      Change([&] { objects_[NameOf(object)] = ResourceVersionOf(object); });
    };
    sinks.remove = [this](const json& object) { Change([&] { objects_.erase(NameOf(object)); }); };
    return sinks;
  }

  // The objects once they are `expected`, or as they are after a long wait.
  Objects WaitFor(const Objects& expected) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kKubePatience, [&] { return objects_ == expected; });
    return objects_;
  }

 private:
  static std::string NameOf(const json& object) { return object["metadata"]["name"]; }

  template <typename Edit>
  void Change(Edit edit) {
    const std::lock_guard lock(mutex_);
    edit();
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Objects objects_;
};

// An API server of one kind, whose objects change while it answers, and which fails at random
// until `mischief` requests have come. Then it is honest and nothing changes any more.
class MischievousServer {
 public:
  MischievousServer(std::uint32_t seed, bool streams_lists, int mischief)
      : random_(seed),
        streams_lists_(streams_lists),
        mischief_(mischief),
        server_([this](Peer& peer, int) { Serve(peer); }) {}

  std::uint16_t Port() const { return server_.Port(); }

  // What there is, once nothing changes any more.
  Objects WaitForTheEnd() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(honest_.wait_for(lock, kKubePatience, [this] { return mischief_ == 0; }));
    return objects_;
  }

 private:
  void Serve(Peer& peer) {
    while (const auto request = peer.ReadRequest()) {
      std::string reply;
      bool cuts = false;
      bool holds = false;
      {
        const std::lock_guard lock(mutex_);
        reply = Answer(request->target);
        holds = mischief_ == 0 && reply.find("chunked") != std::string::npos;
        if (mischief_ > 0) {
          cuts = Chance(3);
          if (cuts) reply.resize(static_cast<std::size_t>(Below(static_cast<int>(reply.size()))));
          if (--mischief_ == 0) honest_.notify_all();
        }
      }
      peer.Send(reply);
      if (cuts) return;
      if (holds) peer.WaitForClose();
    }
  }

  std::string Answer(const std::string& target) {
    if (mischief_ > 0) ChangeSome();
    const bool is_watch = target.find("watch=1") != std::string::npos;
    if (mischief_ > 0 && Chance(5)) return Reply(Chance(2) ? 429 : 500, "");
    if (!is_watch) return Page(target);
    if (target.find("sendInitialEvents") == std::string::npos) return Changes(target);
    if (!streams_lists_) return Reply(422, R"({"kind":"Status","code":422,"reason":"Invalid"})");
    std::string stream = ChunkedHead();
    for (const auto& [name, version] : objects_) stream += Event("ADDED", name, version);
    stream += Chunk(fmt::format(R"({{"type":"BOOKMARK","object":{{"metadata":{{)"
                                R"("resourceVersion":"{}","annotations":)"
                                R"({{"k8s.io/initial-events-end":"true"}}}}}}}})"
                                "\n",
                                version_));
    return stream + ChangesSince(version_);
  }

  // From the version that the request names, unless that is forgotten.
  std::string Changes(const std::string& target) {
    constexpr std::string_view key = "&resourceVersion=";
    const int version = std::stoi(target.substr(target.find(key) + key.size()));
    if (mischief_ > 0 && Chance(4)) {
      return Chance(2) ? Reply(410, "") : ChunkedHead() + Chunk(kExpired) + std::string(kLastChunk);
    }
    return ChunkedHead() + ChangesSince(version);
  }

  std::string ChangesSince(int version) {
    if (mischief_ > 0) ChangeSome();
    std::string stream;
    for (const auto& [at, event] : history_) {
      if (at > version) stream += event;
    }
    if (mischief_ > 0 && Chance(3)) stream += Chunk(kExpired);
    return mischief_ > 0 ? stream + std::string(kLastChunk) : stream;
  }

  // Two pages of one state.
  std::string Page(const std::string& target) {
    const bool is_second = target.find("continue=") != std::string::npos;
    const bool is_whole = target.find("limit=") == std::string::npos;
    if (is_second && mischief_ > 0 && Chance(3)) return Reply(410, "");
    if (!is_second) listed_ = {objects_, version_};
    json list = {{"kind", "PodList"},
                 {"items", json::array()},
                 {"metadata", {{"resourceVersion", std::to_string(listed_.second)}}}};
    if (!is_second && !is_whole) list["metadata"]["continue"] = "next";
    std::size_t index = 0;
    for (const auto& [name, version] : listed_.first) {
      const bool is_here = is_whole || (index++ % 2 == 1) == is_second;
      if (is_here) {
        list["items"].push_back({{"metadata", {{"name", name}, {"resourceVersion", version}}}});
      }
    }
    return Reply(200, list.dump());
  }

  void ChangeSome() {
    for (int i = Below(4); i > 0; --i) {
      const std::string name(1, static_cast<char>('a' + Below(6)));
      const std::string version = std::to_string(++version_);
      const bool exists = objects_.contains(name);
      const bool removes = exists && Chance(2);
      const char* type = removes ? "DELETED" : exists ? "MODIFIED" : "ADDED";
      history_.emplace_back(version_, Event(type, name, version));
      if (removes) {
        objects_.erase(name);
      } else {
        objects_[name] = version;
      }
    }
  }

  static std::string Event(std::string_view type, const std::string& name,
                           const std::string& version) {
    return Chunk(fmt::format(
        R"({{"type":"{}","object":{{"metadata":{{"name":"{}","resourceVersion":"{}"}}}}}})"
        "\n",
        type, name, version));
  }

  int Below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }
  bool Chance(int one_in) { return Below(one_in) == 0; }

  static constexpr const char* kExpired =
      "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}}\n";

  std::mutex mutex_;
  std::condition_variable honest_;
  std::mt19937 random_;
  const bool streams_lists_;
  int mischief_;  // requests that still meet it
  Objects objects_;
  int version_ = 1;
  std::vector<std::pair<int, std::string>> history_;  // by version
  std::pair<Objects, int> listed_;                    // what the pages show, and its version
  ScriptedServer server_;
};

ListWatchSettings QuickSettings() {
  ListWatchSettings settings;
  settings.backoff = {.first = milliseconds{1}, .max = milliseconds{2}};
  settings.retry_after_max = milliseconds{1};
  return settings;
}

void CheckThatItConverges(std::uint32_t seed, bool streams_lists) {
  Replica replica;
  MischievousServer server(seed, streams_lists, /*mischief=*/40);
  KubeClientSettings client_settings;
  client_settings.qps = 10'000;
  const auto client = StartClient(PlainConfig(server.Port()), client_settings);
  ListWatch watch(*client, {.name = "pods", .path = "/api/v1/pods", .field_selector = ""},
                  replica.Sinks(), std::mt19937_64{seed}, QuickSettings());
  watch.Start();
  const Objects expected = server.WaitForTheEnd();
  EXPECT_EQ(replica.WaitFor(expected), expected) << "seed " << seed;
}

TEST(ListWatchPropertyTest, HasWhatThereIsAfterAnyMischiefWithStreamingLists) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) CheckThatItConverges(seed, true);
}

TEST(ListWatchPropertyTest, HasWhatThereIsAfterAnyMischiefWithPages) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) CheckThatItConverges(seed, false);
}

}  // namespace
}  // namespace offcut::api
