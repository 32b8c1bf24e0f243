// Keeps up with one kind of object: a list, then a watch from there on, for ever, whatever the
// server and the network do. client-go calls it a reflector.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/backoff.h"
#include "api/kube_client.h"

namespace offcut::api {

struct WatchedKind {
  std::string name;            // for messages: "pods"
  std::string path;            // "/api/v1/pods"
  std::string field_selector;  // "spec.nodeName!="; empty: all
};

// How it goes, since Start().
struct WatchStatus {
  bool is_synced = false;          // a whole list has been handed over; stays so
  bool is_watching = false;        // a watch is open that goes on from what was handed over
  std::uint64_t relists = 0;       // whole lists behind the first one
  std::uint64_t watch_errors = 0;  // lists and watches that were refused, cut, silent or too short
  std::uint64_t skipped = 0;       // objects without a name
  std::chrono::steady_clock::time_point last_event{};  // of any line, bookmarks included
  // The newest that was seen. May be compared for equality alone.
  std::string resource_version;
  std::string last_error;  // for a person; stays
};

// Called one at a time on the client's thread. An empty one: nobody wants to know.
struct WatchSinks {
  // All objects there are: whoever holds others holds what was deleted unseen.
  std::function<void(std::vector<nlohmann::json> items)> replace;
  std::function<void(nlohmann::json object)> upsert;  // added or changed
  std::function<void(nlohmann::json object)> remove;  // its last state
  // After each change of the status, behind the function above that it goes with.
  std::function<void(const WatchStatus& status)> observe;
};

// All must be positive.
struct ListWatchSettings {
  BackoffSettings backoff;
  // What a server asks for beyond it (Retry-After) is not obeyed.
  std::chrono::milliseconds retry_after_max = std::chrono::minutes{1};
  // The server ends a watch after a random time between these, so that watches spread over servers.
  std::chrono::seconds watch_timeout_min = std::chrono::minutes{5};
  std::chrono::seconds watch_timeout_max = std::chrono::minutes{10};
  // A bookmark comes about once a minute; a watch without one is a dead connection.
  std::chrono::milliseconds silence_timeout = std::chrono::seconds{90};
  // A watch that ends before, without a change, counts as a failure.
  std::chrono::milliseconds short_watch = std::chrono::seconds{1};
  // For all objects of a streaming list; then pages must do. Servers that do not know streaming
  // lists may leave out the bookmark that ends one.
  std::chrono::milliseconds initial_events_timeout = std::chrono::minutes{1};
  std::chrono::milliseconds list_timeout = std::chrono::minutes{1};  // for one page
  std::size_t page_size = 500;
  std::size_t objects_max = 1'000'000;
};

class Reflector;

// Owned by one thread. `client` must outlive it, stopped or not.
class ListWatch {
 public:
  // `random` spreads the waits and the lives of watches.
  ListWatch(KubeClient& client, WatchedKind kind, WatchSinks sinks, std::mt19937_64 random,
            ListWatchSettings settings = {});
  ListWatch(const ListWatch&) = delete;
  ListWatch& operator=(const ListWatch&) = delete;
  ~ListWatch();  // Stop()

  // Once.
  void Start();

  // When it returns no sink is being called, and none will be, but the one that calls Stop()
  // itself. Idempotent.
  void Stop();

 private:
  KubeClient& client_;
  std::shared_ptr<Reflector> reflector_;
};

}  // namespace offcut::api
