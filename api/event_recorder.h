// Events of events.k8s.io on pods: what `kubectl describe pod` shows. Asynchronous, bounded, and
// droppable: no decision waits for one.
//
// One per pod and change of what there is to say. The same again within kSeriesEnd is counted, and
// the count written now and then, as a series of the first event.
// An event that could not be made is made at the next occasion to say the same.
// Source: Kubernetes, events.k8s.io/v1; client-go, tools/events.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/kube_client.h"

namespace offcut::api {

inline constexpr std::size_t kEventNoteBytesMax = 1'000;

struct PodEvent {
  std::string name_space;
  std::string pod;
  std::string pod_uid;
  std::string node;  // `related`; empty: none
  bool is_warning = false;
  std::string reason;  // "OffcutBound"
  std::string action;  // "Binding"
  std::string note;    // for a person; cut to kEventNoteBytesMax
  std::string key;     // what must change for an event of its own; the note may vary beside it
};

struct EventRecorderSettings {
  std::size_t pods_max = 10'000;    // remembered; the one that was quiet longest is forgotten
  std::size_t in_flight_max = 100;  // one more is dropped, and counted
  std::chrono::milliseconds series_period = std::chrono::minutes{30};  // between two counts written
  std::chrono::milliseconds series_end = std::chrono::minutes{6};      // of quiet
};

// Record() may be called from any thread; all else happens on the client's.
class EventRecorder {
 public:
  // `instance`: of the reporting process, at most 128 bytes. The client outlives this.
  EventRecorder(KubeClient& client, std::string instance, EventRecorderSettings settings = {},
                std::function<void()> dropped = {});

  void Record(PodEvent event);

 private:
  using Clock = std::chrono::steady_clock;
  struct Series {
    std::string pod_uid;
    std::string key;
    std::string path;  // of the event that was made; empty: not made (yet)
    int count = 1;
    bool is_written = false;  // a count has been
    Clock::time_point last_seen;
    Clock::time_point last_written;
  };
  using ByQuiet = std::list<Series>;  // longest quiet first

  void RecordHere(const PodEvent& event);
  void Repeat(Series& series, Clock::time_point now);
  void Make(const PodEvent& event, Clock::time_point now);
  void Made(const PodEvent& event, const std::string& path, const KubeResult& result);
  void Forget(ByQuiet::iterator place);
  bool TakeSlot();

  KubeClient& client_;
  const std::string instance_;
  const EventRecorderSettings settings_;
  const std::function<void()> dropped_;
  ByQuiet by_quiet_;
  std::unordered_map<std::string, ByQuiet::iterator> by_pod_;  // by UID
  std::size_t in_flight_ = 0;
  std::uint64_t last_number_ = 0;
};

// A name for an event on that pod, of at most the 253 bytes that one may have; `suffix` makes it
// unique. Pure.
std::string EventName(std::string_view pod, std::string_view suffix);

// The body of the POST that makes the event. Pure.
std::string PrintEvent(const PodEvent& event, std::string_view name, std::string_view instance,
                       std::chrono::system_clock::time_point time);

}  // namespace offcut::api
