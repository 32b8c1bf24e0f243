// Replays what real kube-schedulers sent, in order, against the cluster that they saw, and pins the
// whole answer of every request in test/data/golden/<set>.txt. Binds count: what a set binds and
// deletes is the state that the next request meets.
//
// A golden file has a block for each request: its name, the pod, a line for each node in the order
// of the request (what filter said and why, the score, the victims kept), and the body itself. In
// a body, a full node is written <its name> once its bytes have been found to be those of the
// request. At the end stands what is left on each node.
//
// OFFCUT_UPDATE_GOLDEN=1 writes the files anew.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/extender_reader.h"
#include "api/object_files.h"
#include "test/api/extender_world.h"
#include "test/api/text_files.h"

namespace offcut::api {
namespace {

using nlohmann::json;

std::string CodeOf(std::string_view text) {
  for (const auto& info : scheduler::Reasons()) {
    if (info.text == text) return std::string(info.code);
  }
  return "(no reason of ours) " + std::string(text);
}

// "034-deleted-whole-eight.json" is of kind "deleted".
std::string KindOf(const std::string& name) {
  const std::size_t begin = name.find('-') + 1;
  return name.substr(begin, name.find('-', begin) - begin);
}

std::string PodOf(const json& request) {
  if (request.contains("PodName")) {
    return request["PodNamespace"].get<std::string>() + "/" + request["PodName"].get<std::string>();
  }
  const json& pod = request.contains("Pod") ? request["Pod"]["metadata"] : request;
  return pod["namespace"].get<std::string>() + "/" + pod["name"].get<std::string>();
}

std::vector<std::string> NodesOf(const json& request) {
  if (request["NodeNames"].is_array()) return request["NodeNames"];
  std::vector<std::string> names;
  for (const json& item : request["Nodes"]["items"]) names.push_back(item["metadata"]["name"]);
  return names;
}

// Puts <name> in place of each full node that the answer hands back as it came.
std::string WithNamesForNodes(std::string body, std::string_view request) {
  ExtenderReader reader;
  const PaddedBody padded(request);
  const auto args = reader.ReadArgs(padded.view());
  if (!args || !args->nodes) return body;
  for (std::size_t i = 0; i < args->nodes->items.size(); ++i) {
    const std::string item(args->nodes->items[i]);
    const std::size_t at = body.find(item);
    if (at != std::string::npos) body.replace(at, item.size(), "<" + args->nodes->names[i] + ">");
  }
  return body;
}

void DescribeFilter(const json& request, const json& answer, std::ostream& out) {
  const auto nodes = NodesOf(request);
  const auto kept = answer["Error"] == "" ? NodesOf(answer) : std::vector<std::string>();
  for (const std::string& node : nodes) {
    int places = 0;
    if (std::ranges::count(kept, node) > 0) {
      out << "  " << node << ": fits\n";
      ++places;
    }
    for (const std::string map : {"FailedNodes", "FailedAndUnresolvableNodes"}) {
      if (!answer[map].contains(node)) continue;
      out << "  " << node << ": " << CodeOf(answer[map][node].get<std::string>()) << " (" << map
          << ")\n";
      ++places;
    }
    EXPECT_EQ(places, 1) << node;
  }
  EXPECT_EQ(answer["Error"], "");
}

void DescribePrioritize(const json& request, const json& answer, std::ostream& out) {
  EXPECT_EQ(answer.size(), NodesOf(request).size());
  for (const json& entry : answer) {
    out << "  " << entry["Host"].get<std::string>() << ": " << entry["Score"] << "\n";
  }
}

void DescribePreempt(const json& request, const json& answer, std::ostream& out) {
  const json& candidates = request["NodeNameToMetaVictims"].is_null()
                               ? request["NodeNameToVictims"]
                               : request["NodeNameToMetaVictims"];
  for (const auto& [node, victims] : candidates.items()) {
    out << "  " << node << ": " << victims["Pods"].size() << " victims offered, ";
    const json& kept = answer["NodeNameToMetaVictims"];
    if (!kept.contains(node)) {
      out << "left out\n";
      continue;
    }
    out << kept[node]["Pods"].size() << " kept, " << kept[node]["NumPDBViolations"]
        << " disruption budgets violated\n";
    EXPECT_EQ(kept[node]["NumPDBViolations"], victims["NumPDBViolations"]);
  }
}

// What is on each node after the last request.
void DescribeState(const scheduler::Snapshot& snapshot, std::ostream& out) {
  out << "at the end\n";
  for (const auto& node : snapshot.nodes()) {
    out << "  " << node->name() << ": " << UsedUnits(node->state) << " of "
        << TotalUnits(node->state) << " units of a GPU;";
    std::vector<std::string> pods;
    for (const scheduler::Holder& holder : node->holders) {
      pods.push_back(holder.pod->name_space + "/" + holder.pod->name +
                     (holder.is_unplaced ? " (without room)" : ""));
    }
    std::ranges::sort(pods);
    for (const std::string& pod : pods) out << ' ' << pod;
    out << "\n";
  }
}

void Describe(const std::string& kind, const std::string& request_text, const HttpResponse& answer,
              std::ostream& out) {
  const json request = json::parse(request_text);
  const json answered = json::parse(answer.body);
  EXPECT_EQ(answer.status, 200);
  if (kind == "filter") DescribeFilter(request, answered, out);
  if (kind == "prioritize") DescribePrioritize(request, answered, out);
  if (kind == "preempt") DescribePreempt(request, answered, out);
  if (kind == "bind") {
    const std::string error = answered["Error"];
    out << "  " << request["Node"].get<std::string>() << ": "
        << (error.empty() ? "bound" : CodeOf(error)) << "\n";
  }
  out << "  body " << WithNamesForNodes(answer.body, request_text) << "\n";
}

scheduler::Snapshot ClusterBefore(const std::string& set) {
  const std::string file = DataPath("recorded/" + set + "/nodes-before.json");
  ObjectSet objects;
  const auto read = ReadObjects(ReadTextFile(file), file, {}, objects);
  EXPECT_TRUE(read && objects.problems.empty());
  scheduler::Snapshot snapshot;
  for (auto& inventory : objects.nodes) snapshot.PutNode(std::move(inventory));
  return snapshot;
}

std::string Replay(const std::string& set, ExtenderWorld& world) {
  std::ostringstream out;
  for (const auto& path : RecordedRequests(set)) {
    const std::string name = path.stem();
    const std::string kind = KindOf(name);
    const std::string text = ReadTextFile(path);
    SCOPED_TRACE(std::string(set).append("/").append(name));
    const json request = json::parse(text);
    out << name << "  " << PodOf(request) << "\n";
    if (kind == "deleted") {
      world.store.Update(
          [&](scheduler::Snapshot& next) { next.RemovePod(request["uid"].get<std::string>()); });
    } else {
      Describe(kind, text, world.Post("/v1/" + kind, text), out);
    }
    out << "\n";
  }
  DescribeState(*world.store.Read(), out);
  return std::move(out).str();
}

std::string Replay(const std::string& set) {
  ExtenderWorld world(ClusterBefore(set));
  return Replay(set, world);
}

// "NODE NAMESPACE/NAME" of the pods that are on a node.
std::set<std::string> PodsAtTheEnd(const scheduler::Snapshot& snapshot) {
  std::set<std::string> pods;
  snapshot.ForEachPod([&](const scheduler::PodEntry& entry) {
    if (entry.node_name.empty()) return;
    pods.insert(entry.node_name + " " + entry.pod->name_space + "/" + entry.pod->name);
  });
  return pods;
}

std::set<std::string> RecordedPodsAtTheEnd(const std::string& set) {
  const json list =
      json::parse(ReadTextFile(DataPath("recorded/" + set + "/nodes-pods-after.json")));
  // These ask for no device, so kube-scheduler bound them without us.
  const std::set<std::string> others = {"best-effort", "cpu-only"};
  std::set<std::string> pods;
  for (const json& item : list["items"]) {
    if (item["kind"] != "Pod" || !item["spec"].contains("nodeName")) continue;
    const std::string name = item["metadata"]["name"];
    if (others.contains(name)) continue;
    pods.insert(item["spec"]["nodeName"].get<std::string>() + " " +
                item["metadata"]["namespace"].get<std::string>() + "/" + name);
  }
  return pods;
}

class RecordedReplayTest : public ::testing::TestWithParam<std::string> {};

TEST_P(RecordedReplayTest, EveryRequestGetsTheAnswerThatIsPinned) {
  const std::filesystem::path golden = DataPath("golden/" + GetParam() + ".txt");
  const std::string replayed = Replay(GetParam());
  if (const char* update = std::getenv("OFFCUT_UPDATE_GOLDEN");
      update != nullptr && std::string_view(update) == "1") {
    std::filesystem::create_directories(golden.parent_path());
    std::ofstream(golden, std::ios::binary) << replayed;
  }
  // Line by line: a difference in a body of kilobytes is found by its block.
  std::istringstream expected(ReadTextFile(golden));
  std::istringstream actual(replayed);
  std::string expected_line;
  std::string actual_line;
  std::string block;
  while (std::getline(expected, expected_line)) {
    ASSERT_TRUE(std::getline(actual, actual_line)) << "ends after block " << block;
    if (!expected_line.empty() && expected_line.front() != ' ') block = expected_line;
    EXPECT_EQ(actual_line, expected_line) << "in block " << block;
  }
  EXPECT_FALSE(std::getline(actual, actual_line)) << "goes on after block " << block;
}

// A second replay gives the same bytes: no answer depends on addresses, time or the order of maps.
TEST_P(RecordedReplayTest, EveryReplayGivesTheSameBytes) {
  EXPECT_EQ(Replay(GetParam()), Replay(GetParam()));
}

// The recording extender bound three pods that we refuse: two fractions on the node that HAMi runs,
// and one whose init container wants two slots of an MPS node, whose device plugin would fail it.
TEST_P(RecordedReplayTest, EndsWithThePodsOfTheClusterButForTheRefusedBinds) {
  ExtenderWorld world(ClusterBefore(GetParam()));
  Replay(GetParam(), world);
  std::set<std::string> pods = PodsAtTheEnd(*world.store.Read());
  for (const std::string refused :
       {"v100-fraction-1 default/fraction", "v100-fraction-1 default/fraction-percent",
        "l40s-mps-1 default/init-and-sidecar"}) {
    EXPECT_TRUE(pods.insert(refused).second) << refused;
  }
  EXPECT_EQ(pods, RecordedPodsAtTheEnd(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Sets, RecordedReplayTest,
                         ::testing::Values("v1.34.4-names", "v1.34.4-nodes", "v1.37.2-names",
                                           "v1.37.2-nodes"),
                         [](const auto& param_info) {
                           std::string name = param_info.param;
                           std::ranges::replace_if(
                               name, [](char c) { return c == '.' || c == '-'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace offcut::api
