// Plays kube-scheduler towards an extender, one pod after the other: its own filters in brief, then
// filter, prioritize where two or more nodes are left, and bind, all in the form that node names
// take (nodeCacheCapable).
//
// What surprises: of kube-scheduler's own scorers only NodeResourcesFit MostAllocated is played
// (CPU and memory), and equal totals go to the lowest node name, so that a play repeats; the real
// one draws lots. Source: Kubernetes 1.37, pkg/scheduler/{extender,schedule_one}.go.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/error.h"
#include "bench/cluster_objects.h"
#include "bench/played_node.h"

namespace offcut::bench {

// kube-scheduler's default is 5 s; a machine under a debugger or a sanitizer takes longer.
inline constexpr int kExtenderTimeoutMs = 30'000;

// HTTP to one server on the loopback interface, over one connection that is kept alive.
// Not synchronised.
class HttpConnection {
 public:
  explicit HttpConnection(std::uint16_t port);
  ~HttpConnection();
  HttpConnection(HttpConnection&&) noexcept;
  HttpConnection& operator=(HttpConnection&&) noexcept;

  // The answer's body. Errors: no answer, or a status other than 200 (kube-scheduler, too, takes
  // every other status for a failure); kNotFound for 404.
  std::expected<std::string, api::Error> Post(const std::string& path, const std::string& body);
  std::expected<std::string, api::Error> Get(const std::string& path);

 private:
  struct Client;
  std::unique_ptr<Client> client_;
};

// An extender's entry in a KubeSchedulerConfiguration.
struct ExtenderEntry {
  std::set<std::string> managed;  // a pod that names none of these is not sent to the extender
  std::set<std::string> ignored;  // of them: kube-scheduler does not look at these itself
  std::int64_t weight = 1;
};

// Reads the configuration's first extender. Error: there is none, or the file is no configuration.
std::expected<ExtenderEntry, api::Error> ReadExtenderEntry(const std::string& path);

// Whether some container names a managed resource, be it with a quantity of zero.
bool IsInterested(const ExtenderEntry& entry, const nlohmann::json& pod);

// What became of one pod.
struct Played {
  std::string node_name;           // empty: refused everywhere
  std::string refusal;             // why, as the pod's condition would say
  bool extender_is_asked = false;  // false: its own filters left no node, or it is not interested
};

// What the filter answer says of the nodes that were asked about.
struct FilterAnswer {
  std::vector<std::string> feasible;
  std::map<std::string, int> refusals;  // nodes by reason
};

class KubeSchedulerPlayer {
 public:
  // Pods of `cluster` with a node are charged to it; the others are ignored.
  // Errors: a quantity that is none.
  static std::expected<KubeSchedulerPlayer, api::Error> Create(const ClusterObjects& cluster,
                                                               std::uint16_t extender_port,
                                                               ExtenderEntry entry);

  // Errors: a call that failed, or an answer that kube-scheduler would not accept or that leaves a
  // node out.
  std::expected<Played, api::Error> Play(const nlohmann::json& pod);

 private:
  KubeSchedulerPlayer(std::vector<PlayedNode> nodes, std::uint16_t extender_port,
                      ExtenderEntry entry);

  std::expected<FilterAnswer, api::Error> Filter(const nlohmann::json& pod,
                                                 const std::vector<std::string>& node_names);
  std::expected<void, api::Error> Bind(const nlohmann::json& pod, const std::string& node_name);
  std::expected<std::string, api::Error> ChooseNode(const nlohmann::json& pod,
                                                    const ResourceAmounts& requests,
                                                    const std::vector<std::string>& feasible,
                                                    bool asks_extender);

  std::vector<PlayedNode> nodes_;  // by name
  ExtenderEntry entry_;
  HttpConnection extender_;
};

// Errors: not sound, `Error` set, a feasible node that was not asked about, or one that stands in
// no list.
std::expected<FilterAnswer, api::Error> ParseFilterAnswer(const std::string& body,
                                                          const std::vector<std::string>& asked);

// Scores by host, summed where one comes twice, as kube-scheduler does. Error: not an array of Host
// and integer Score.
std::expected<std::map<std::string, std::int64_t>, api::Error> ParsePrioritizeAnswer(
    const std::string& body);

// The body of filter and prioritize.
std::string PrintArgs(const nlohmann::json& pod, const std::vector<std::string>& node_names);

}  // namespace offcut::bench
