// Objects as a broken writer or link leaves them: every reader answers with a value or an Error.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "api/device_record_json.h"
#include "api/hami_register.h"
#include "api/node_rules_json.h"
#include "api/object_files.h"
#include "api/yaml_json.h"
#include "test/api/object_text.h"

namespace offcut::api {
namespace {

using testing::FileText;
using testing::NodeFromText;
using testing::PodFromText;

// The recorded objects, one JSON text each.
std::vector<std::string> RecordedObjects() {
  const std::string text = FileText("recorded/v1.37.2-names/nodes-pods-after.json");
  simdjson::dom::parser parser;
  const auto root = ParseJson(parser, text);
  JsonErrors errors;
  const JsonObject list(*root, errors);
  std::vector<std::string> objects;
  const auto items = ReadArray(*list.Find("items"), JsonPath{}, 1000, errors);
  for (const JsonElement item : *items) objects.push_back(simdjson::minify(item));
  return objects;
}

// Cuts the text somewhere, changes up to four bytes of it, or both.
std::string Damaged(std::string text) {
  if (*rc::gen::arbitrary<bool>()) {
    text.resize(*rc::gen::inRange<std::size_t>(0, text.size() + 1));
  }
  const int flips = *rc::gen::inRange(0, 5);
  for (int i = 0; i < flips && !text.empty(); ++i) {
    const auto place = *rc::gen::inRange<std::size_t>(0, text.size());
    text[place] = *rc::gen::oneOf(rc::gen::arbitrary<char>(),
                                  rc::gen::elementOf(std::string("0-9.eE\"{}[]:,nt ;")));
  }
  return text;
}

template <typename Result>
bool IsValueOrError(const Result& result) {
  return result.has_value() || !result.error().message.empty();
}

TEST(DamagedObjectsTest, GiveAValueOrAnError) {
  const std::vector<std::string> objects = RecordedObjects();
  ASSERT_EQ(objects.size(), 33U);
  EXPECT_TRUE(rc::check("damaged nodes and pods", [&] {
    const std::string text = Damaged(*rc::gen::elementOf(objects));
    const auto node = NodeFromText(text);
    RC_ASSERT(IsValueOrError(node));
    if (node) RC_ASSERT(!node->inventory.name.empty());
    const auto pod = PodFromText(text);
    RC_ASSERT(IsValueOrError(pod));
    if (pod) RC_ASSERT(!pod->pod.uid.empty());
  }));
}

TEST(DamagedObjectsTest, GiveAValueOrAnErrorAsNodeRules) {
  constexpr const char* pod =
      R"({"spec":{"nodeSelector":{"a":"b"},"affinity":{"nodeAffinity":{)"
      R"("requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)"
      R"({"matchExpressions":[{"key":"k","operator":"In","values":["1","2"]}],)"
      R"("matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]}]}}},)"
      R"("tolerations":[{"key":"k","operator":"Equal","value":"v","effect":"NoExecute"}]}})";
  constexpr const char* node =
      R"({"metadata":{"labels":{"a":"b","k":"1"}},)"
      R"("spec":{"taints":[{"key":"k","value":"v","effect":"NoExecute"}]}})";
  EXPECT_TRUE(rc::check("damaged node rules", [&] {
    const auto rules = testing::ReadJsonText(Damaged(pod), ParseNodeRules);
    RC_ASSERT(IsValueOrError(rules));
    const auto marks = testing::ReadJsonText(Damaged(node), ParseNodeMarks);
    RC_ASSERT(IsValueOrError(marks));
    if (!rules || !rules->terms) return;
    for (const scheduler::NodeTerm& term : *rules->terms) {
      for (const auto& each : term.labels) RC_ASSERT(scheduler::IsWellFormed(each));
      for (const auto& each : term.fields) RC_ASSERT(each.key == scheduler::kNodeNameField);
    }
  }));
}

TEST(DamagedObjectsTest, NeverGiveAnInventoryAboveTheLimits) {
  const std::vector<std::string> objects = RecordedObjects();
  EXPECT_TRUE(rc::check("damaged nodes stay within the limits", [&] {
    std::string text = *rc::gen::elementOf(objects);
    std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
    for (char& c : text) {
      if (c >= '0' && c <= '9' && random() % 50 == 0) c = static_cast<char>('0' + random() % 10);
    }
    const auto node = NodeFromText(text);
    RC_PRE(node.has_value());
    const binpack::NodeState& devices = node->inventory.devices;
    RC_ASSERT(devices.gpus.size() <= kGpusPerNodeMax);
    RC_ASSERT(devices.pools.size() <= kPoolsPerNodeMax);
    for (const binpack::Gpu& gpu : devices.gpus) {
      const auto* const shared = std::get_if<binpack::SharedGpu>(&gpu.state);
      // No `||` inside: the macro evaluates both sides.
      const int slots = shared == nullptr ? 1 : shared->slots;
      RC_ASSERT(slots >= 1);
      RC_ASSERT(slots <= kSlotsPerGpuMax);
      RC_ASSERT(gpu.memory_mib >= 0);
    }
    for (const binpack::InstancePool& pool : devices.pools) {
      RC_ASSERT(pool.units >= 0);
      RC_ASSERT(pool.units_unhealthy >= 0);
      RC_ASSERT(pool.replicas >= 1);
    }
  }));
}

TEST(DamagedObjectsTest, GiveAValueOrAnErrorAsFiles) {
  const std::vector<std::string> texts = {
      FileText("recorded/v1.37.2-names/nodes-pods-after.yaml").substr(0, 6000),
      FileText("recorded/v1.37.2-names/nodes-before.json").substr(0, 6000),
      "---\na: [1, {b: 'c'}]\n---\nkind: Node\nmetadata: {name: n}\n",
  };
  EXPECT_TRUE(rc::check("damaged files", [&] {
    ObjectSet set;
    const auto read = ReadObjects(Damaged(*rc::gen::elementOf(texts)), "f", {}, set);
    RC_ASSERT(IsValueOrError(read));
  }));
}

TEST(DamagedObjectsTest, GiveAValueOrAnErrorAsAnnotations) {
  constexpr const char* record =
      R"({"version":1,"podUID":"u","node":"n1","agent":"nvidia","certainty":"observed",)"
      R"("charge":{"devices":175,"instances":{"1g.5gb":1}},"devices":[{"container":"main",)"
      R"("kind":"mig","profile":"1g.5gb","start":6,"size":1}]})";
  constexpr const char* mig_allocations =
      R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-a","profile":"1g.5gb",)"
      R"("placement":{"start":6,"size":1}}])";
  constexpr const char* node_register =
      R"([{"id":"GPU-a","count":7,"devmem":40960,"type":"NVIDIA A100-SXM4-40GB","mode":"mig",)"
      R"("migProfiles":[{"name":"1g.5gb","sliceCount":1,"placements":[{"start":0,"size":1}]}],)"
      R"("health":true}])";
  const std::vector<std::string> texts = {
      record,        "GPU-a,NVIDIA,10000,10:GPU-b,NVIDIA,10000,10:;;",     mig_allocations,
      node_register, "GPU-1,10,81920,100,NVIDIA A100,0,true,1,hami-core:",
  };
  EXPECT_TRUE(rc::check("damaged annotations", [&] {
    const std::string text = Damaged(*rc::gen::elementOf(texts));
    const auto parsed = ParseDeviceRecord(text);
    RC_ASSERT(IsValueOrError(parsed));
    const auto hami = ParseHamiRecord({.pod_uid = "u",
                                       .node = "n",
                                       .devices = "GPU-a,NVIDIA,1,1:;",
                                       .mig_allocations = text,
                                       .containers = {}});
    RC_ASSERT(IsValueOrError(hami));
    const auto devices = ParseHamiRecord(
        {.pod_uid = "u", .node = "n", .devices = text, .mig_allocations = "", .containers = {}});
    RC_ASSERT(IsValueOrError(devices));
    const auto registered = ParseHamiRegister(text, text);
    RC_ASSERT(IsValueOrError(registered));
  }));
}

}  // namespace
}  // namespace offcut::api
