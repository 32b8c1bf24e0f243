#include "bench/kube_scheduler_player.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <httplib.h>

namespace offcut::bench {
namespace {

using api::Error;
using api::ErrorKind;
using nlohmann::json;

// What a step of an extender's 0..10 counts on kube-scheduler's own scale of 0..100.
constexpr std::int64_t kExtenderScoreFactor = 10;

std::unexpected<Error> BadAnswer(std::string_view verb, std::string_view problem) {
  return std::unexpected(
      Error{ErrorKind::kBadRequest, fmt::format("answer to {}: {}", verb, problem)});
}

std::expected<std::string, Error> BodyOf(const httplib::Result& result, std::string_view method,
                                         const std::string& path) {
  if (!result) {
    return std::unexpected(
        Error{ErrorKind::kUnavailable,
              fmt::format("{} {}: {}", method, path, httplib::to_string(result.error()))});
  }
  if (result->status != 200) {
    const ErrorKind kind = result->status == 404 ? ErrorKind::kNotFound : ErrorKind::kBadRequest;
    return std::unexpected(
        Error{kind, fmt::format("{} {}: status {}", method, path, result->status)});
  }
  return result->body;
}

// Kinds and versions are absent in what kube-scheduler sends.
json PodOnTheWire(const json& pod) {
  json sent = pod;
  sent.erase("kind");
  sent.erase("apiVersion");
  return sent;
}

// Adds one to the reason of each entry, and takes the node out of `asked`.
void CountRefusals(const json& failed, std::set<std::string>& asked,
                   std::map<std::string, int>& refusals) {
  if (!failed.is_object()) return;
  for (const auto& [node, reason] : failed.items()) {
    if (asked.erase(node) == 0) continue;
    ++refusals[reason.is_string() ? reason.get<std::string>() : std::string()];
  }
}

}  // namespace

struct HttpConnection::Client {
  httplib::Client http;
};

HttpConnection::HttpConnection(std::uint16_t port)
    : client_(std::make_unique<Client>(Client{httplib::Client("127.0.0.1", port)})) {
  client_->http.set_keep_alive(true);
  client_->http.set_tcp_nodelay(true);
  client_->http.set_connection_timeout(std::chrono::milliseconds(kExtenderTimeoutMs));
  client_->http.set_read_timeout(std::chrono::milliseconds(kExtenderTimeoutMs));
  client_->http.set_write_timeout(std::chrono::milliseconds(kExtenderTimeoutMs));
}

HttpConnection::~HttpConnection() = default;
HttpConnection::HttpConnection(HttpConnection&&) noexcept = default;
HttpConnection& HttpConnection::operator=(HttpConnection&&) noexcept = default;

std::expected<std::string, Error> HttpConnection::Post(const std::string& path,
                                                       const std::string& body) {
  return BodyOf(client_->http.Post(path, body, "application/json"), "POST", path);
}

std::expected<std::string, Error> HttpConnection::Get(const std::string& path) {
  return BodyOf(client_->http.Get(path), "GET", path);
}

std::string PrintArgs(const json& pod, const std::vector<std::string>& node_names) {
  const json args = {{"Pod", PodOnTheWire(pod)}, {"Nodes", nullptr}, {"NodeNames", node_names}};
  return args.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::expected<FilterAnswer, Error> ParseFilterAnswer(const std::string& body,
                                                     const std::vector<std::string>& asked) {
  const json answer = json::parse(body, nullptr, false);
  if (!answer.is_object()) return BadAnswer("filter", "not a JSON object");
  if (const std::string error = StringAt(answer, {"Error"}); !error.empty()) {
    return BadAnswer("filter", error);
  }
  FilterAnswer parsed;
  std::set<std::string> unseen(asked.begin(), asked.end());
  const json& names = MemberAt(answer, {"NodeNames"});
  if (names.is_array()) {
    for (const json& name : names) {
      if (!name.is_string() || unseen.erase(name.get<std::string>()) == 0) {
        return BadAnswer("filter", fmt::format("node {} was not asked about", name.dump()));
      }
      parsed.feasible.push_back(name.get<std::string>());
    }
  }
  CountRefusals(MemberAt(answer, {"FailedNodes"}), unseen, parsed.refusals);
  CountRefusals(MemberAt(answer, {"FailedAndUnresolvableNodes"}), unseen, parsed.refusals);
  if (!unseen.empty()) {
    return BadAnswer("filter", fmt::format("node {} stands in no list", *unseen.begin()));
  }
  return parsed;
}

std::expected<std::map<std::string, std::int64_t>, Error> ParsePrioritizeAnswer(
    const std::string& body) {
  const json answer = json::parse(body, nullptr, false);
  if (!answer.is_array()) return BadAnswer("prioritize", "not a JSON array");
  std::map<std::string, std::int64_t> scores;
  for (const json& entry : answer) {
    const json& score = MemberAt(entry, {"Score"});
    if (!score.is_number_integer()) return BadAnswer("prioritize", "a score is no integer");
    scores[StringAt(entry, {"Host"})] += score.get<std::int64_t>();
  }
  return scores;
}

std::expected<ExtenderEntry, Error> ReadExtenderEntry(const std::string& path) {
  const auto documents = ReadDocuments(path);
  if (!documents) return std::unexpected(documents.error());
  for (const json& document : *documents) {
    const json& extenders = MemberAt(document, {"extenders"});
    if (!extenders.is_array() || extenders.empty()) continue;
    ExtenderEntry entry;
    for (const json& resource : MemberAt(extenders.front(), {"managedResources"})) {
      const std::string name = StringAt(resource, {"name"});
      entry.managed.insert(name);
      if (MemberAt(resource, {"ignoredByScheduler"}) == true) entry.ignored.insert(name);
    }
    const json& weight = MemberAt(extenders.front(), {"weight"});
    if (weight.is_number_integer()) entry.weight = weight.get<std::int64_t>();
    return entry;
  }
  return std::unexpected(
      Error{ErrorKind::kBadRequest, fmt::format("{}: has no `extenders`", path)});
}

bool IsInterested(const ExtenderEntry& entry, const json& pod) {
  for (const std::string_view containers : {"initContainers", "containers"}) {
    for (const json& container : MemberAt(pod, {"spec", containers})) {
      for (const std::string_view list : {"requests", "limits"}) {
        for (const auto& [resource, amount] : MemberAt(container, {"resources", list}).items()) {
          if (entry.managed.contains(resource)) return true;
        }
      }
    }
  }
  return false;
}

KubeSchedulerPlayer::KubeSchedulerPlayer(std::vector<PlayedNode> nodes, std::uint16_t extender_port,
                                         ExtenderEntry entry)
    : nodes_(std::move(nodes)), entry_(std::move(entry)), extender_(extender_port) {}

std::expected<KubeSchedulerPlayer, Error> KubeSchedulerPlayer::Create(const ClusterObjects& cluster,
                                                                      std::uint16_t extender_port,
                                                                      ExtenderEntry entry) {
  std::vector<PlayedNode> nodes;
  nodes.reserve(cluster.nodes.size());
  for (const json& node : cluster.nodes) {
    auto played = PlayedNodeOf(node);
    if (!played) return std::unexpected(played.error());
    nodes.push_back(*std::move(played));
  }
  std::ranges::sort(nodes, {}, &PlayedNode::name);
  for (const json& pod : cluster.pods) {
    const std::string node_name = StringAt(pod, {"spec", "nodeName"});
    const auto node = std::ranges::find(nodes, node_name, &PlayedNode::name);
    if (node == nodes.end()) continue;
    const auto requests = RequestsOf(pod);
    if (!requests) return std::unexpected(requests.error());
    Charge(*node, *requests);
  }
  return KubeSchedulerPlayer(std::move(nodes), extender_port, std::move(entry));
}

std::expected<FilterAnswer, Error> KubeSchedulerPlayer::Filter(
    const json& pod, const std::vector<std::string>& node_names) {
  const auto body = extender_.Post("/v1/filter", PrintArgs(pod, node_names));
  if (!body) return std::unexpected(body.error());
  return ParseFilterAnswer(*body, node_names);
}

// As kube-scheduler: nobody scores where one node is left.
std::expected<std::string, Error> KubeSchedulerPlayer::ChooseNode(
    const json& pod, const ResourceAmounts& requests, const std::vector<std::string>& feasible,
    bool asks_extender) {
  if (feasible.size() == 1) return feasible.front();
  std::map<std::string, std::int64_t> scores;
  if (asks_extender) {
    const auto body = extender_.Post("/v1/prioritize", PrintArgs(pod, feasible));
    if (!body) return std::unexpected(body.error());
    auto parsed = ParsePrioritizeAnswer(*body);
    if (!parsed) return std::unexpected(parsed.error());
    scores = *std::move(parsed);
  }
  const auto total = [&](const std::string& name) {
    return scores[name] * entry_.weight * kExtenderScoreFactor +
           MostAllocatedScore(*std::ranges::find(nodes_, name, &PlayedNode::name), requests);
  };
  std::vector<std::string> names = feasible;
  std::ranges::sort(names);  // max_element returns the first of equals
  return *std::ranges::max_element(names, {}, total);
}

std::expected<void, Error> KubeSchedulerPlayer::Bind(const json& pod,
                                                     const std::string& node_name) {
  const std::string name_space = StringAt(pod, {"metadata", "namespace"});
  const json args = {{"PodName", StringAt(pod, {"metadata", "name"})},
                     {"PodNamespace", name_space.empty() ? "default" : name_space},
                     {"PodUID", StringAt(pod, {"metadata", "uid"})},
                     {"Node", node_name}};
  const auto body = extender_.Post("/v1/bind", args.dump());
  if (!body) return std::unexpected(body.error());
  const json answer = json::parse(*body, nullptr, false);
  if (!answer.is_object()) return BadAnswer("bind", "not a JSON object");
  if (const std::string error = StringAt(answer, {"Error"}); !error.empty()) {
    return BadAnswer("bind", error);
  }
  return {};
}

std::expected<Played, Error> KubeSchedulerPlayer::Play(const json& pod) {
  const auto requests = RequestsOf(pod);
  if (!requests) return std::unexpected(requests.error());
  std::vector<std::string> feasible;
  std::map<std::string, int> refusals;
  for (const PlayedNode& node : nodes_) {
    const std::vector<std::string> reasons = InTreeRefusals(node, pod, *requests, entry_.ignored);
    if (reasons.empty()) feasible.push_back(node.name);
    for (const std::string& reason : reasons) ++refusals[reason];
  }
  Played played{.extender_is_asked = !feasible.empty() && IsInterested(entry_, pod)};
  if (played.extender_is_asked) {
    auto answer = Filter(pod, feasible);
    if (!answer) return std::unexpected(answer.error());
    for (const auto& [reason, count] : answer->refusals) refusals[reason] += count;
    feasible = std::move(answer->feasible);
  }
  if (feasible.empty()) {
    played.refusal = PrintFitError(nodes_.size(), refusals);
    return played;
  }
  auto node_name = ChooseNode(pod, *requests, feasible, played.extender_is_asked);
  if (!node_name) return std::unexpected(node_name.error());
  played.node_name = *std::move(node_name);
  if (played.extender_is_asked) {
    const auto bound = Bind(pod, played.node_name);
    if (!bound) return std::unexpected(bound.error());
  }
  Charge(*std::ranges::find(nodes_, played.node_name, &PlayedNode::name), *requests);
  return played;
}

}  // namespace offcut::bench
