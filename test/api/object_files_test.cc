#include "api/object_files.h"

#include <string>

#include <gtest/gtest.h>

#include "test/api/inventory_text.h"
#include "test/api/object_text.h"

namespace offcut::api {
namespace {

using testing::InventoryText;

const std::string kDirectory =
    std::string(OFFCUT_SOURCE_DIR) + "/test/data/recorded/v1.37.2-names/";

// "nodes n1 n2; pods p; 2 problems; 1 ignored", or the error.
std::string Summary(std::string_view text, ObjectSet* set_out = nullptr) {
  ObjectSet set;
  const auto read = ReadObjects(text, "f", {}, set);
  if (!read) return "error: " + read.error().message;
  std::string summary = "nodes";
  for (const scheduler::Inventory& node : set.nodes) summary += " " + node.name;
  summary += "; pods";
  for (const scheduler::Pod& pod : set.pods) summary += " " + pod.name;
  summary += "; " + std::to_string(set.problems.size()) + " problems; " +
             std::to_string(set.ignored) + " ignored";
  if (set_out != nullptr) *set_out = std::move(set);
  return summary;
}

constexpr std::string_view kNode1 =
    R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})";
constexpr std::string_view kPod1 =
    R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p1", "uid": "u1"}})";

std::string Join(std::string_view a, std::string_view separator, std::string_view b) {
  return std::string(a).append(separator).append(b);
}

TEST(ObjectFilesTest, ReadsOneObject) {
  EXPECT_EQ(Summary(kNode1), "nodes n1; pods; 0 problems; 0 ignored");
}

TEST(ObjectFilesTest, ReadsAStreamOfObjectsWithAndWithoutBlanksBetween) {
  EXPECT_EQ(Summary(Join(kNode1, "", kPod1)), "nodes n1; pods p1; 0 problems; 0 ignored");
  EXPECT_EQ(Summary(Join(kNode1, "\n\n", kPod1) + "\n"),
            "nodes n1; pods p1; 0 problems; 0 ignored");
}

TEST(ObjectFilesTest, ReadsLists) {
  EXPECT_EQ(Summary(R"({"kind": "List", "items": [)" + Join(kNode1, ",", kPod1) + "]}"),
            "nodes n1; pods p1; 0 problems; 0 ignored");
  EXPECT_EQ(Summary(R"({"kind": "NodeList", "items": [{"metadata": {"name": "n2"}}]})"),
            "nodes n2; pods; 0 problems; 0 ignored");
  EXPECT_EQ(Summary(R"({"kind": "PodList", "items": [{"metadata": {"name": "p", "uid": "u"}}]})"),
            "nodes; pods p; 0 problems; 0 ignored");
  EXPECT_EQ(Summary(R"({"kind": "List", "items": null})"), "nodes; pods; 0 problems; 0 ignored");
}

TEST(ObjectFilesTest, ReadsYamlDocumentsAndLists) {
  EXPECT_EQ(Summary("---\nkind: Node\nmetadata:\n  name: n1\n---\nkind: PodList\nitems:\n"
                    "- metadata: {name: p1, uid: u1}\n---\n"),
            "nodes n1; pods p1; 0 problems; 0 ignored");
}

TEST(ObjectFilesTest, SkipsAByteOrderMark) {
  EXPECT_EQ(Summary(Join("\xEF\xBB\xBF", "", kNode1)), "nodes n1; pods; 0 problems; 0 ignored");
}

TEST(ObjectFilesTest, CountsOtherKindsAndIgnoresThem) {
  EXPECT_EQ(Summary(Join(R"({"kind": "Service", "apiVersion": "v1"})", " ",
                         R"({"kind": "Node", "apiVersion": "management.example.com/v3"})")),
            "nodes; pods; 0 problems; 2 ignored");
}

TEST(ObjectFilesTest, ReportsAnUnreadableObjectAndKeepsTheOthers) {
  ObjectSet set;
  EXPECT_EQ(Summary(R"({"kind": "List", "items": [)" + Join(kNode1, ",", kPod1) + R"(,
      {"kind": "Node", "metadata": {"name": "bad"},
       "status": {"allocatable": {"nvidia.com/gpu": "-1"}}},
      {"kind": "Pod", "metadata": {"name": "lost", "namespace": "ns"}},
      7, {"metadata": {"name": "what"}},
      {"kind": "Node", "metadata": {"name": "n2"}}]})",
                    &set),
            "nodes n1 n2; pods p1; 4 problems; 0 ignored");
  ASSERT_EQ(set.problems.size(), 4U);
  EXPECT_EQ(set.problems[0].file, "f");
  EXPECT_EQ(set.problems[0].index, 2U);
  EXPECT_EQ(set.problems[0].kind, "Node");
  EXPECT_EQ(set.problems[0].name, "bad");
  EXPECT_EQ(set.problems[0].error.message,
            "status.allocatable[\"nvidia.com/gpu\"]: must be a whole number and not negative");
  EXPECT_EQ(set.problems[1].index, 3U);
  EXPECT_EQ(set.problems[1].name, "ns/lost");
  EXPECT_EQ(set.problems[2].error.message, "must be an object");
  EXPECT_EQ(set.problems[3].error.message, "kind: is missing");
  EXPECT_EQ(set.problems[3].index, 5U);
}

TEST(ObjectFilesTest, KeepsTheFirstOfTwoObjectsWithOneIdentity) {
  ObjectSet set;
  EXPECT_EQ(Summary(Join(kNode1, "", kNode1) + Join(kPod1, "", kPod1), &set),
            "nodes n1; pods p1; 2 problems; 0 ignored");
  EXPECT_EQ(set.problems[0].error.kind, ErrorKind::kConflict);
}

TEST(ObjectFilesTest, RefusesAFileThatIsNeitherJsonNorYaml) {
  EXPECT_EQ(Summary(""), "error: f: is empty");
  EXPECT_EQ(Summary(" \n"), "error: f: is empty");
  EXPECT_EQ(Summary("---\n"), "error: f: has no objects");
  EXPECT_EQ(Summary("hello"), "error: f: is neither a JSON nor a YAML object");
  EXPECT_EQ(Summary("[1]"), "error: f: JSON document 1 is no object");
  EXPECT_EQ(Summary("{\"a\": "), "error: f: JSON document 1 is cut off");
  EXPECT_TRUE(Summary("{\"a\": tru}").starts_with("error: f: JSON document 1 is no valid JSON: "));
  EXPECT_EQ(Summary(Join(kNode1, "", "x")), "error: f: JSON document 2 is no object");
  EXPECT_TRUE(Summary("a: [").starts_with("error: f: line "));
  EXPECT_TRUE(Summary("\xff\xfe\x01").starts_with("error: f: "));
  // Brackets in strings are no brackets.
  EXPECT_EQ(Summary(R"({"kind": "}\"{]"})"), "nodes; pods; 0 problems; 1 ignored");
}

TEST(ObjectFilesTest, NamesAFileThatCannotBeOpened) {
  const std::string path = "/does/not/exist";
  const auto read = ReadObjectFiles(std::vector<std::string>{path}, {});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(read.error().message, "/does/not/exist: No such file or directory");
  EXPECT_FALSE(ReadObjectFiles(std::vector<std::string>{OFFCUT_SOURCE_DIR}, {}));
}

std::string PodText(const scheduler::Pod& pod) {
  std::string text = pod.name_space + "/" + pod.name + " " + pod.uid + " on " + pod.node_name +
                     " at " + std::to_string(pod.created_s) + " prio " +
                     std::to_string(pod.priority) + (pod.has_soft_constraints ? " soft" : "");
  for (const scheduler::ResourceCount& each : pod.request.devices) {
    text += " " + each.resource + "=" + std::to_string(each.count);
  }
  for (const binpack::Fraction& each : pod.request.fractions) {
    text += " " + std::to_string(each.gpus) + "x(" + std::to_string(each.memory_mib) + " MiB, " +
            std::to_string(each.memory_percent) + "%, cores " + std::to_string(each.cores_percent) +
            "%)";
  }
  text += " cpu " + std::to_string(pod.host.cpu_milli) + "m memory " +
          std::to_string(pod.host.memory_bytes);
  return text;
}

TEST(ObjectFilesTest, ReadsTheSameFromJsonAndYaml) {
  const auto json =
      ReadObjectFiles(std::vector<std::string>{kDirectory + "nodes-pods-after.json"}, {});
  const auto yaml =
      ReadObjectFiles(std::vector<std::string>{kDirectory + "nodes-pods-after.yaml"}, {});
  ASSERT_TRUE(json) << json.error().message;
  ASSERT_TRUE(yaml) << yaml.error().message;
  EXPECT_TRUE(json->problems.empty());
  EXPECT_TRUE(yaml->problems.empty());
  ASSERT_EQ(json->nodes.size(), 12U);
  ASSERT_EQ(json->pods.size(), 21U);
  ASSERT_EQ(yaml->nodes.size(), json->nodes.size());
  ASSERT_EQ(yaml->pods.size(), json->pods.size());
  for (std::size_t i = 0; i < json->nodes.size(); ++i) {
    EXPECT_EQ(InventoryText(json->nodes[i]), InventoryText(yaml->nodes[i]));
    EXPECT_EQ(json->nodes[i].devices.allocatable, yaml->nodes[i].devices.allocatable);
  }
  for (std::size_t i = 0; i < json->pods.size(); ++i) {
    EXPECT_EQ(PodText(json->pods[i]), PodText(yaml->pods[i]));
    EXPECT_EQ(json->pods[i].request, yaml->pods[i].request);
  }
}

TEST(ObjectFilesTest, ReadsTheRecordedPods) {
  const auto set =
      ReadObjectFiles(std::vector<std::string>{kDirectory + "nodes-pods-after.json"}, {});
  ASSERT_TRUE(set) << set.error().message;
  const auto text = [&](std::string_view name) -> std::string {
    for (const scheduler::Pod& pod : set->pods) {
      // Without the UID and the time, which say nothing here.
      if (pod.name == name) {
        const std::string whole = PodText(pod);
        return pod.node_name + whole.substr(whole.find(" prio "));
      }
    }
    return "not found";
  };
  EXPECT_EQ(text("affinity"), "l40s-mps-1 prio 0 soft nvidia.com/gpu=1 cpu 0m memory 0");
  EXPECT_EQ(text("cpu-only"), "a100-40-mixed-1 prio 0 cpu 1000m memory 0");
  EXPECT_EQ(text("fraction"), "v100-fraction-1 prio 0 1x(8000 MiB, 0%, cores 30%) cpu 0m memory 0");
  EXPECT_EQ(text("fraction-percent"),
            "v100-fraction-1 prio 0 1x(0 MiB, 50%, cores 0%) cpu 0m memory 0");
  EXPECT_EQ(text("mig-two-profiles"),
            "a100-40-mixed-1 prio 0 nvidia.com/mig-1g.5gb=1 nvidia.com/mig-3g.20gb=1"
            " cpu 0m memory 0");
  EXPECT_EQ(text("shared-renamed"),
            "t4-timeslice-renamed-1 prio 0 nvidia.com/gpu.shared=1 cpu 0m memory 0");
  // prepare 2, then proxy 1 and main 1.
  EXPECT_EQ(text("init-and-sidecar"), "l40s-mps-1 prio 0 nvidia.com/gpu=2 cpu 0m memory 0");
  EXPECT_EQ(text("two-containers"), "l40s-mps-1 prio 0 nvidia.com/gpu=2 cpu 0m memory 0");
  EXPECT_EQ(text("zero-gpu"), "t4-timeslice-1 prio 0 cpu 0m memory 0");
  // 16 GiB.
  EXPECT_EQ(text("whole-one"), "l40s-mps-1 prio 0 nvidia.com/gpu=1 cpu 4000m memory 17179869184");
}

}  // namespace
}  // namespace offcut::api
