// A cluster in memory with the extender's routes on it, and a kube-scheduler that asks them: what a
// test posts goes through the same function as what the listener brings.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/metrics.h"
#include "api/packing_renewal.h"
#include "api/recent_pods.h"
#include "api/routes.h"
#include "api/state_routes.h"
#include "scheduler/policy.h"
#include "scheduler/state_store.h"
#include "test/api/padded_body.h"
#include "test/testing/worlds.h"

namespace offcut::api {

class ExtenderWorld {
 public:
  explicit ExtenderWorld(scheduler::Snapshot snapshot, scheduler::Policy chosen = {})
      : policy(std::move(chosen)) {
    store.Update([&](scheduler::Snapshot& next) { next = std::move(snapshot); });
    RenewPacking(store, policy);
  }

  ExtenderContext Context() {
    return {.store = store,
            .policy = policy,
            .decisions = decisions,
            .recent_pods = recent_pods,
            .metrics = metrics};
  }

  HttpResponse Ask(const HttpRequest& request) {
    HttpResponse answer;
    int answers = 0;
    AnswerExtender(Context(), request, [&](HttpResponse response) {
      answer = std::move(response);
      ++answers;
    });
    EXPECT_EQ(answers, 1);
    return answer;
  }

  HttpResponse Post(std::string_view path, std::string_view body) {
    const PaddedBody padded(body);
    return Ask({.method = "POST",
                .target = path,
                .content_type = "application/json",
                .body = padded.view()});
  }

  // The body of an answer with status 200.
  nlohmann::json Json(std::string_view path, std::string_view body) {
    const HttpResponse answer = Post(path, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return nlohmann::json::parse(answer.body, nullptr, false);
  }

  // All that is known, as text: equal before and after, nothing has changed.
  std::string Dump() const {
    std::string dump;
    for (const std::string_view path : {"/api/v1/nodes", "/api/v1/gpus", "/api/v1/pods"}) {
      dump += AnswerState(*store.Read(), {}, {.method = "GET", .target = path}).body;
    }
    return dump;
  }

  scheduler::StateStore store;
  scheduler::Policy policy;
  DecisionCache decisions{policy};
  RecentPods recent_pods;
  Metrics metrics{"test", scheduler::Reasons()};
};

// The pod as kube-scheduler would send it: limits and requests of its one container.
inline nlohmann::json PodJson(const scheduler::Pod& pod) {
  nlohmann::json resources = nlohmann::json::object();
  for (const auto& [resource, count] : pod.request.devices) {
    resources[resource] = std::to_string(count);
  }
  const nlohmann::json container = {
      {"name", "main"}, {"resources", {{"limits", resources}, {"requests", resources}}}};
  return {
      {"metadata", {{"name", pod.name}, {"namespace", pod.name_space}, {"uid", pod.uid}}},
      {"spec", {{"priority", pod.priority}, {"containers", nlohmann::json::array({container})}}},
      {"status", {{"phase", "Pending"}, {"nominatedNodeName", pod.nominated_node_name}}}};
}

// "train-1 nvidia.com/gpu=2", as testing::PodFromText reads it.
inline nlohmann::json PodJson(std::string_view text) { return PodJson(testing::PodFromText(text)); }

// Bodies of ExtenderArgs in both forms.
inline std::string NamesBody(const nlohmann::json& pod, const std::vector<std::string>& names) {
  return nlohmann::json{{"Pod", pod}, {"Nodes", nullptr}, {"NodeNames", names}}.dump();
}

inline std::string NodesBody(const nlohmann::json& pod, const std::vector<std::string>& names) {
  nlohmann::json items = nlohmann::json::array();
  for (const std::string& name : names) items.push_back({{"metadata", {{"name", name}}}});
  return nlohmann::json{{"Pod", pod},
                        {"Nodes", {{"metadata", nlohmann::json::object()}, {"items", items}}},
                        {"NodeNames", nullptr}}
      .dump();
}

inline std::string BindBody(std::string_view pod_name, std::string_view pod_uid,
                            std::string_view node_name) {
  return nlohmann::json{
      {"PodName", pod_name}, {"PodNamespace", "default"}, {"PodUID", pod_uid}, {"Node", node_name}}
      .dump();
}

}  // namespace offcut::api
