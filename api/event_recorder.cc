#include "api/event_recorder.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "api/kube_time.h"
#include "api/printable.h"

namespace offcut::api {
namespace {

constexpr std::string_view kController = "offcut";
constexpr std::size_t kNameBytesMax = 253;  // a DNS subdomain

std::string EventsPath(std::string_view name_space) {
  return fmt::format("/apis/events.k8s.io/v1/namespaces/{}/events", name_space);
}

}  // namespace

std::string EventName(std::string_view pod, std::string_view suffix) {
  std::string_view stem = pod.substr(0, kNameBytesMax - 1 - suffix.size());
  // Each label of a name ends with a letter or a digit.
  while (!stem.empty() && (stem.back() == '.' || stem.back() == '-')) stem.remove_suffix(1);
  return fmt::format("{}.{}", stem, suffix);
}

std::string PrintEvent(const PodEvent& event, std::string_view name, std::string_view instance,
                       std::chrono::system_clock::time_point time) {
  nlohmann::json body = {{"apiVersion", "events.k8s.io/v1"},
                         {"kind", "Event"},
                         {"metadata", {{"name", name}, {"namespace", event.name_space}}},
                         {"eventTime", MicroTimeText(time)},
                         {"reportingController", kController},
                         {"reportingInstance", instance},
                         {"action", event.action},
                         {"reason", event.reason},
                         {"type", event.is_warning ? "Warning" : "Normal"},
                         {"regarding",
                          {{"apiVersion", "v1"},
                           {"kind", "Pod"},
                           {"namespace", event.name_space},
                           {"name", event.pod},
                           {"uid", event.pod_uid}}},
                         {"note", CutText(event.note, kEventNoteBytesMax)}};
  if (!event.node.empty()) {
    body["related"] = {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", event.node}};
  }
  return body.dump();
}

EventRecorder::EventRecorder(KubeClient& client, std::string instance,
                             EventRecorderSettings settings, std::function<void()> dropped)
    : client_(client),
      instance_(std::move(instance)),
      settings_(settings),
      dropped_(std::move(dropped)) {}

void EventRecorder::Record(PodEvent event) {
  client_.Post([this, event = std::move(event)] { RecordHere(event); });
}

void EventRecorder::RecordHere(const PodEvent& event) {
  const auto now = Clock::now();
  const auto known = by_pod_.find(event.pod_uid);
  if (known != by_pod_.end()) {
    Series& series = *known->second;
    if (series.key == event.key && now - series.last_seen < settings_.series_end) {
      Repeat(series, now);
      by_quiet_.splice(by_quiet_.end(), by_quiet_, known->second);
      return;
    }
    Forget(known->second);
  }
  Make(event, now);
}

// The first repetition is written at once, so that a series can be told from a single event.
void EventRecorder::Repeat(Series& series, Clock::time_point now) {
  ++series.count;
  series.last_seen = now;
  const bool is_due = !series.is_written || now - series.last_written >= settings_.series_period;
  if (!is_due || series.path.empty() || !TakeSlot()) return;
  series.is_written = true;
  series.last_written = now;
  const nlohmann::json patch = {
      {"series",
       {{"count", series.count},
        {"lastObservedTime", MicroTimeText(std::chrono::system_clock::now())}}}};
  KubeRequest request{.method = "PATCH",
                      .target = series.path,
                      .content_type = "application/merge-patch+json",
                      .body = patch.dump(),
                      .limit = KubeLimit::kLast};
  client_.Call(std::move(request), [this](const KubeResult& result) {
    --in_flight_;
    if (OutcomeOf(result) != CallOutcome::kDone) {
      spdlog::debug("event series: {}", ResultText(result));
    }
  });
}

void EventRecorder::Make(const PodEvent& event, Clock::time_point now) {
  if (!TakeSlot()) return;
  if (by_quiet_.size() >= settings_.pods_max) Forget(by_quiet_.begin());
  const auto time = std::chrono::system_clock::now();
  const std::string name = EventName(
      event.pod, fmt::format("{:x}.{:x}", time.time_since_epoch().count(), ++last_number_));
  by_pod_[event.pod_uid] = by_quiet_.insert(by_quiet_.end(), {.pod_uid = event.pod_uid,
                                                              .key = event.key,
                                                              .path = {},
                                                              .last_seen = now,
                                                              .last_written = now});
  const std::string events_path = EventsPath(event.name_space);
  KubeRequest request{.method = "POST",
                      .target = events_path,
                      .content_type = "application/json",
                      .body = PrintEvent(event, name, instance_, time),
                      .limit = KubeLimit::kLast};
  client_.Call(std::move(request), [this, event, path = events_path + "/" + name](
                                       const KubeResult& result) { Made(event, path, result); });
}

void EventRecorder::Made(const PodEvent& event, const std::string& path, const KubeResult& result) {
  --in_flight_;
  const auto known = by_pod_.find(event.pod_uid);
  const bool is_current = known != by_pod_.end() && known->second->key == event.key;
  if (OutcomeOf(result) == CallOutcome::kDone) {
    if (is_current) known->second->path = path;
    return;
  }
  spdlog::debug("event: {}", ResultText(result));
  if (is_current) Forget(known->second);
}

void EventRecorder::Forget(ByQuiet::iterator place) {
  by_pod_.erase(place->pod_uid);
  by_quiet_.erase(place);
}

bool EventRecorder::TakeSlot() {
  if (in_flight_ >= settings_.in_flight_max) {
    if (dropped_) dropped_();
    return false;
  }
  ++in_flight_;
  return true;
}

}  // namespace offcut::api
