// A client of a scripted server, and calls that wait for their answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "api/kube_client.h"

namespace offcut {

inline constexpr std::chrono::seconds kKubePatience{30};

inline api::KubeConfig PlainConfig(std::uint16_t port) {
  api::KubeConfig config;
  config.tls = false;
  config.host = "127.0.0.1";
  config.port = port;
  return config;
}

inline std::unique_ptr<api::KubeClient> StartClient(api::KubeConfig config,
                                                    api::KubeClientSettings settings = {}) {
  auto client = api::KubeClient::Start(std::move(config), settings);
  EXPECT_TRUE(client.has_value()) << client.error().message;
  return *std::move(client);
}

inline std::future<api::KubeResult> Begin(api::KubeClient& client, api::KubeRequest request) {
  auto promise = std::make_shared<std::promise<api::KubeResult>>();
  std::future<api::KubeResult> future = promise->get_future();
  client.Call(std::move(request),
              [promise](api::KubeResult result) { promise->set_value(std::move(result)); });
  return future;
}

inline api::KubeResult WaitFor(std::future<api::KubeResult>& future) {
  if (future.wait_for(kKubePatience) == std::future_status::ready) return future.get();
  ADD_FAILURE() << "no answer";
  return std::unexpected(api::KubeError{.may_have_acted = false, .message = "no answer"});
}

inline api::KubeResult Ask(api::KubeClient& client, api::KubeRequest request) {
  std::future<api::KubeResult> future = Begin(client, std::move(request));
  return WaitFor(future);
}

inline api::KubeRequest Get(std::string target) {
  api::KubeRequest request;
  request.target = std::move(target);
  return request;
}

inline api::KubeRequest Post(std::string target, std::string body) {
  api::KubeRequest request;
  request.method = "POST";
  request.target = std::move(target);
  request.content_type = "application/json";
  request.body = std::move(body);
  request.limit = api::KubeLimit::kBindings;
  return request;
}

}  // namespace offcut
