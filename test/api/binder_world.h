// A binder between a state, a played API server and a kube-scheduler.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/binder.h"
#include "api/device_record_json.h"
#include "test/api/extender_world.h"
#include "test/testing/api_server.h"
#include "test/testing/kube_calls.h"
#include "test/testing/worlds.h"

namespace offcut::api {

// The pod as the API server shows it: on its node, if it has one, with that record.
inline std::string PodBody(const scheduler::Pod& pod,
                           const std::optional<scheduler::DeviceRecord>& record = std::nullopt) {
  nlohmann::json json = PodJson(pod);
  json["metadata"]["resourceVersion"] = "7";
  if (!pod.node_name.empty()) json["spec"]["nodeName"] = pod.node_name;
  if (record) {
    json["metadata"]["annotations"] = {
        {std::string(kDevicesAnnotation), PrintDeviceRecord(*record)}};
  }
  return json.dump();
}

inline ApiStep Shows(std::string_view pod_text,
                     const std::optional<scheduler::DeviceRecord>& record = std::nullopt) {
  return {.reply = Reply(200, PodBody(testing::PodFromText(pod_text), record))};
}

inline ApiStep Says(int status, std::string_view message, std::string_view more_fields = "") {
  return {.reply = Reply(status, StatusBody(status, "Reason", message), more_fields)};
}

inline ApiStep Silence() { return {.reply = "", .then = kHold}; }
inline ApiStep Cut() { return {.reply = "", .then = kCut}; }

inline std::string BindingPath(const std::string& pod_name) {
  return "/api/v1/namespaces/default/pods/" + pod_name + "/binding";
}

// Answers take as long as they take; waits between tries are 1 ms.
inline BinderSettings PatientSettings() {
  BinderSettings settings;
  settings.answer_timeout = kKubePatience;
  settings.settle_time = kKubePatience;
  settings.retry_delay = std::chrono::milliseconds{1};
  settings.settle_period = std::chrono::milliseconds{1};
  return settings;
}

// kube-scheduler is answered soon; what is open stays so until a read tells.
inline BinderSettings HastySettings() {
  BinderSettings settings = PatientSettings();
  settings.answer_timeout = std::chrono::milliseconds{200};
  return settings;
}

// What the binder's observer was told.
class EndedBindings {
 public:
  void Add(const BindResult& result) {
    const std::lock_guard lock(mutex_);
    errors_.push_back(result.error);
    changed_.notify_all();
  }

  // The errors of the bindings that have ended, once there are so many; "" is a success.
  std::vector<std::string> WaitFor(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kKubePatience, [&] { return errors_.size() >= count; });
    return errors_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> errors_;
};

// Nodes "n1" and "n2" of two whole GPUs each, unless the test says otherwise. Pods are named as
// PodFromText has it: "a nvidia.com/gpu=1" has the UID "uid-a".
class BinderWorld {
 public:
  explicit BinderWorld(BinderSettings settings = PatientSettings(),
                       std::vector<scheduler::Inventory> nodes = {testing::WholeInventory("n1", 2),
                                                                  testing::WholeInventory("n2", 2)})
      : client(StartClient(PlainConfig(server.Port()), {.qps = 100'000, .burst = 100'000})),
        binder(*client, store, policy, recent_pods, metrics, std::move(settings),
               [this](const BindResult& result) { ended.Add(result); }) {
    store.Update([&](scheduler::Snapshot& next) { next = testing::SnapshotOf(std::move(nodes)); });
  }
  ~BinderWorld() { client->Stop(); }

  void Know(std::string_view pod_text) {
    store.Update([&](scheduler::Snapshot& next) { next.PutPod(testing::PodFromText(pod_text)); });
  }

  std::future<std::string> Bind(const std::string& pod_name, const std::string& node_name) {
    auto promise = std::make_shared<std::promise<std::string>>();
    std::future<std::string> answer = promise->get_future();
    binder.Bind({.pod_name = pod_name,
                 .pod_namespace = "default",
                 .pod_uid = "uid-" + pod_name,
                 .node = node_name},
                [promise](std::string error) { promise->set_value(std::move(error)); });
    return answer;
  }

  static std::string Get(std::future<std::string>& answer) {
    if (answer.wait_for(kKubePatience) == std::future_status::ready) return answer.get();
    ADD_FAILURE() << "no answer";
    return "no answer";
  }

  std::string BindNow(const std::string& pod_name, const std::string& node_name) {
    std::future<std::string> answer = Bind(pod_name, node_name);
    return Get(answer);
  }

  // The record that a bind of the pod to that node writes now.
  scheduler::DeviceRecord RecordFor(std::string_view pod_text, std::string_view node_name) const {
    scheduler::Snapshot copy = *store.Read();
    return Reserve(copy, testing::PodFromText(pod_text), node_name, policy,
                   scheduler::Prefilter::kByKubeScheduler)
        .record;
  }

  // "bound on n1", "pending", "unknown".
  std::string PlaceOf(const std::string& pod_name) const {
    const auto snapshot = store.Read();
    const scheduler::PodEntry* entry = snapshot->FindPod("uid-" + pod_name);
    if (entry == nullptr) return "unknown";
    std::string text(NameOf(entry->phase));
    return entry->node_name.empty() ? text : text + " on " + entry->node_name;
  }

  ApiServer server;
  scheduler::StateStore store;
  scheduler::Policy policy;
  RecentPods recent_pods;
  Metrics metrics{"test", scheduler::Reasons()};

  EndedBindings ended;
  std::unique_ptr<KubeClient> client;
  Binder binder;
};

}  // namespace offcut::api
