#include "api/device_record_json.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace offcut::api {
namespace {

using binpack::PieceKind;
using scheduler::Certainty;
using scheduler::ContainerRequest;
using scheduler::DeviceRecord;
using scheduler::RecordedDevice;

DeviceRecord SampleRecord() {
  return {.pod_uid = "u",
          .node = "n1",
          .agent = "nvidia",
          .certainty = Certainty::kObserved,
          .tenant = "team-a",
          .charge = {.devices = 175, .memory_mib = 4864, .instances = {{"1g.5gb", 1}}},
          .devices = {{.container = "main",
                       .uuid = "MIG-1",
                       .kind = PieceKind::kInstance,
                       .profile = "1g.5gb",
                       .start = 6,
                       .size = 1,
                       .memory_mib = 4864}}};
}

TEST(DeviceRecordJsonTest, PrintsMembersThatApply) {
  EXPECT_EQ(PrintDeviceRecord(SampleRecord()),
            R"({"version":1,"podUID":"u","node":"n1","agent":"nvidia","certainty":"observed",)"
            R"("tenant":"team-a","charge":{"devices":175,"memoryMiB":4864,)"
            R"("instances":{"1g.5gb":1}},"devices":[{"container":"main","uuid":"MIG-1",)"
            R"("kind":"mig","profile":"1g.5gb","start":6,"size":1,"memoryMiB":4864}]})");
  EXPECT_EQ(PrintDeviceRecord({.pod_uid = "u",
                               .node = "n",
                               .agent = "nvidia",
                               .devices = {{.gpu = 0, .kind = PieceKind::kWhole}}}),
            R"({"version":1,"podUID":"u","node":"n","agent":"nvidia","certainty":"assumed",)"
            R"("devices":[{"gpu":0,"kind":"whole"}]})");
}

TEST(DeviceRecordJsonTest, NamesTheTargetWorkloadThatTheChoiceWentBy) {
  DeviceRecord record = SampleRecord();
  record.workload = "91c0ffee51abad1d";
  EXPECT_THAT(PrintDeviceRecord(record),
              ::testing::HasSubstr(R"("tenant":"team-a","workload":"91c0ffee51abad1d",)"));
  EXPECT_EQ(ParseDeviceRecord(PrintDeviceRecord(record)), record);
}

TEST(DeviceRecordJsonTest, PrintsATextThatIsNoUtf8WithReplacements) {
  DeviceRecord record = SampleRecord();
  record.tenant = "\xff";
  EXPECT_TRUE(ParseDeviceRecord(PrintDeviceRecord(record)));
}

RecordedDevice ArbitraryDevice() {
  RecordedDevice device{
      .container = *rc::gen::element<std::string>("", "main", "side \"car\"", "\u00e9"),
      .gpu = *rc::gen::inRange(-1, 64),
      .uuid = *rc::gen::element<std::string>("", "GPU-1", "MIG-2"),
      .kind = *rc::gen::element(PieceKind::kWhole, PieceKind::kSlot, PieceKind::kInstance,
                                PieceKind::kFraction),
      .memory_mib = *rc::gen::inRange<std::int64_t>(0, 200000)};
  if (device.kind == PieceKind::kFraction) device.cores_percent = *rc::gen::inRange(0, 101);
  if (device.kind == PieceKind::kInstance) {
    device.profile = "1g.10gb+me";
    device.start = *rc::gen::inRange(-1, 8);
    device.size = *rc::gen::inRange(0, 9);
  }
  return device;
}

TEST(DeviceRecordJsonTest, ReadsBackWhatItPrints) {
  EXPECT_TRUE(rc::check("print, then parse", [] {
    DeviceRecord record{.pod_uid = "u\t1",
                        .node = "n",
                        .agent = *rc::gen::element<std::string>("nvidia", "hami"),
                        .certainty = *rc::gen::element(Certainty::kAssumed, Certainty::kObserved,
                                                       Certainty::kExact),
                        .tenant = *rc::gen::element<std::string>("", "a/b"),
                        .charge = {.devices = *rc::gen::inRange<std::int64_t>(0, 100000),
                                   .memory_mib = *rc::gen::inRange<std::int64_t>(0, 100000),
                                   .cores_permille = *rc::gen::inRange<std::int64_t>(0, 100000)}};
    const int device_count = *rc::gen::inRange(0, 5);
    for (int i = 0; i < device_count; ++i) record.devices.push_back(ArbitraryDevice());
    const auto parsed = ParseDeviceRecord(PrintDeviceRecord(record));
    RC_ASSERT(parsed.has_value());
    RC_ASSERT(*parsed == record);
  }));
}

std::string ErrorOf(std::string text, std::string_view part, std::string_view replacement) {
  const std::size_t start = text.find(part);
  EXPECT_NE(start, std::string::npos) << part;
  text.replace(start, part.size(), replacement);
  const auto parsed = ParseDeviceRecord(text);
  return parsed ? "" : parsed.error().message;
}

TEST(DeviceRecordJsonTest, RefusesWhatItDoesNotKnow) {
  const std::string text = PrintDeviceRecord(SampleRecord());
  const auto error = [&](std::string_view part, std::string_view replacement) {
    return ErrorOf(text, part, replacement);
  };
  EXPECT_EQ(error("\"version\":1", "\"version\":2"), "version: is not one that this program knows");
  EXPECT_EQ(error("\"version\":1,", ""), "version: is not one that this program knows");
  EXPECT_EQ(error("\"u\"", "\"\""), "podUID: is missing");
  EXPECT_EQ(error("observed", "sure"), "certainty: is not a word of this version");
  EXPECT_EQ(error("\"certainty\":\"observed\",", ""), "certainty: is missing");
  EXPECT_EQ(error("\"mig\"", "\"mps\""), "devices[0].kind: is not a word of this version");
  EXPECT_EQ(error("\"profile\":\"1g.5gb\",", ""), "devices[0].profile: is missing");
  EXPECT_EQ(error("\"mig\"", "\"whole\""), "devices[0].profile: belongs to kind mig alone");
  EXPECT_EQ(error("\"start\":6", "\"start\":-1"), "devices[0].start: must be from 0 to 15");
  EXPECT_EQ(error("\"start\":6,\"size\":1", "\"start\":15,\"size\":2"),
            "devices[0].size: reaches beyond the last slice of any GPU");
  EXPECT_EQ(error("\"1g.5gb\":1", "\"1g.5gb\":0"),
            "charge.instances[\"1g.5gb\"]: must be a positive integer");
  EXPECT_EQ(error("\"devices\":175", "\"devices\":1.5"), "charge.devices: must be an integer");
  EXPECT_EQ(error("[{", "[null,{"), "devices[0]: must be an object");
}

TEST(DeviceRecordJsonTest, RefusesARecordWithoutDevices) {
  EXPECT_EQ(ParseDeviceRecord(R"({"version":1,"podUID":"u","node":"n","agent":"nvidia",)"
                              R"("certainty":"exact"})")
                .error()
                .message,
            "devices: is missing");
}

TEST(DeviceRecordJsonTest, IgnoresMembersOfNewerWriters) {
  EXPECT_EQ(ErrorOf(PrintDeviceRecord(SampleRecord()), "\"version\":1", "\"version\":1,\"new\":[]"),
            "");
}

TEST(DeviceRecordJsonTest, RefusesAnAnnotationAboveItsLimit) {
  const auto parsed = ParseDeviceRecord(std::string(kAnnotationBytesMax + 1, ' '));
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().kind, ErrorKind::kTooLarge);
}

ContainerRequest Container(const std::string& name, bool asks) {
  ContainerRequest container{.name = name};
  if (asks) container.fraction = binpack::Fraction{.gpus = 1, .memory_mib = 1};
  return container;
}

std::expected<DeviceRecord, Error> Hami(std::string_view devices,
                                        std::string_view mig_allocations = "",
                                        const std::vector<ContainerRequest>& containers = {}) {
  return ParseHamiRecord({.pod_uid = "u",
                          .node = "n1",
                          .devices = devices,
                          .mig_allocations = mig_allocations,
                          .containers = containers});
}

TEST(HamiRecordTest, ReadsFractions) {
  const auto record =
      Hami("GPU-a,NVIDIA,10000,10:GPU-b,NVIDIA,10000,10:;", "", {Container("main", true)});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->pod_uid, "u");
  EXPECT_EQ(record->node, "n1");
  EXPECT_EQ(record->agent, "hami");
  EXPECT_EQ(record->certainty, Certainty::kExact);
  EXPECT_EQ(record->charge, quota::Amount{});
  const RecordedDevice first{.container = "main",
                             .uuid = "GPU-a",
                             .kind = PieceKind::kFraction,
                             .memory_mib = 10000,
                             .cores_percent = 10};
  RecordedDevice second = first;
  second.uuid = "GPU-b";
  EXPECT_EQ(record->devices, (std::vector<RecordedDevice>{first, second}));
}

// As recorded of a pod with two containers on two MIG GPUs.
TEST(HamiRecordTest, ReadsMigAllocations) {
  const auto record =
      Hami("GPU-3c,NVIDIA,4864,15:;GPU-f0,NVIDIA,9856,29:;",
           R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-3c","profile":"1g.5gb",)"
           R"("placement":{"start":6,"size":1},"migUUID":"MIG-1","gpuInstanceID":7},)"
           R"({"containerIndex":1,"deviceIndex":0,"gpuUUID":"GPU-f0","profile":"2g.10gb",)"
           R"("placement":{"start":0,"size":2}}])",
           {Container("c0", true), Container("c1", true)});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->devices, (std::vector<RecordedDevice>{{.container = "c0",
                                                           .uuid = "GPU-3c",
                                                           .kind = PieceKind::kInstance,
                                                           .profile = "1g.5gb",
                                                           .start = 6,
                                                           .size = 1,
                                                           .memory_mib = 4864},
                                                          {.container = "c1",
                                                           .uuid = "GPU-f0",
                                                           .kind = PieceKind::kInstance,
                                                           .profile = "2g.10gb",
                                                           .start = 0,
                                                           .size = 2,
                                                           .memory_mib = 9856}}));
}

// HAMi 2.10 writes no entry for a container without GPU: recorded with {cpu}, {gpu}.
TEST(HamiRecordTest, NamesContainersWhereThoseWithoutGpuHaveNoEntry) {
  const auto record =
      Hami("GPU-66,NVIDIA,6000,15:;", "", {Container("c0", false), Container("c1", true)});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->devices.at(0).container, "c1");
}

TEST(HamiRecordTest, NamesContainersWhereEachHasAnEntry) {
  const auto record =
      Hami(";GPU-66,NVIDIA,6000,15:;", "", {Container("c0", false), Container("c1", true)});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->devices.at(0).container, "c1");
}

TEST(HamiRecordTest, NamesNoContainerWhereEntriesMatchNeither) {
  const auto record =
      Hami("GPU-66,NVIDIA,6000,15:;", "", {Container("c0", true), Container("c1", true)});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->devices.at(0).container, "");
}

// HAMi leaves the allocation of an earlier node on the pod.
TEST(HamiRecordTest, IgnoresAMigAllocationOfAnotherGpu) {
  const auto record =
      Hami("GPU-a,NVIDIA,10000,10:;",
           R"([{"containerIndex":0,"deviceIndex":0,"gpuUUID":"GPU-x","profile":"1g.5gb",)"
           R"("placement":{"start":6,"size":1}}])");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->devices.at(0).kind, PieceKind::kFraction);
}

TEST(HamiRecordTest, RefusesWhatHamisReaderRefuses) {
  for (const std::string_view devices :
       {"GPU-1,NVIDIA,1000:;", "GPU-1,NVIDIA,x,10:;", "GPU-1,NVIDIA,,10:;", "GPU-1,NVIDIA,1000,:;",
        "GPU-1,NVIDIA,99999999999,10:;", "GPU-1,NVIDIA, 1000,10:;", "GPU-1,NVIDIA,0x10,5:;",
        ",,0,0:;", "junk", "GPU-1,NVIDIA,1000,-5:;", "GPU-1,NVIDIA,1000,101:;"}) {
    EXPECT_FALSE(Hami(devices)) << devices;
  }
  const std::string_view devices = "GPU-1,NVIDIA,1000,10:;";
  for (
      const std::string_view allocations :
      {"{}", "[{}]", "[null]", "[", R"([{"containerIndex":"0"}])",
       R"([{"containerIndex":-1,"gpuUUID":"G","profile":"1g.5gb","placement":{"start":0,"size":1}}])",
       R"([{"gpuUUID":"","profile":"1g.5gb","placement":{"start":0,"size":1}}])",
       R"([{"gpuUUID":"G","profile":"1g.5gb","placement":{"start":0,"size":0}}])",
       R"([{"gpuUUID":"G","profile":"1g.5gb","placement":{"start":15,"size":2}}])"}) {
    EXPECT_FALSE(Hami(devices, allocations)) << allocations;
  }
  EXPECT_TRUE(Hami(devices, "null"));
  EXPECT_TRUE(Hami("GPU-1,NVIDIA,1000,10,later,fields:;"));
}

}  // namespace
}  // namespace offcut::api
