#include "test/testing/api_server.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace offcut {
namespace {

constexpr std::chrono::seconds kPatience{30};

}  // namespace

ApiServer::~ApiServer() {
  const std::lock_guard lock(mutex_);
  is_ending_ = true;
  changed_.notify_all();
}

void ApiServer::On(const std::string& what, std::vector<ApiStep> steps) {
  const std::lock_guard lock(mutex_);
  steps_[what] = {std::make_move_iterator(steps.begin()), std::make_move_iterator(steps.end())};
}

std::vector<PeerRequest> ApiServer::WaitForRequests(std::string_view method, std::size_t count) {
  std::unique_lock lock(mutex_);
  std::vector<PeerRequest> found;
  changed_.wait_for(lock, kPatience, [&] {
    found.clear();
    std::ranges::copy_if(requests_, std::back_inserter(found),
                         [&](const PeerRequest& request) { return request.method == method; });
    return found.size() >= count;
  });
  return found;
}

std::size_t ApiServer::Count(std::string_view method) { return WaitForRequests(method, 0).size(); }

void ApiServer::Push(const std::string& kind, std::string bytes) {
  const std::lock_guard lock(mutex_);
  pushed_[kind].push_back(std::move(bytes));
  changed_.notify_all();
}

void ApiServer::Serve(Peer& peer) {
  while (const auto request = peer.ReadRequest()) {
    for (const std::string kind : {"nodes", "pods", "resourcequotas", "poddisruptionbudgets"}) {
      const std::string group = kind == "poddisruptionbudgets" ? "/apis/policy/v1/" : "/api/v1/";
      if (request->target.starts_with(group + kind + "?watch")) {
        return ServeWatch(peer, kind);
      }
    }
    if (!Answer(peer, Take(*request))) return;
  }
}

ApiStep ApiServer::Take(const PeerRequest& request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(request);
  changed_.notify_all();
  auto steps = steps_.find(request.method + " " + request.target);
  if (steps == steps_.end()) steps = steps_.find(request.method);
  if (steps == steps_.end()) return {.reply = Reply(404, StatusBody(404, "NotFound", "no such"))};
  ApiStep step = steps->second.front();
  if (steps->second.size() > 1) steps->second.pop_front();
  return step;
}

bool ApiServer::Answer(Peer& peer, const ApiStep& step) {
  if (step.once.valid()) step.once.wait_for(kPatience);
  peer.Send(step.reply);
  if (step.then == kHold) peer.WaitForClose();
  return step.then == ApiStep::Then::kGoOn;
}

bool ApiServer::WaitForWatches(const std::string& kind, int count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kPatience, [&] { return watches_[kind] >= count; });
}

void ApiServer::ServeWatch(Peer& peer, const std::string& kind) {
  int ours = 0;
  {
    const std::lock_guard lock(mutex_);
    ours = ++watches_[kind];
    changed_.notify_all();
  }
  for (;;) {
    std::string bytes;
    {
      std::unique_lock lock(mutex_);
      std::deque<std::string>& pushed = pushed_[kind];
      const auto is_old = [&] { return watches_[kind] != ours; };
      changed_.wait(lock, [&] { return is_ending_ || is_old() || !pushed.empty(); });
      if (is_ending_ || is_old()) return;
      bytes = std::move(pushed.front());
      pushed.pop_front();
    }
    if (bytes.empty()) return;
    peer.Send(bytes);
  }
}

std::string WatchEventLine(std::string_view type, std::string_view object) {
  return Chunk(fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object));
}

std::string WatchList(const std::vector<std::string>& objects) {
  std::string text = ChunkedHead();
  for (const std::string& object : objects) text += WatchEventLine("ADDED", object);
  return text + WatchEventLine("BOOKMARK", R"({"metadata":{"resourceVersion":"1","annotations":)"
                                           R"({"k8s.io/initial-events-end":"true"}}})");
}

std::string StatusBody(int code, std::string_view reason, std::string_view message) {
  return nlohmann::json{{"kind", "Status"},
                        {"status", "Failure"},
                        {"code", code},
                        {"reason", reason},
                        {"message", message}}
      .dump();
}

}  // namespace offcut
