#include "api/hami_register.h"

#include <string>

#include <gtest/gtest.h>

#include "test/api/inventory_text.h"
#include "test/api/object_text.h"

namespace offcut::api {
namespace {

using testing::FileText;
using testing::GpuText;

std::vector<std::string> GpuTexts(std::string_view annotation, std::string_view cordoned = "") {
  const auto parsed = ParseHamiRegister(annotation, cordoned);
  if (!parsed) return {"error: " + parsed.error().message};
  std::vector<std::string> texts;
  for (const binpack::Gpu& gpu : parsed->gpus) texts.push_back(gpu.uuid + " " + GpuText(gpu));
  return texts;
}

using Texts = std::vector<std::string>;

// A MIG GPU of that type with profiles in JSON.
std::string MigDevice(const std::string& type, const std::string& profiles) {
  return R"([{"id":"GPU-a","count":7,"devmem":40960,"devcore":100,"type":")" + type +
         R"(","mode":"mig","health":true,"migProfiles":[)" + profiles + "]}]";
}

constexpr std::string_view k3g20gb =
    R"({"name":"3g.20gb","memoryMB":19968,"core":43,"sliceCount":3,)"
    R"("placements":[{"start":4,"size":4},{"start":0,"size":4}]})";

// The register annotation of a recorded node.
std::string RecordedAnnotation(const std::string& node_name) {
  simdjson::dom::parser parser;
  const std::string text = FileText("hami/recorded/nodes.json");
  const auto root = ParseJson(parser, text);
  JsonErrors errors;
  const JsonObject object(*root, errors);
  const JsonObject nodes = object.Object("nodes");
  const JsonObject node = nodes.Object(node_name);
  const JsonObject annotations = node.Object("annotations");
  return std::string(annotations.Entry(kHamiRegisterAnnotation).value_or(""));
}

TEST(HamiRegisterTest, ReadsTheRecordedNodes) {
  const Texts gpus = GpuTexts(RecordedAnnotation("gpu-a"));
  ASSERT_EQ(gpus.size(), 8U);
  EXPECT_EQ(gpus[7],
            "GPU-8a020521-5eaa-f474-20dd-779b4d86be41 A100-SXM4-80GB 81920 MiB 100% for 10"
            " (A100-80GB)");
  EXPECT_EQ(GpuTexts(RecordedAnnotation("gpu-t4")),
            (Texts{"GPU-94c2a073-9804-2b59-3a87-86ac6f786013 Tesla-T4 15360 MiB 100% for 10",
                   "GPU-d90833c6-8121-ca12-ee60-752e8ae84e9f Tesla-T4 15360 MiB 100% for 10"}));
}

// The plugin's list lacks 4g, +me and the doubled 1g, so none of them can be made there.
TEST(HamiRegisterTest, KeepsTheProfilesThatARecordedMigNodeReports) {
  const auto parsed = ParseHamiRegister(RecordedAnnotation("mig-a100"), "");
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->gpus.size(), 2U);
  EXPECT_EQ(GpuText(parsed->gpus[0]), "A100-SXM4-40GB 40960 MiB MIG (A100-40GB)");
  EXPECT_EQ(parsed->gpus[0].model, parsed->gpus[1].model);
  std::vector<std::string> names;
  for (const binpack::MigProfile& profile : parsed->gpus[0].model->profiles) {
    names.push_back(profile.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"}));
  EXPECT_TRUE(parsed->warnings.empty()) << parsed->warnings[0];
}

TEST(HamiRegisterTest, KeepsTheBuiltInEnginesOfAReportedProfile) {
  const auto parsed =
      ParseHamiRegister(MigDevice("NVIDIA A100-SXM4-40GB", std::string(k3g20gb)), "");
  ASSERT_TRUE(parsed);
  const binpack::GpuModel* const built_in = binpack::FindModel("A100-40GB");
  const binpack::MigProfile& expected =
      built_in->profiles[static_cast<std::size_t>(*built_in->FindProfile("3g.20gb"))];
  ASSERT_EQ(parsed->gpus[0].model->profiles.size(), 1U);
  EXPECT_EQ(parsed->gpus[0].model->profiles[0].engines, expected.engines);
  EXPECT_EQ(parsed->gpus[0].model->profiles[0].starts, (std::vector<int>{0, 4}));
}

TEST(HamiRegisterTest, LetsTheReportWinOverTheBuiltInGeometry) {
  const auto parsed = ParseHamiRegister(
      MigDevice("NVIDIA A100-SXM4-40GB", R"({"name":"3g.20gb","memoryMB":19968,"sliceCount":3,)"
                                         R"("placements":[{"start":4,"size":4}]})"),
      "");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->gpus[0].model->profiles[0].starts, (std::vector<int>{4}));
  EXPECT_EQ(parsed->gpus[0].model->profiles[0].instances_max, 1);
  EXPECT_EQ(parsed->warnings,
            (Texts{"gpu GPU-a: profile 3g.20gb of A100-40GB differs; reported: 3 compute and 4"
                   " memory slices, 19968 MiB, starts 4; built in: 3 compute and 4 memory slices,"
                   " 19968 MiB, starts 0,4"}));
}

TEST(HamiRegisterTest, AddsAProfileThatTheBuiltInModelLacks) {
  const auto parsed = ParseHamiRegister(
      MigDevice("NVIDIA A100-SXM4-40GB",
                R"({"name":"2g.9gb","sliceCount":2,"placements":[{"start":0,"size":2}]})"),
      "");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->gpus[0].model->profiles.at(0).memory_slices, 2);
  EXPECT_EQ(parsed->warnings.size(), 1U);
}

TEST(HamiRegisterTest, TakesAnUnknownModelAsReported) {
  const auto parsed = ParseHamiRegister(MigDevice("NVIDIA X1", std::string(k3g20gb)), "");
  ASSERT_TRUE(parsed);
  const binpack::GpuModel& model = *parsed->gpus[0].model;
  EXPECT_EQ(model.name, "X1");
  EXPECT_EQ(model.memory_slices, 8);
  EXPECT_EQ(model.compute_slices, 3);
  EXPECT_EQ(model.memory_gib, 40);
  EXPECT_EQ(parsed->warnings.size(), 1U);
}

TEST(HamiRegisterTest, OffersNothingOfAMigGpuWithoutAnyProfile) {
  EXPECT_EQ(GpuTexts(MigDevice("NVIDIA X1", "")), (Texts{"GPU-a X1 40960 MiB whole unhealthy"}));
}

TEST(HamiRegisterTest, OrdersDevicesByIndex) {
  EXPECT_EQ(GpuTexts(R"([{"id":"b","index":1,"health":true},{"id":"a","health":true}])"),
            (Texts{"a  0 MiB 0% for 0", "b  0 MiB 0% for 0"}));
}

TEST(HamiRegisterTest, MarksUnhealthyAndCordonedDevices) {
  EXPECT_EQ(GpuTexts(R"([{"id":"a","health":false},{"id":"b","health":true},{"id":"c"}])", "a,b"),
            (Texts{"a  0 MiB 0% for 0 unhealthy", "b  0 MiB 0% for 0 cordoned",
                   "c  0 MiB 0% for 0 unhealthy"}));
}

TEST(HamiRegisterTest, ReadsTheOlderText) {
  EXPECT_EQ(GpuTexts("GPU-1,10,81920,100,NVIDIA-NVIDIA A100-SXM4-80GB,0,true:"
                     "GPU-2,+10,81920,100,NVIDIA A100-SXM4-80GB,0,false:"),
            (Texts{"GPU-1 A100-SXM4-80GB 81920 MiB 100% for 10 (A100-80GB)",
                   "GPU-2 A100-SXM4-80GB 81920 MiB 100% for 10 (A100-80GB) unhealthy"}));
  EXPECT_EQ(
      GpuTexts("GPU-2,10,15360,100,NVIDIA-Tesla T4,0,1,1,hami-core:"
               "GPU-1,10,15360,100,NVIDIA-Tesla T4,0,T,0,hami-core::"),
      (Texts{"GPU-1 Tesla-T4 15360 MiB 100% for 10", "GPU-2 Tesla-T4 15360 MiB 100% for 10"}));
}

TEST(HamiRegisterTest, ReadsNoDevicesFromEmptyLists) {
  EXPECT_EQ(GpuTexts("[]"), Texts{});
  EXPECT_EQ(GpuTexts("null"), Texts{});
  EXPECT_EQ(GpuTexts(":"), Texts{});
}

TEST(HamiRegisterTest, RefusesMalformedTexts) {
  for (const std::string_view annotation :
       {"",
        " ",
        "{}",
        "[{}]",
        "[null]",
        "[{\"id\":\"a\"}",
        "[{\"id\":\"a\"}] x",
        R"([{"id":"a","index":-1}])",
        R"([{"id":"a","count":3000000000}])",
        R"([{"id":"a","devmem":81920.0}])",
        R"([{"id":"a","health":"true"}])",
        R"([{"id":"a"},{"id":"a"}])",
        R"([[{"id":"a"}]])",
        R"([{"id":"a","migProfiles":{}}])",
        R"([{"id":"a","migProfiles":[{"name":"1g.5gb","placements":[{"start":-1,"size":1}]}]}])",
        R"([{"id":"a","migProfiles":[{"name":"1g.5gb","placements":[{"start":0}]}]}])",
        R"([{"id":"a","migProfiles":[{"name":"1g.5gb","placements":[]}]}])",
        R"([{"id":"a","migProfiles":[{"placements":[{"start":0,"size":1}]}]}])",
        R"([{"id":"a","migProfiles":[{"name":"x","placements":[{"start":15,"size":2}]}]}])",
        R"([{"id":"a","migProfiles":[{"name":"x","placements":[{"start":0,"size":1},
                                                               {"start":1,"size":2}]}]}])",
        "a:",
        "a,10:",
        "GPU-1,10,81920,100,T,0,true",
        "GPU-1,10,81920,100,T,0,true,1:",
        "GPU-1,x,81920,100,T,0,true:",
        "GPU-1,10,81920,100,T,0,yes:",
        "GPU-1,10,99999999999,100,T,0,true:",
        "GPU-1,-10,1,1,T,0,true:",
        "GPU-1,10,81920,100,T,0,true,-1,hami-core:",
        "GPU-1,10,81920,100,T,0,true,x,hami-core:",
        ",10,81920,100,T,0,true:"}) {
    EXPECT_FALSE(ParseHamiRegister(annotation, "")) << annotation;
  }
}

TEST(HamiRegisterTest, RefusesMoreDevicesThanTheLimit) {
  std::string text;
  for (std::size_t i = 0; i <= kGpusPerNodeMax; ++i) {
    text += "GPU-" + std::to_string(i) + ",10,1,100,T,0,true:";
  }
  EXPECT_FALSE(ParseHamiRegister(text, ""));
}

}  // namespace
}  // namespace offcut::api
