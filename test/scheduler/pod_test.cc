#include "scheduler/pod.h"

#include <limits>

#include <gtest/gtest.h>

namespace offcut::scheduler {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

ContainerRequest Counted(ContainerKind kind, std::int64_t count,
                         const std::string& resource = "nvidia.com/gpu") {
  return {.name = {}, .kind = kind, .devices = {{.resource = resource, .count = count}}};
}

ContainerRequest Shared(ContainerKind kind, const binpack::Fraction& fraction) {
  return {.name = {}, .kind = kind, .fraction = fraction};
}

ContainerRequest Hosted(ContainerKind kind, std::int64_t cpu_milli, std::int64_t memory_bytes) {
  return {.name = {}, .kind = kind, .host = {.cpu_milli = cpu_milli, .memory_bytes = memory_bytes}};
}

std::vector<ResourceCount> Devices(const std::vector<ContainerRequest>& containers) {
  return EffectiveRequest(containers, {}).devices;
}

std::vector<binpack::Fraction> Fractions(const std::vector<ContainerRequest>& containers) {
  return EffectiveRequest(containers, {}).fractions;
}

using Kind = ContainerKind;
using Counts = std::vector<ResourceCount>;
using Shares = std::vector<binpack::Fraction>;

TEST(EffectiveRequestTest, SumsAppContainersByName) {
  EXPECT_EQ(Devices({Counted(Kind::kApp, 2), Counted(Kind::kApp, 1, "nvidia.com/mig-1g.5gb"),
                     Counted(Kind::kApp, 3)}),
            (Counts{{"nvidia.com/gpu", 5}, {"nvidia.com/mig-1g.5gb", 1}}));
}

TEST(EffectiveRequestTest, CountsAnInitContainerByItsMaximum) {
  EXPECT_EQ(Devices({Counted(Kind::kInit, 2), Counted(Kind::kInit, 4), Counted(Kind::kApp, 1)}),
            (Counts{{"nvidia.com/gpu", 4}}));
  EXPECT_EQ(Devices({Counted(Kind::kInit, 2), Counted(Kind::kApp, 3)}),
            (Counts{{"nvidia.com/gpu", 3}}));
}

// sidecar 1 | init 2 beside it: 3 | app 1 beside the sidecar: 2.
TEST(EffectiveRequestTest, AddsToAnInitContainerTheSidecarsStartedBeforeIt) {
  EXPECT_EQ(Devices({Counted(Kind::kSidecar, 1), Counted(Kind::kInit, 2), Counted(Kind::kApp, 1)}),
            (Counts{{"nvidia.com/gpu", 3}}));
}

// init 2 alone: 2 | then sidecar 1 and app 1: 2.
TEST(EffectiveRequestTest, DoesNotAddSidecarsThatStartAfterAnInitContainer) {
  EXPECT_EQ(Devices({Counted(Kind::kInit, 2), Counted(Kind::kSidecar, 1), Counted(Kind::kApp, 1)}),
            (Counts{{"nvidia.com/gpu", 2}}));
}

TEST(EffectiveRequestTest, SaturatesCounts) {
  EXPECT_EQ(Devices({Counted(Kind::kApp, kMax), Counted(Kind::kApp, 1)}),
            (Counts{{"nvidia.com/gpu", kMax}}));
}

TEST(EffectiveRequestTest, IsEmptyWithoutContainersThatAsk) {
  EXPECT_TRUE(EffectiveRequest({Hosted(Kind::kApp, 100, 100)}, {}).empty());
  EXPECT_TRUE(EffectiveRequest({}, {}).empty());
}

TEST(EffectiveRequestTest, KeepsOneFractionAContainerInTheirOrder) {
  const binpack::Fraction first{.gpus = 1, .memory_mib = 40000};
  const binpack::Fraction second{.gpus = 2, .memory_percent = 10, .cores_percent = 5};
  EXPECT_EQ(Fractions({Shared(Kind::kSidecar, first), Shared(Kind::kApp, second)}),
            (Shares{first, second}));
}

// App 2 + 1 of which the 2 beside a share; the init container's 4 are more.
TEST(EffectiveRequestTest, CountsGpusBesideSharesForNodesThatServeNone) {
  const ContainerRequest shared{.fraction = binpack::Fraction{.gpus = 2, .memory_mib = 1},
                                .unshared_devices = {{"nvidia.com/gpu", 2}}};
  ContainerRequest plain{.devices = {{"nvidia.com/gpu", 1}}};
  EXPECT_EQ(EffectiveRequest({shared, plain}, {}).unshared_devices,
            (std::vector<ResourceCount>{{"nvidia.com/gpu", 3}}));
  ContainerRequest init{.kind = ContainerKind::kInit, .devices = {{"nvidia.com/gpu", 4}}};
  EXPECT_EQ(EffectiveRequest({init, shared, plain}, {}).unshared_devices,
            (std::vector<ResourceCount>{{"nvidia.com/gpu", 4}}));
  EXPECT_TRUE(EffectiveRequest({plain}, {}).unshared_devices.empty());
}

TEST(EffectiveRequestTest, LetsAnInitContainerUseAnAppContainersShare) {
  const binpack::Fraction app{.gpus = 1, .memory_mib = 8000, .cores_percent = 30};
  EXPECT_EQ(Fractions({Shared(Kind::kInit, {.gpus = 1, .memory_mib = 4000, .cores_percent = 30}),
                       Shared(Kind::kApp, app)}),
            (Shares{app}));
}

// The second app container's share is large enough, so the first one's is not raised.
TEST(EffectiveRequestTest, PrefersAShareThatIsLargeEnoughAsItIs) {
  const binpack::Fraction small{.gpus = 1, .memory_mib = 1000};
  const binpack::Fraction large{.gpus = 1, .memory_mib = 9000};
  EXPECT_EQ(Fractions({Shared(Kind::kInit, {.gpus = 1, .memory_mib = 5000}),
                       Shared(Kind::kApp, small), Shared(Kind::kApp, large)}),
            (Shares{small, large}));
}

TEST(EffectiveRequestTest, RaisesAShareThatIsTooSmallForAnInitContainer) {
  EXPECT_EQ(Fractions({Shared(Kind::kInit, {.gpus = 2, .memory_mib = 9000, .cores_percent = 10}),
                       Shared(Kind::kApp, {.gpus = 1, .memory_mib = 1000, .cores_percent = 40})}),
            (Shares{{.gpus = 2, .memory_mib = 9000, .cores_percent = 40}}));
}

TEST(EffectiveRequestTest, RaisesToAllOfTheMemoryWhereOneAsksForIt) {
  EXPECT_EQ(Fractions({Shared(Kind::kInit, {.gpus = 1, .cores_percent = 10}),
                       Shared(Kind::kApp, {.gpus = 1, .memory_mib = 1000})}),
            (Shares{{.gpus = 1, .cores_percent = 10}}));
}

// The sidecar runs beside the init container, so its share is not free.
TEST(EffectiveRequestTest, GivesAnInitContainerNoShareOfASidecarStartedBefore) {
  const binpack::Fraction sidecar{.gpus = 1, .memory_mib = 8000};
  const binpack::Fraction init{.gpus = 1, .memory_mib = 4000};
  EXPECT_EQ(Fractions({Shared(Kind::kSidecar, sidecar), Shared(Kind::kInit, init)}),
            (Shares{sidecar, init}));
  EXPECT_EQ(Fractions({Shared(Kind::kInit, init), Shared(Kind::kSidecar, sidecar)}),
            (Shares{sidecar}));
}

// Which of 8000 MiB and 50 percent is more depends on the GPU.
TEST(EffectiveRequestTest, AddsTheShareOfAnInitContainerThatCannotBeCompared) {
  const binpack::Fraction app{.gpus = 1, .memory_mib = 8000};
  const binpack::Fraction init{.gpus = 1, .memory_percent = 50};
  EXPECT_EQ(Fractions({Shared(Kind::kInit, init), Shared(Kind::kApp, app)}), (Shares{app, init}));
}

TEST(EffectiveRequestTest, LetsInitContainersUseOneShareAfterEachOther) {
  EXPECT_EQ(Fractions({Shared(Kind::kInit, {.gpus = 1, .memory_mib = 3000}),
                       Shared(Kind::kInit, {.gpus = 1, .memory_mib = 5000})}),
            (Shares{{.gpus = 1, .memory_mib = 5000}}));
}

// CPU: max(init 500 + sidecar 100, app 300 + sidecar 100) + overhead 10 = 610.
// Memory: max(1 + 2, 7 + 2) + 5 = 14.
TEST(EffectiveHostTest, TakesThePeakAndAddsTheOverhead) {
  EXPECT_EQ(EffectiveHost({Hosted(Kind::kSidecar, 100, 2), Hosted(Kind::kInit, 500, 1),
                           Hosted(Kind::kApp, 300, 7)},
                          {.cpu_milli = 10, .memory_bytes = 5}),
            (binpack::HostResources{.cpu_milli = 610, .memory_bytes = 14, .pods = 1}));
}

TEST(EffectiveHostTest, Saturates) {
  EXPECT_EQ(EffectiveHost({Hosted(Kind::kApp, kMax, kMax), Hosted(Kind::kApp, 1, 1)},
                          {.cpu_milli = 1, .memory_bytes = 1}),
            (binpack::HostResources{.cpu_milli = kMax, .memory_bytes = kMax, .pods = 1}));
}

}  // namespace
}  // namespace offcut::scheduler
